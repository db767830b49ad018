"""One server, and workers that stay for the whole run: a process of each language that waits, and one that is waited for."""

import pytest

pytest_plugins = ["interop_fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--handovers", type=int, default=400, help="how many hand-overs the tests of order make")
    parser.addoption("--losses", type=int, default=10, help="how many locks each language loses")
    parser.addoption("--rounds", type=int, default=10, help="how often each pair of languages hands over")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "repeated: does as much as these options say, and more of it in `make check-long`")
