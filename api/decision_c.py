"""A limiter's decision in C and C++: signed numbers, where -1 stands for one that is not there."""

from __future__ import annotations

from parts import Part
from records import RECORDS, Field
from words import item

CPP = {
    "flag": "bool {} = false;",
    "count": "std::int64_t {} = 0;",
    "count?": "std::optional<std::int64_t> {}{{}};",
    "duration": "std::chrono::microseconds {}{{0}};",
    "duration?": "std::optional<std::chrono::microseconds> {}{{}};",
    "time?": "std::optional<std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>> {}{{}};",
}
FIELDS = RECORDS["Decision"].fields
INDENT = "    "


def name(field: Field) -> str:
    """Lengths and points in time are whole microseconds, and say so."""
    return field.name + ("" if field.type in ("flag", "count", "count?") else "_us")


def struct() -> str:
    return "".join(
        item(each.phrase("c"), f"pub {name(each)}: {'bool' if each.type == 'flag' else 'i64'},", INDENT) for each in FIELDS
    )


def value(field: Field) -> str:
    """Out of the bridge's decision."""
    of = f"decision.{name(field)}"
    if field.type.endswith("?"):
        return f"{of}.map_or(-1, |number| number as i64)"
    return of if field.type == "flag" else f"{of} as i64"


def members() -> str:
    return "".join(item(each.phrase("cpp"), CPP[each.type].format(each.name), INDENT) for each in FIELDS)


def parts() -> list[Part]:
    conversion = "".join(f"            {name(each)}: {value(each)},\n" for each in FIELDS)
    return [
        Part("ffi-c/src/decision.rs", struct(), "decision"),
        Part("ffi-c/src/decision.rs", conversion, "decision-of"),
        Part("include/dlock/rate_limiter.hpp", members(), "decision"),
    ]
