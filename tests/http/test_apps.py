"""Every example application is tested."""

from __future__ import annotations

from apps import ROOT, apps


def test_each_folder_of_examples_is_an_application_of_the_tests() -> None:
    folders = {path.name for path in (ROOT / "examples" / "frameworks").iterdir() if path.is_dir()}
    names = [app.name for app in apps()]
    assert set(names) == folders
    assert len(names) == len(folders)
