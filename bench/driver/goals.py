"""What is to be reached, and whether it was: always computed from the run that is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """One line of the list of goals."""

    row: str
    target: str
    found: str
    reached: bool


def number(value: float, unit: str = "") -> str:
    """As precise as it deserves: three digits, all of a larger number."""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{text} {unit}".strip()


def between(row: str, low: float, high: float, value: float, unit: str = "") -> Goal:
    """The value is to be one of the bounds or between them."""
    return Goal(row, f"{number(low)} to {number(high, unit)}", number(value, unit), low <= value <= high)


def at_least(row: str, bound: float, value: float, unit: str = "") -> Goal:
    """The value is to be the bound or more."""
    return Goal(row, f"at least {number(bound, unit)}", number(value, unit), value >= bound)


def at_most(row: str, bound: float, value: float, unit: str = "") -> Goal:
    """The value is to be the bound or less."""
    return Goal(row, f"at most {number(bound, unit)}", number(value, unit), value <= bound)
