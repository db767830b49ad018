"""The pictures of docs/pictures are what their data says, can be read on light and dark pages, and leave nothing out."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import unittest
import xml.etree.ElementTree as ET
from fnmatch import fnmatchcase
from pathlib import Path

from testing import main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "api"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "book"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import charts
import keys
import pictures
import sequence
import svg
from driver.tables import print_table
from primitives import PRIMITIVES

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/pictures"
PAGE = charts.PAGE.read_text()
#: The pictures that are not made by hand.
DRAWN = {**pictures.pictures(), **charts.charts(PAGE)}


def texts(picture: str) -> list[str]:
    """What is written in it; also says that it is XML."""
    return [text for element in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text") if (text := element.text)]


def contrast(one: str, other: str) -> float:
    """By WCAG 2: 1 is none, 21 is black on white."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([light(one), light(other)])
    return (high + 0.05) / (low + 0.05)


class Committed(unittest.TestCase):
    def test_what_is_committed_is_what_would_be_drawn(self) -> None:
        for name, text in DRAWN.items():
            self.assertEqual((PICTURES / name).read_text(), text, f"{name}: run book/pictures.py and bench/charts.py")
        # What is drawn no more is removed: no such name is that of a picture made by hand.
        named = {path.name for path in PICTURES.iterdir() if path.name.startswith(("keys-", "bench-"))}
        self.assertLessEqual(named, set(DRAWN))

    def test_every_picture_is_shown_and_says_what_it_is(self) -> None:
        pages = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
        for path in PICTURES.iterdir():
            self.assertRegex(pages, rf"!\[[^\]]+\]\((?:[./]|docs/)*pictures/{re.escape(path.name)}\)")
            self.assertTrue(ET.parse(path).getroot()[0].text, "no title")

    def test_nothing_is_fetched(self) -> None:
        for path in PICTURES.iterdir():
            self.assertNotRegex(
                path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', ""), r"https?:|url\(|href|@import"
            )

    def test_nothing_is_drawn_outside_of_the_frame(self) -> None:
        for name, text in DRAWN.items():
            root = ET.fromstring(text)
            width, height = float(root.attrib["width"]), float(root.attrib["height"])
            for element in root.iter("{http://www.w3.org/2000/svg}text"):
                size, x = float(element.attrib["font-size"]), float(element.attrib["x"])
                long = svg.wide(element.text or "", size, "mono" in element.attrib["class"])
                left = x - long * {"end": 1, "middle": 0.5}.get(element.attrib.get("text-anchor", ""), 0)
                self.assertTrue(left >= 0 and left + long <= width, f"{name}: {element.text}")
                self.assertLess(float(element.attrib["y"]), height)


class Schemes(unittest.TestCase):
    def test_texts_and_bars_can_be_told_from_what_is_behind(self) -> None:
        for scheme in (svg.LIGHT, svg.DARK):
            for paper in ("paper", "card"):
                for text in ("text", "faint", "good", "bad", "a", "b", "c", "d"):
                    self.assertGreaterEqual(contrast(scheme[text], scheme[paper]), 4.5, f"{text} on {paper}")
                for shape in ("line", "e"):
                    self.assertGreaterEqual(contrast(scheme[shape], scheme[paper]), 3, f"{shape} on {paper}")

    def test_both_schemes_have_every_colour_that_is_used(self) -> None:
        self.assertEqual(set(svg.LIGHT), set(svg.DARK))
        for name, text in DRAWN.items():
            used = set(re.findall(r"\b[fs]-(\w+)\b(?=[^<>]*/?>)", re.sub(r"<style>.*</style>", "", text)))
            self.assertLessEqual(used, set(svg.LIGHT), name)

    def test_every_picture_follows_the_scheme_of_its_page(self) -> None:
        for path in PICTURES.iterdir():
            self.assertRegex(path.read_text(), r"@media ?\(prefers-color-scheme: ?dark\)", path.name)


