"""What the generator writes: whole files, and parts of files that are otherwise written by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Part:
    """Text for a file: for the lines between one with `<api:NAME>` and one with `</api:NAME>`; without a name for all of it."""

    path: str
    text: str
    name: str = ""

    def apply(self, present: str) -> str:
        """The file's text with this part in it."""
        if not self.name:
            return self.text
        begin, end = f"<api:{self.name}>", f"</api:{self.name}>"
        pattern = re.compile(rf"(?s)\A(.*^[^\n]*{begin}[^\n]*\n)(.*?)(^[^\n]*{end}.*)\Z", re.MULTILINE)
        found = pattern.match(present)
        if not found or present.count(begin) != 1:
            raise ValueError(f"{self.path} has to contain one line with {begin} and after it one with {end}")
        return found[1] + self.text + found[3]


def outdated(parts: list[Part]) -> dict[str, str]:
    """The files that differ from what their parts say, with the text that they should have."""
    wanted: dict[str, str] = {}
    for part in parts:
        wanted[part.path] = part.apply(wanted.get(part.path, present(part.path)))
    return {path: text for path, text in wanted.items() if text != present(path)}


def present(path: str) -> str:
    """What is in that file now."""
    file = ROOT / path
    return file.read_text() if file.exists() else ""
