"""The table of statistics on each language's page, and the list of names that tests read."""

from __future__ import annotations

import json
import re

from parts import Part
from records import ALL_STATS, BLOCKS, BUCKETS, CORE_BLOCKS, HISTOGRAM, STATS, Record
from words import camel, table


def rows(language: str) -> list[list[str]]:
    def own(name: str) -> str:
        return camel(name) if language in ("node", "java") else name

    def text(record: Record, what: str) -> str:
        names = {each.name for each in record.fields}
        return re.sub(r"`(\w+)`", lambda found: f"`{own(found[1])}`" if found[1] in names else found[0], what)

    histogram = {"histogram": "histogram: "}
    return [
        [
            f"`{own(block)}.{own(each.name)}`" if block else f"`{own(each.name)}`",
            histogram.get(each.type, "") + text(record, each.what),
        ]
        for block, record in ALL_STATS.items()
        for each in record.fields
        if not each.is_block
    ]


def names(record: Record) -> dict[str, list[str]]:
    return {
        "counters": [each.name for each in record.of("count")],
        "histograms": [each.name for each in record.of("histogram")],
    }


def vectors() -> str:
    """tests/vectors/stats.json; JSON has no comments, so a field says where it comes from."""
    tables = {
        "written_by": "python3 api/write.py, from api/records.json",
        **names(STATS),
        "blocks": {block: names(record) for block, record in BLOCKS.items()},
        "only_in_core": {block: names(record) for block, record in CORE_BLOCKS.items() if record.only},
        "histogram": [each.name for each in HISTOGRAM.fields],
        "buckets": BUCKETS,
    }
    return json.dumps(tables, indent=2) + "\n"


def parts() -> list[Part]:
    pages = [
        Part(f"docs/{language}/README.md", table(["statistic", ""], rows(language)), "stats")
        for language in ("c", "python", "node", "java")
    ]
    return [*pages, Part("tests/vectors/stats.json", vectors())]