class Charts(unittest.TestCase):
    def test_a_chart_has_each_row_of_its_table_and_its_figures(self) -> None:
        for chart in charts.CHARTS:
            found = charts.table(PAGE, chart)
            assert found, f"{chart.caption}: no such table"
            heads, rows = found
            written = texts(charts.draw(chart, found))
            self.assertGreater(len(rows), 2)
            for row in rows:
                self.assertIn(row[0], written, chart.name)
                for panel in chart.panels:
                    self.assertIn(charts.written(charts.number(row[heads.index(panel.column)])), written, chart.name)

    def test_the_longest_bar_is_that_of_the_largest_figure(self) -> None:
        text = "### Pairs, 1 caller, a lock each\n\n|  | pairs/s | client CPU |\n|---|---:|---:|\n"
        text += "| floor | 1,000 | 1.0 us |\n| Rust | 500 | 2.0 us |\n| rslock | 250 | 4.0 us |\n"
        chart = charts.CHARTS[0]
        found = charts.table(text, chart)
        assert found
        bars = [box for box in ET.fromstring(charts.draw(chart, found)) if box.attrib.get("height") == f"{charts.BAR}"]
        self.assertEqual([box.attrib["class"] for box in bars], ["f-e", "f-a", "f-d"] * 2)
        wide = [float(box.attrib["width"]) for box in bars]
        self.assertAlmostEqual(wide[1] / wide[0], 0.5, places=2)
        self.assertAlmostEqual(wide[3] / wide[5], 0.25, places=2)

    def test_the_output_of_a_run_without_a_table_has_no_chart_of_it(self) -> None:
        self.assertEqual(charts.charts("### Pairs, 1 caller, a lock each\n\nnothing\n"), {})

    def test_what_a_run_prints_is_drawn(self) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            print_table("Pairs, 1 caller, a lock each", ["", "pairs/s", "client CPU"], [["Rust", "8,010", "47.2 us"]])
        (picture,) = charts.charts(printed.getvalue()).values()
        self.assertLessEqual({"Rust", "8,010", "47.2"}, set(texts(picture)))


class Life(unittest.TestCase):
    def test_the_messages_of_the_diagram_are_those_of_the_protocol(self) -> None:
        section = (ROOT / "docs/protocol/lock.md").read_text().partition("\n## Messages\n")[2].partition("\n## ")[0]
        said = {event.says for event in sequence.EVENTS if isinstance(event, sequence.Message)}
        self.assertLessEqual(said, set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)))
        self.assertEqual(said, {"free", "next"})


class Keys(unittest.TestCase):
    """A map has the keys that the access list grants, which every test server enforces."""

    def test_the_maps_and_the_access_list_name_the_same_keys(self) -> None:
        granted = json.loads((ROOT / "tests/vectors/access.json").read_text())
        for each in PRIMITIVES:
            listed = keys.keys(each.name)
            # Several locks as one have those of each lock; an inbox is on the lock's page for all.
            if not each.states or not listed:
                self.assertIn(each.name, {"ids", "lock-all"})
                continue
            for what, channels in (("keys", False), ("channels", True)):
                named = {name for key in listed if key.is_channel == channels for name in key.names}
                rules = {rule for state in each.states for rule in granted[state.rights][what]} - {"dlock_inbox:*"}
                named -= {"dlock_inbox:<client id>"}
                with self.subTest(each.name, what=what):
                    unmatched = {name for name in named if not any(fnmatchcase(name, rule) for rule in rules)}
                    self.assertEqual(unmatched, set(), "not in the access list")
                    unused = {rule for rule in rules if not any(fnmatchcase(name, rule) for name in named)}
                    self.assertEqual(unused, set(), "granted, and not on the map")

    def test_every_key_of_a_page_is_on_its_map(self) -> None:
        for name in keys.names():
            written = texts(keys.draw(name))
            for key in keys.keys(name):
                self.assertTrue(key.names, f"{name}: a row without a key")
                for text in key.names:
                    self.assertIn(text, written, name)


if __name__ == "__main__":
    main()
