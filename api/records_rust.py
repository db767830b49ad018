"""Records in core, and the statistics in the bridge and in libdlock-metrics."""

from __future__ import annotations

from parts import Part
from records import ALL_STATS, BUCKETS, CORE_BLOCKS, CORE_RECORDS, GAUGES, KINDS, METRICS, Field
from words import item

TYPES = {
    "flag": "bool",
    "count": "u64",
    "integer": "i64",
    "duration": "Duration",
    "histogram": "Histogram",
    "text?": "Option<String>",
    "count?": "Option<u64>",
    "duration?": "Option<Duration>",
    "time?": "Option<SystemTime>",
}


def hint(field: Field) -> str:
    return field.type if field.is_block else TYPES[field.type]


def fields(name: str) -> str:
    return "".join(
        item(each.phrase("rust"), f"pub {each.name}: {hint(each)},", "    ") for each in CORE_RECORDS[name].fields
    )


def places(of: str) -> list[str]:
    """All fields of that type, a client's own and those of the blocks."""
    return [".".join(filter(None, (block, each.name))) for block, record in ALL_STATS.items() for each in record.of(of)]


def counters() -> str:
    counts = places("count")
    lines = "".join(f"        stats.{place},\n" for place in counts)
    return f"pub fn counters(stats: &Stats) -> [u64; {len(counts)}] {{\n    [\n{lines}    ]\n}}\n"


def histograms() -> str:
    times = [f"stats.{place}" for place in places("histogram")]
    line = f"    [{', '.join(times)}].map(Histogram::from)\n"
    if len(line) > 121:
        line = "    [\n" + "".join(f"        {time},\n" for time in times) + "    ]\n    .map(Histogram::from)\n"
    return f"pub fn histograms(stats: &Stats) -> [Histogram; {len(times)}] {{\n{line}}}\n"


def metrics(of: str) -> str:
    """A row for each statistic of that type: its kind, its name as a metric, what it is, how it is read."""
    rows = []
    for block, record in ALL_STATS.items():
        for each in record.of(of):
            kind = KINDS.get(block, block)
            unit = "_seconds" if of == "histogram" else "" if each.name in GAUGES else "_total"
            name = f"dlock_client_{each.name.removesuffix('_time')}{unit}"
            place = ".".join(filter(None, (block, each.name)))
            rows.append(f'    ("{kind}", "{name}", "{METRICS[each.name]}", |stats| stats.{place}),\n')
    result = "Histogram" if of == "histogram" else "u64"
    name = "TIMES" if of == "histogram" else "COUNTS"
    return f"pub(crate) const {name}: [Row<{result}>; {len(rows)}] = [\n{''.join(rows)}];\n"


def parts() -> list[Part]:
    return [
        Part("core/src/stats/histogram.rs", f"pub const HISTOGRAM_BUCKETS: usize = {BUCKETS};\n", "buckets"),
        Part("core/src/stats/mod.rs", fields("Stats"), "stats"),
        *(Part("core/src/stats/mod.rs", fields(record.name), f"{block}-stats") for block, record in CORE_BLOCKS.items()),
        Part("core/src/limit/decision.rs", fields("Decision"), "decision"),
        Part("core/src/lock/inspection.rs", fields("Inspection"), "inspection"),
        Part("core/src/semaphore/inspection.rs", fields("SemaphoreInspection"), "inspection"),
        Part(
            "core/src/counting_semaphore/inspection.rs",
            fields("CountingSemaphoreInspection"),
            "counting_semaphore-inspection",
        ),
        Part("core/src/rw_lock/inspection.rs", fields("RwLockInspection"), "inspection"),
        Part("rust/metrics/src/rows.rs", metrics("count"), "counts"),
        Part("rust/metrics/src/rows.rs", metrics("histogram"), "times"),
        Part("bridge/src/ops/stats.rs", counters(), "counters"),
        Part("bridge/src/ops/stats.rs", histograms(), "histograms"),
    ]
