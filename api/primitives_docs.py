"""The lists of primitives in the index of each folder of docs/ and in that of examples/; the programs on each one's own page."""

from __future__ import annotations

from parts import ROOT, Part
from primitives import PRIMITIVES, Primitive
from words import table

FOLDERS = ["c", "python", "node", "java", "protocol"]
#: How the programs in examples/ end, in the order of their tabs: in which language they are, and its folder of docs/.
ENDS = {
    ".rs": ("Rust", ""),
    ".py": ("Python", "python"),
    "_aio.py": ("asyncio", "python"),
    ".mjs": ("Node", "node"),
    ".java": ("Java", "java"),
    ".cpp": ("C++", "c"),
    ".c": ("C", "c"),
}
#: Where Rust users look.
RUSTDOC = "`cargo doc --open -p libdlock`"


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
    own = [Part(f"docs/primitives/{each.name}.md", programs(each), "programs") for each in PRIMITIVES]
    return [*pages, *own, Part("examples/README.md", table(["", "shows"], shown), "primitives")]


def programs(each: Primitive) -> str:
    """The table of its programs, which the site shows as tabs: book/stage.py."""
    there = sorted((ROOT / "examples" / each.name).iterdir())
    rows = []
    for end, (language, folder) in ENDS.items():
        for path in there:
            if path.name.endswith(end) and (end != ".py" or not path.name.endswith("_aio.py")):
                rows.append([language, f"[{path.name}](../../examples/{each.name}/{path.name})", every_call(each, folder)])
    return table(["language", "program", "every call"], rows)


def every_call(each: Primitive, folder: str) -> str:
    """A link to the page of that language about it, by the page's title."""
    if not folder:
        return RUSTDOC
    first = (ROOT / "docs" / folder / f"{each.name}.md").read_text().split("\n", 1)[0]
    return f"[{first.removeprefix('# ')}](../{folder}/{each.name}.md)"
