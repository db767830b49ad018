"""The tables, in Markdown: medians over the rounds."""

from __future__ import annotations

import statistics

from measure import Result

WIDTHS = (24, 11, 8, 9, 10, 11, 11)
TITLES = {"pairs": "a lock each", "decisions": "one rate limiter"}


def row(cells: list[str]) -> str:
    """A line of a table."""
    padded = (
        cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    return "| " + " | ".join(padded) + " |"


def median(runs: list[Result], field: str) -> float:
    """Of one column, over the runs."""
    return float(statistics.median(getattr(run, field) for run in runs))


def print_table(what: str, callers: int, by_program: dict[str, list[Result]]) -> None:
    """One table; the ratios to its first row are medians of the ratios within a round."""
    print(f"\n{callers} caller{'s' if callers > 1 else ''}, {TITLES[what]}\n")
    print(row(["", f"{what}/s", "of floor", "scripts", "in scripts", "server CPU", "client CPU"]))
    print("|" + "|".join(["---", *["---:"] * 6]) + "|")
    floor = next(iter(by_program.values()))
    for name, runs in by_program.items():
        ratio = statistics.median(a.per_second / b.per_second for a, b in zip(runs, floor, strict=True))
        cells = [name, f"{median(runs, 'per_second'):.0f}", f"{ratio:.2f}", f"{median(runs, 'scripts'):.2f}"]
        cells += [f"{median(runs, field):.1f} us" for field in ("script_us", "server_cpu_us", "client_cpu_us")]
        print(row(cells))


def print_ids(one_by_one: dict[str, list[Result]], batches: dict[str, list[Result]]) -> None:
    """Ids, one by one beside batches: there is no server, so what is left of the columns is the rate."""
    print("\nIds, 1 caller, without a server\n")
    print("| ids/s            |  one by one | batches of 1000 |\n|---|---:|---:|")
    for name in one_by_one:
        rates = (median(results[name], "per_second") for results in (one_by_one, batches))
        print(f"| {name:<16} | {next(rates):>11.0f} | {next(rates):>15.0f} |")
