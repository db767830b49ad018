"""The application of axum, as cargo builds it."""

from __future__ import annotations

import crates
from apps import App

APPS = [App("axum", [str(crates.folder() / "axum-example")], crates.build_command("axum-example"))]
