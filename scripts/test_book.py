"""Builds the documentation site and looks at every page of it: links, what the pages show, and how a browser takes them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from browser import Browser, Page, complaints
from site_server import SITE, SiteServer
from testing import main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "api"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "book"))
from nav import PAGES
from primitives import PRIMITIVES

ROOT = Path(__file__).resolve().parent.parent
SCREENSHOTS = ROOT / "build/screenshots"
#: Pages that are kept as pictures: light and dark, on a telephone and on a desk.
SHOWN = [
    "index",
    "docs/primitives/lock",
    "docs/primitives/index",
    "docs/moving/redlock",
    "docs/protocol/lock",
    "docs/benchmarks",
]
NARROW, WIDE = 360, 1280
#: Cells that are too narrow for what they say: 3.5 em, which is 8 letters.
NARROW_CELLS = """[...document.querySelectorAll('td')].filter((cell) => cell.innerText.length > 24 && cell.offsetWidth
    && cell.clientWidth < 3.5 * parseFloat(getComputedStyle(cell).fontSize)).map((cell) => cell.innerText)"""
#: What a browser fetches for a page by itself.
FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "srcset"), ("iframe", "src")}


class Read(HTMLParser):
    """What a built page links to and fetches, its anchors, and its text outside of code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.paragraphs: list[str] = []
        self._inside: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif (tag, name) in FETCHED and ("rel", "canonical") not in attributes:
                self.fetched.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
        if tag in ("p", "li", "td", "code", "pre"):
            self._inside.append(tag)
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass
            self.paragraphs.append("")

    def handle_data(self, data: str) -> None:
        if self._inside and not {"code", "pre"} & set(self._inside):
            self.paragraphs[-1] += data


def html(page: Path) -> Path:
    """Where the site has a page of the repository."""
    path = page.relative_to(ROOT)
    return SITE / (path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html"))


@cache
def read(path: Path) -> Read:
    return Read(path)


def setUpModule() -> None:
    # A warning of MkDocs ends the build, and with it the tests.
    done = subprocess.run(["book/build.sh"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


class Built(unittest.TestCase):
    def test_every_page_is_on_the_site(self) -> None:
        self.assertEqual([str(page) for page in PAGES if not html(page).exists()], [])

    def test_every_link_leads_to_a_page_and_its_anchor(self) -> None:
        for path in sorted(SITE.rglob("*.html")):
            if path.name == "404.html":
                continue
            for link in {*read(path).links, *read(path).fetched}:
                name, _, anchor = unquote(link).partition("#")
                if re.match(r"\w+:", name):
                    continue
                target = Path(os.path.normpath(path.parent / name)) if name else path
                with self.subTest(page=str(path.relative_to(SITE)), link=link):
                    self.assertTrue(target.exists(), "no such file")
                    if anchor:
                        self.assertIn(anchor, read(target).anchors, "no such anchor")

    def test_no_page_fetches_anything_from_elsewhere(self) -> None:
        for path in sorted(SITE.rglob("*.html")):
            self.assertEqual([link for link in read(path).fetched if re.match(r"\w+:|//", link)], [], path)

    def test_no_markdown_is_left(self) -> None:
        # A list without a blank line before it, a table that is none, a link that is none.
        left = re.compile(r"^ *(?:[-*] |\d+\. )|\|-{3}|\]\(|^#{1,6} ", re.MULTILINE)
        for page in PAGES:
            for text in read(html(page)).paragraphs:
                # What begins a paragraph is not a list: `- 5` in a table.
                self.assertIsNone(left.search("x" + text.lstrip()), f"{page.relative_to(ROOT)}: {text}")

    def test_a_primitive_has_its_program_in_each_language(self) -> None:
        for each in PRIMITIVES:
            page = (SITE / "docs/primitives" / f"{each.name}.html").read_text()
            shown = [unescape(re.sub(r"<[^>]+>", "", code)) for code in re.findall(r"<code>(.*?)</code>", page, re.DOTALL)]
            for program in sorted((ROOT / "examples" / each.name).iterdir()):
                if program.suffix != ".txt":
                    with self.subTest(str(program.relative_to(ROOT))):
                        self.assertIn(program.read_text().rstrip(), [code.rstrip() for code in shown])
            names = re.findall(r'<label for="__tabbed_1_\d+">(.*?)</label>', page)
            self.assertLessEqual({"Rust", "Python", "Node", "Java", "C++", "C"}, set(names), each.name)


class Looked(unittest.TestCase):
    browser: Browser
    server: SiteServer

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = SiteServer()
        cls.addClassCleanup(cls.server.stop)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.stop)

    def opened(self, page: Page, name: str) -> None:
        """Opens it; there was nothing to complain of, and it is no wider than the screen."""
        events = page.open(f"{self.server.url}{name}.html")
        self.assertEqual(complaints(events, self.server.url), [])
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), page.width)
        self.assertEqual(page.evaluate(NARROW_CELLS), [], "cells of one word in a line, or less")

    def test_every_page_opens_on_a_telephone(self) -> None:
        page = self.browser.page(NARROW)
        for path in PAGES:
            name = str(html(path).relative_to(SITE).with_suffix(""))
            with self.subTest(name):
                self.opened(page, name)

    def test_pages_in_light_and_dark_for_a_look(self) -> None:
        for dark in (False, True):
            for width in (NARROW, WIDE):
                page = self.browser.page(width, dark=dark)
                for name in SHOWN:
                    with self.subTest(name, dark=dark, width=width):
                        self.opened(page, name)
                        scheme = page.evaluate("getComputedStyle(document.body).getPropertyValue('color-scheme')")
                        self.assertEqual(scheme.strip(), "dark" if dark else "light")
                        file = f"{name.replace('/', '-')}-{width}-{'dark' if dark else 'light'}.png"
                        page.screenshot(SCREENSHOTS / file)

    def test_a_language_is_chosen_once_for_all_pages(self) -> None:
        page = self.browser.page(WIDE)
        self.opened(page, "docs/primitives/lock")
        page.evaluate("[...document.querySelectorAll('.tabbed-labels label')].find((l) => l.innerText == 'Java').click()")
        self.assertIn("public final class Lock", self.code(page))
        self.opened(page, "docs/primitives/latch")
        self.assertIn("public final class Latches", self.code(page))

    def code(self, page: Page) -> str:
        """The program that is seen."""
        visible = "[...document.querySelectorAll('.tabbed-block pre')].filter((p) => p.offsetParent).map((p) => p.innerText)"
        (code,) = page.evaluate(visible)
        return str(code)

    def test_search_finds_a_page_by_its_words(self) -> None:
        self.server.searchable = True
        self.addCleanup(setattr, self.server, "searchable", False)
        page = self.browser.page(WIDE)
        self.opened(page, "index")
        # What is typed is looked for by a worker, once that has read the index; the page changes when it answers.
        found = page.evaluate("""new Promise((found) => {
            const look = () => {
                const links = [...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)
                if (links.length) found(links)
            }
            new MutationObserver(look).observe(document.body, {subtree: true, childList: true})
            const field = document.querySelector('.md-search__input')
            field.focus()
            field.value = 'bloom filter'
            field.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}))
            look()
        })""")
        self.assertTrue(any("bloom-filter.html" in link for link in found), found)


if __name__ == "__main__":
    main()
