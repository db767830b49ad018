"""The application of axum, as cargo builds it."""

from __future__ import annotations

import os

from apps import ROOT, App

TARGET = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))

APPS = [
    App("axum", [f"{TARGET}/debug/axum-example"], ["cargo", "build", "--quiet", "--locked", "--package", "axum-example"])
]
