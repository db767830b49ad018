#!/usr/bin/env python3
"""Copies the pages of the repository to build/book, as MkDocs wants them, with the navigation.

The pages are written for whoever reads them in the repository. Here links to what is no page become links to the
repository, and the table of a primitive's programs becomes a tab for each language, with the program in it.
Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from nav import PAGES, nav, title

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / "build/book"
REPOSITORY = "https://github.com/libdlock/libdlock"
#: What Pygments calls the languages of the programs.
LANGUAGES = {".rs": "rust", ".py": "python", ".mjs": "js", ".java": "java", ".c": "c", ".cpp": "cpp"}

_CODE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))|((?:src|srcset|href)=\")([^\"]+)(\")")
_FILE = re.compile(r"\[([\w./-]+\.md)\]\(([^)#\s]+)\)")
_PROGRAMS = re.compile(r"^<!-- <api:programs>[^\n]*\n(.*?)^<!-- </api:programs> -->\n", re.DOTALL | re.MULTILINE)
_PROGRAM = re.compile(r"^\| ([^|]+) \| \[[^\]]+\]\(([^)]+)\) \| ([^|]*) \|$", re.MULTILINE)
_LIST = re.compile(r"(?:[-*] |\d+\. )")


def main() -> None:
    """Writes build/book anew."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for page in PAGES:
        target = STAGE / "pages" / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(staged(page))
    shutil.copytree(ROOT / "docs/pictures", STAGE / "pages/docs/pictures")
    (STAGE / "pages/book").mkdir()
    shutil.copy(ROOT / "book/style.css", STAGE / "pages/book")
    site = {
        "INHERIT": str(ROOT / "book/mkdocs.yml"),
        "docs_dir": "pages",
        "site_dir": str(ROOT / "build/site"),
        "nav": nav(),
    }
    # JSON is YAML.
    (STAGE / "mkdocs.yml").write_text(json.dumps(site, indent=1))


def staged(page: Path) -> str:
    """The page's text as MkDocs wants it."""
    text = _PROGRAMS.sub(lambda found: tabs(page, found[1]), page.read_text())
    return "".join(part if code else prose(page, part) for code, part in parts(text))


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """Blocks of code, and what is between them."""
    end = 0
    for code in _CODE.finditer(text):
        yield False, text[end : code.start()]
        yield True, code[0]
        end = code.end()
    yield False, text[end:]


def prose(page: Path, text: str) -> str:
    """Links that lead somewhere on the site; lists and folded parts as Python's Markdown reads them."""
    text = re.sub(r"^<!-- </?api:.*-->\n", "", text, flags=re.MULTILINE)
    text = _FILE.sub(lambda found: titled(page, found), text)
    text = _LINK.sub(lambda found: linked(page, found), text)
    text = re.sub(r"<(details|summary|div|p)\b(?![^>]*markdown)", r'<\1 markdown="1"', text)
    return "\n".join(spaced(text.split("\n")))


def titled(page: Path, found: re.Match[str]) -> str:
    """A link that names a file of docs/ names the page's title on the site."""
    target = Path(os.path.normpath(page.parent / found[2]))
    return f"[{title(target)}]({found[2]})" if target in PAGES and ROOT / "docs" in target.parents else found[0]


def linked(page: Path, found: re.Match[str]) -> str:
    """The link as it is, or to the repository when there is no such page on the site."""
    before, link, after = (found[i] or found[i + 3] for i in (1, 2, 3))
    name, _, heading = link.partition("#")
    if not name or "://" in name or name.startswith("mailto:"):
        return found[0]
    target = Path(os.path.normpath(page.parent / name))
    if target.is_dir() and target / "README.md" in PAGES:
        target /= "README.md"
    elif target not in PAGES and ROOT / "docs/pictures" not in target.parents:
        assert target.exists(), f"{page.relative_to(ROOT)} links to {name}, which is not there"
        kind = "tree" if target.is_dir() else "blob"
        return f"{before}{REPOSITORY}/{kind}/main/{target.relative_to(ROOT)}{after}"
    if found[4] and target.suffix == ".md":
        # MkDocs leaves links in HTML as they are.
        target = target.with_name("index.html") if target.name == "README.md" else target.with_suffix(".html")
    return f"{before}{os.path.relpath(target, page.parent)}{'#' if heading else ''}{heading}{after}"


def spaced(lines: list[str]) -> Iterator[str]:
    """A blank line before a list that follows a paragraph at once, and four spaces for what belongs to an entry."""
    listed = False
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        entry = bool(_LIST.match(line.lstrip()))
        before = lines[i - 1] if i else ""
        if entry and indent == 0:
            if before and not listed:
                yield ""
            listed = True
        elif line and indent == 0:
            listed = listed and bool(before)
        yield f"{' ' * (4 - indent)}{line}" if listed and 2 <= indent < 4 else line


def tabs(page: Path, table: str) -> str:
    """A tab for each row of the table: the language, the program, and where there is more about it."""
    text = []
    for language, link, more in _PROGRAM.findall(table):
        program = page.parent / link
        code = f"```{LANGUAGES[program.suffix]}\n{program.read_text().rstrip()}\n```\n\nEvery call: {more}".rstrip().split(
            "\n"
        )
        text.append("\n".join([f'=== "{language}"', "", *(f"    {line}".rstrip() for line in code), ""]))
    assert text, f"{page} has no programs in its table"
    return "\n".join(text)


if __name__ == "__main__":
    main()
