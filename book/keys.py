"""Maps of the keys that each primitive has on the server, drawn from the tables of keys in docs/protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from svg import Picture, wide, wrapped

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = ROOT / "docs/protocol"

#: The colour of each type.
COLOURS = {"HASH": "b", "STRING": "a", "ZSET": "c", "LIST": "d", "channel": "e"}
WIDTH, EDGE, GAP = 740, 20, 12
CARD = (WIDTH - 2 * EDGE - GAP) / 2


@dataclass(frozen=True)
class Key:
    """One row of a table."""

    #: What the page calls it, where it has a letter.
    letter: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    content: str
    lives: str
    #: The heading above the table.
    section: str

    @property
    def is_channel(self) -> bool:
        return "channel" in self.types


def tables(text: str) -> list[tuple[str, list[dict[str, str]]]]:
    """The tables of a page that say of keys which type they have, row by row, below their headings."""
    found, section = [], ""
    for heading, table in re.findall(r"^#+ (.*)$|((?:^\|.*\n)+)", text, re.MULTILINE):
        section = heading or section
        if not table:
            continue
        heads, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines())
        if {"key", "kind of key"} & set(heads) and "type" in heads:
            found.append((section, [dict(zip(heads, row, strict=False)) for row in rows]))
    return found


def plain(text: str) -> str:
    """Without Markdown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", "")
    return re.sub(r"(?:^|; )see [^;.]*$", "", text.replace("->", "→"))


def keys(name: str) -> list[Key]:
    """All that the page of a primitive lists."""
    found: list[Key] = []
    for section, table in tables((PROTOCOL / f"{name}.md").read_text()):
        for row in table:
            cell, suffix = (row["key"], "") if "key" in row else (row["kind of key"], ":{<name>}")
            names = tuple(key + suffix for key in re.findall(r"`([^`]+)`", re.split(r",? or ", cell)[0]))
            types = tuple(re.findall(r"\b(?:HASH|STRING|ZSET|LIST|channel)\b", row["type"]))
            if row["type"] == "the same":
                types = found[-1].types
            content = plain(row.get("content") or re.sub(r"^`[^`]*`,? ?", "", cell))
            found.append(Key(plain(row.get("", "")), names, types, content, plain(row.get("time to live", "")), section))
    return found


def names() -> list[str]:
    """The pages that have such a table."""
    return [page.stem for page in sorted(PROTOCOL.glob("*.md")) if keys(page.stem)]


def lines_of(key: Key) -> tuple[list[str], list[str]]:
    """The text of its card."""
    lives = f"time to live: {key.lives}" if key.lives and not key.is_channel else ""
    return wrapped(key.content, CARD - 24, 12.5), wrapped(lives, CARD - 24, 11.5)


def height(key: Key) -> float:
    content, lives = lines_of(key)
    return 34 + 17 * len(key.names) + 17 * len(content) + (4 + 15 * len(lives) if lives else 0)


def card(picture: Picture, key: Key, x: float, y: float, high: float) -> None:
    """Its letter and type, its name, what is in it, and how long it lives."""
    colour = COLOURS[key.types[0]] if key.types else "e"
    picture.box(x, y, CARD, high, dashes="4 3" if key.is_channel else "")
    picture.box(x, y, 4, high, fill=colour, edge="", r=2)
    types = " or ".join(key.types)
    picture.text(x + 14, y + 18, key.letter, 12.5, "faint", more="bold")
    picture.text(x + CARD - 10, y + 18, types, 11.5, colour, "end", "bold")
    y += 20
    for name in key.names:
        y += 17
        size = min(12.5, 12.5 * (CARD - 24) / wide(name, 12.5, mono=True))
        picture.text(x + 14, y, name, round(size, 1), more="mono bold")
    content, lives = lines_of(key)
    y += 2
    for line in content:
        y += 17
        picture.text(x + 14, y, line, 12.5)
    y += 3
    for line in lives:
        y += 15
        picture.text(x + 14, y, line, 11.5, "faint")


def group(picture: Picture, title: str, listed: list[Key], y: float) -> float:
    """Cards in two columns below a title; where they end."""
    picture.text(EDGE, y + 12, title, 13, "faint")
    y += 22
    for left in range(0, len(listed), 2):
        pair = listed[left : left + 2]
        high = max(height(key) for key in pair)
        for column, key in enumerate(pair):
            card(picture, key, EDGE + column * (CARD + GAP), y, high)
        y += high + GAP
    return y


def draw(name: str) -> str:
    """The map of one primitive."""
    listed = keys(name)
    picture = Picture(WIDTH, f"The keys on the server: {name}")
    y = 16.0
    for section in dict.fromkeys(key.section for key in listed):
        stored = [key for key in listed if key.section == section and not key.is_channel]
        y = group(picture, "Keys" if section.lower().endswith("keys") else section, stored, y) + 8
    channels = [key for key in listed if key.is_channel]
    if channels:
        group(picture, "Channels", channels, y)
    return picture.render(padding=20)
