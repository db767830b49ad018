"""Every example application is tested."""

from __future__ import annotations

from apps import ROOT, apps

#: Those that serve no HTTP, with what tests them.
ELSEWHERE = {"celery": "py/tests/test_celery_workers.py"}


def test_each_folder_of_examples_is_an_application_of_the_tests() -> None:
    folders = {path.name for path in (ROOT / "examples" / "frameworks").iterdir() if path.is_dir()}
    names = [app.name for app in apps()]
    assert sorted([*names, *ELSEWHERE]) == sorted(folders)


def test_what_serves_no_http_is_started_by_the_tests_that_are_named() -> None:
    for name, tests in ELSEWHERE.items():
        assert f'"frameworks" / "{name}"' in (ROOT / tests).read_text()
