"""Which primitives can be used from which language, as api/primitives.json says."""

from __future__ import annotations

import sys
from pathlib import Path

# Behind ours: it has modules of the same names.
sys.path.append(str(Path(__file__).resolve().parents[2] / "api"))
from primitives import PRIMITIVES

#: By their names in tests; the folder in docs/ of each, which is its name in api/primitives.json.
FOLDERS = {"Rust": "rust", "C++": "c", "Python": "python", "asyncio": "python", "Node": "node", "Java": "java"}
_USABLE = {each.underscored: each.languages for each in PRIMITIVES}


def has(language: str, primitive: str) -> bool:
    """Whether it has that primitive, named without hyphens. What is no primitive is not asked for: every language has it."""
    return FOLDERS[language] in _USABLE.get(primitive, FOLDERS.values())
