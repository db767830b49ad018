"""The lists of primitives in the index of each folder of docs/, and in that of examples/."""

from __future__ import annotations

from parts import Part
from primitives import PRIMITIVES
from words import table

FOLDERS = ["c", "python", "node", "java", "protocol"]


def parts() -> list[Part]:
    pages = [
        Part(
            f"docs/{folder}/README.md",
            table(
                ["page", "content"],
                [[f"[{each.name}.md]({each.name}.md)", each.phrase(folder)] for each in PRIMITIVES if each.has_page(folder)],
            ),
            "primitives",
        )
        for folder in FOLDERS
    ]
    shown = [[f"[{each.name}]({each.name})", each.example] for each in PRIMITIVES]
    return [*pages, Part("examples/README.md", table(["", "shows"], shown), "primitives")]
