"""Pictures in SVG that are readable on light and dark pages, drawn from text and boxes. Standard library only.

A picture has its own background and both colour schemes, chosen by `prefers-color-scheme`: browsers take that from the page
around an image, or from the reader's settings.
"""

from __future__ import annotations

from html import escape

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

#: The colours of each scheme, by the names that pictures use.
LIGHT = {
    "paper": "#ffffff",
    "edge": "#cfd8dc",
    "card": "#f5f7f8",
    "text": "#1c2b33",
    "faint": "#51636d",
    "line": "#78909c",
    "a": "#00796b",
    "b": "#1565c0",
    "c": "#7b4bb3",
    "d": "#a85300",
    "e": "#607d8b",
    "good": "#00796b",
    "bad": "#c62828",
}
DARK = {
    "paper": "#1b2226",
    "edge": "#3b474e",
    "card": "#252f34",
    "text": "#e6edf0",
    "faint": "#a9b8bf",
    "line": "#7d929c",
    "a": "#4db6ac",
    "b": "#64a8f0",
    "c": "#b794e6",
    "d": "#f0a050",
    "e": "#8ea3ad",
    "good": "#4db6ac",
    "bad": "#ff7b72",
}


def scheme(colours: dict[str, str]) -> str:
    """The rules that give the names their colours."""
    rules = [f".f-{name}{{fill:{value}}}.s-{name}{{stroke:{value}}}" for name, value in colours.items()]
    return "".join(rules)


#: How wide letters are in DejaVu Sans, of which the others are no wider: parts of the size, by the letters of each.
WIDTHS = {"ijl.,:;'|": 0.31, "frt()[] I-": 0.39, "mw": 0.9, "MW": 0.98, "<>=+→@%~": 0.87}
LETTERS = {letter: width for letters, width in WIDTHS.items() for letter in letters}


def wide(text: str, size: float, mono: bool = False) -> float:
    """About how wide a text is."""
    if mono:
        return len(text) * size * 0.61
    return size * sum(LETTERS.get(letter, 0.7 if letter.isupper() else 0.61) for letter in text)


def wrapped(text: str, room: float, size: float) -> list[str]:
    """The text in lines that are no wider than `room`."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and wide(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


class Picture:
    """What is drawn so far, in a frame that becomes as high as it has to be."""

    def __init__(self, width: int, title: str) -> None:
        self.width = width
        self.height = 0.0
        self.title = title
        self._parts: list[str] = []

    def reach(self, y: float) -> None:
        """The picture is at least so high."""
        self.height = max(self.height, y)

    def take(self, other: Picture) -> None:
        """Puts on top what another one has."""
        self._parts += other._parts
        self.reach(other.height)

    def text(
        self, x: float, y: float, text: str, size: float = 13, colour: str = "text", anchor: str = "start", more: str = ""
    ) -> None:
        """One line; `more` are classes: `mono`, `bold`."""
        place = f'x="{x:g}" y="{y:g}" font-size="{size:g}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self._parts.append(
            f'<text {place} class="f-{colour}{f" {more}" if more else ""}">{escape(text, quote=False)}</text>'
        )
        self.reach(y + size / 2)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "card",
        edge: str = "edge",
        dashes: str = "",
        r: float = 5,
    ) -> None:
        """A rectangle; no edge without a colour for it."""
        shape = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{r:g}"'
        stroke = f" s-{edge}" if edge else ""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(f'<rect {shape}{dashed} class="f-{fill}{stroke}"/>')
        self.reach(y + height)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = "line", dashes: str = "", width: float = 1
    ) -> None:
        place = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke-width="{width:g}"'
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(f'<line {place}{dashed} class="s-{colour}"/>')
        self.reach(max(y1, y2))

    def arrow(self, x1: float, x2: float, y: float, colour: str = "line", dashes: str = "") -> None:
        """From left to right or back, with a head at its end."""
        back = 7 if x2 > x1 else -7
        self.line(x1, y, x2 - back / 2, y, colour, dashes, 1.4)
        self._parts.append(f'<path d="M{x2:g} {y:g}l{-back} -4v8z" class="f-{colour}"/>')

    def render(self, padding: float = 16) -> str:
        """The file."""
        height = self.height + padding
        style = (
            f"text{{font-family:{SANS}}}.mono{{font-family:{MONO}}}.bold{{font-weight:600}}rect{{stroke-width:1}}"
            f"{scheme(LIGHT)}@media(prefers-color-scheme:dark){{{scheme(DARK)}}}"
        )
        frame = f'<rect x=".5" y=".5" width="{self.width - 1}" height="{height - 1:g}" rx="8" class="f-paper s-edge"/>'
        size = f'width="{self.width}" height="{height:g}" viewBox="0 0 {self.width} {height:g}"'
        title = escape(self.title, quote=False)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{title}</title><style>{style}</style>'
        return "\n".join([head, frame, *self._parts, "</svg>", ""])
