"""Records in core, and the statistics in the bridge."""

from __future__ import annotations

from parts import Part
from records import ALL_STATS, BUCKETS, CORE_BLOCKS, CORE_RECORDS, Field
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
        Part("bridge/src/ops/stats.rs", counters(), "counters"),
        Part("bridge/src/ops/stats.rs", histograms(), "histograms"),
    ]
