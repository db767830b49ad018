"""Reads the facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def read(name: str) -> dict[str, Any]:
    """The tables of `api/NAME.json`."""
    tables: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return tables
