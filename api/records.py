"""What calls return, as api/records.json has it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import facts

TYPES = {"flag", "count", "integer", "counts", "duration", "histogram", "text?", "count?", "duration?", "time?"}
NONE = {"rust": "`None`", "python": "`None`", "node": "undefined", "java": "`null`", "c": "-1", "cpp": "nothing"}


@dataclass(frozen=True)
class Field:
    """One field. `what` has no capital and no full stop; `says` replaces it in a language that says something else."""

    name: str
    type: str
    what: str
    says: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.type in TYPES or self.is_block, f"field {self.name} has the type {self.type}"

    @property
    def is_block(self) -> bool:
        """Whether it is a record itself: the statistics of one kind of object."""
        return self.type.endswith("Stats")

    def phrase(self, language: str) -> str:
        """What the field says, in that language's words."""
        # Java has an empty OptionalLong where others have none.
        none = "empty" if language == "java" and self.type in ("count?", "time?") else NONE[language]
        return self.says.get(language, self.what).replace("{none}", none)


@dataclass(frozen=True)
class Record:
    """A value with named fields."""

    name: str
    what: str
    fields: list[Field]
    #: The only languages that have it yet; all if there are none.
    only: list[str] = field(default_factory=list)

    def of(self, *types: str) -> list[Field]:
        """The fields of these types."""
        return [each for each in self.fields if each.type in types]


_JSON: dict[str, Any] = facts.read("records")
#: Those of core, and those of every language: a kind of object that is being built has the first.
CORE_RECORDS = {
    row["name"]: Record(row["name"], row["what"], [Field(**each) for each in row["fields"]], row.get("only", []))
    for row in _JSON["records"]
}
CORE_BLOCKS = {each.name: CORE_RECORDS[each.type] for each in CORE_RECORDS["Stats"].fields if each.is_block}
RECORDS = {
    name: replace(record, fields=[each for each in record.fields if not each.is_block or not CORE_RECORDS[each.type].only])
    for name, record in CORE_RECORDS.items()
    if not record.only
}
STATS, HISTOGRAM = RECORDS["Stats"], RECORDS["Histogram"]
#: The statistics of each kind of object, by the name of their field in a client's.
BLOCKS = {each.name: RECORDS[each.type] for each in STATS.fields if each.is_block}
#: A client's own statistics and those of the kinds, which are lists of numbers in this order on their way to some languages:
#: first all counters, then all histograms.
ALL_STATS = {"": STATS, **BLOCKS}
for _record in ALL_STATS.values():
    _kinds = [(each.type != "count") + each.is_block for each in _record.fields]
    assert _kinds == sorted(_kinds), f"{_record.name}: counters, then histograms, then blocks"


def in_lists() -> dict[str, tuple[range, range]]:
    """Where the counters and the histograms of each stand in these lists."""
    ranges, counts, times = {}, 0, 0
    for block, record in ALL_STATS.items():
        next_counts, next_times = counts + len(record.of("count")), times + len(record.of("histogram"))
        ranges[block] = range(counts, next_counts), range(times, next_times)
        counts, times = next_counts, next_times
    return ranges


BUCKETS: int = _JSON["buckets"]
#: What each statistic is, of whatever kind, as a monitoring system shows it.
METRICS: dict[str, str] = _JSON["metrics"]
#: The words of `dlock` for the kinds of objects that the statistics name otherwise.
KINDS = {"limiter": "rate-limiter", "rw_lock": "rw-lock", "counting_semaphore": "counting-semaphore"}
#: Counts that also go down.
GAUGES = ("waiting", "held")
