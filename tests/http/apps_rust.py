"""The application of axum, as cargo builds it for development."""

from __future__ import annotations

import os

from apps import ROOT, App

_PROGRAM = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "axum-example"

APPS = [App("axum", [str(_PROGRAM)], ["cargo", "build", "--quiet", "--locked", "--package", "axum-example"])]
