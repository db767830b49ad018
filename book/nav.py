"""Which pages the site has, and in which order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "api"))
from primitives import PRIMITIVES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("api", "bench", "examples")),
    *sorted((ROOT / "tests").glob("*/README.md")),
]

#: The folders of docs/ with a page for each primitive.
FOLDERS = {"Python": "python", "Node": "node", "Java": "java", "C and C++": "c"}
#: Pages of docs/ that stand in another section than what has no section of its own.
PRIMITIVES_TOO = ["limiters.md", "bloom-filter.md"]
OPERATIONS = ["operations.md", "cli.md"]
PROJECT = ["README.md", "benchmarks.md", "DESIGN.md"]

Entry = str | dict[str, Any]


def title(page: Path) -> str:
    """Its first heading."""
    found = re.search(r"^# (.*)$", page.read_text(), re.MULTILINE)
    assert found, f"{page} has no title"
    return found[1]


def path(page: Path) -> str:
    return str(page.relative_to(ROOT))


def folder(name: str, *others: Path) -> list[Entry]:
    """The pages of a folder of docs/: its index, the primitives in their order and by their names, what else there is."""
    here = DOCS / name
    named: list[Entry] = []
    seen = {here / "README.md"}
    for each in PRIMITIVES:
        page = here / f"{each.name}.md"
        if page.exists():
            named.append({title(DOCS / "primitives" / page.name): path(page)})
            seen.add(page)
    rest = [page for page in [*sorted(here.glob("*.md")), *others] if page not in seen]
    return [path(here / "README.md"), *named, *(path(page) for page in rest)]


def nav() -> list[Entry]:
    """The navigation: sections over the top, pages at the side."""
    moving = [DOCS / "redisson.md", *sorted(page for page in (DOCS / "moving").glob("*.md") if page.name != "README.md")]
    listed = {*PRIMITIVES_TOO, *OPERATIONS, *PROJECT, "redisson.md"}
    other = [page for page in sorted(DOCS.glob("*.md")) if page.name not in listed]
    outside = [page for page in PAGES if DOCS not in page.parents and page.name != "README.md"]
    folders = [page for page in PAGES if DOCS not in page.parents and page.name == "README.md" and page.parent != ROOT]
    named: list[Entry] = [{f"{path(page.parent)}/": path(page)} for page in folders]
    return [
        {"Home": ["README.md"]},
        {"Primitives": folder("primitives", *(DOCS / name for name in PRIMITIVES_TOO))},
        *({language: folder(name)} for language, name in FOLDERS.items()),
        {"Rust": folder("rust")},
        {"Operations": [path(page) for page in [*(DOCS / name for name in OPERATIONS), *other]]},
        {"Moving from": ["docs/moving/README.md", *({title(page).partition("from ")[2]: path(page)} for page in moving)]},
        {"Wire protocol": folder("protocol")},
        {"Project": [*(path(page) for page in [*(DOCS / name for name in PROJECT), *outside]), *named]},
    ]
