"""The access lists in docs/operations.md: of every primitive together, and what each of them needs."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from parts import ROOT, Part
from primitives import PRIMITIVES, State

PAGE = "docs/operations.md"
RIGHTS: dict[str, Any] = json.loads((ROOT / "tests/vectors/access.json").read_text())
KINDS = [state for each in PRIMITIVES for state in each.states]
#: What only those need who listen to channels.
LISTENING = ["subscribe", "unsubscribe"]
#: What only a database other than 0 needs.
OF_A_DATABASE = ["select"]
#: What only the option `replicas` needs, beside SET.
OF_REPLICAS = ["wait"]
#: A new user with a password and no other right.
NOBODY = "ACL SETUSER libdlock on >password resetkeys resetchannels -@all"


def scripts(of: State) -> list[str]:
    """The commands that its scripts call, in the order of the list of all."""
    paths = [ROOT / "core/src" / path for path in of.scripts]
    files = [file for path in paths for file in (sorted(path.rglob("*.lua")) if path.is_dir() else [path])]
    called = {name.lower() for file in files for name in re.findall(r"call\('(\w+)'", file.read_text())}
    return [command for command in RIGHTS["scripts"] if command in called]


def lines(marked: dict[str, Iterable[str]]) -> str:
    """Rules, each with the mark of its sort; the sorts begin lines of their own."""
    rows = (" ".join(f"{mark}{word}" for word in words) for mark, words in marked.items())
    # A rule is one word, whatever it contains.
    wrapped = [textwrap.wrap(row, 96, break_long_words=False, break_on_hyphens=False) for row in rows]
    return "".join(f"  {line}\n" for row in wrapped for line in row)


def places(of: list[State], sort: str) -> list[str]:
    """Their keys or channels, each once. The reader has a pattern for the names of all objects."""
    found = dict.fromkeys(place for each in of for place in RIGHTS[each.rights][sort])
    return [place.replace("<name>", "<names>") for place in found]


def everything() -> str:
    commands = lines({"+": RIGHTS["connection"]}) + lines({"+": RIGHTS["scripts"]})
    keys = [*places(KINDS, "keys"), *RIGHTS["replica_keys"]]
    return f"{NOBODY}\n{commands}{lines({'~': keys, '&': places(KINDS, 'channels')})}"


def of_one(each: State) -> str:
    keys, channels = (places([each], sort) for sort in ("keys", "channels"))
    commands = [*(LISTENING if channels else []), *scripts(each)]
    return f"{each.rights}\n" + lines({"+": commands, "~": keys, "&": channels})


def every_client() -> str:
    commands = [command for command in RIGHTS["connection"] if command not in LISTENING + OF_A_DATABASE + OF_REPLICAS]
    return f"every client\n{lines({'+': commands})}"


def of_replicas() -> str:
    return "the option replicas\n" + lines({"+": ["set", *OF_REPLICAS], "~": RIGHTS["replica_keys"]})


def block(text: str) -> str:
    return f"```text\n{text}```\n"


def parts() -> list[Part]:
    kinds = "".join(of_one(each) for each in KINDS)
    of_each = every_client() + kinds + of_replicas()
    return [Part(PAGE, block(everything()), "access"), Part(PAGE, block(of_each), "access-of-each")]
