"""One server, and workers that stay for the whole run: a process of each language that waits, and one that is waited for."""

pytest_plugins = ["interop_fixtures"]
