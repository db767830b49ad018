"""What the scenarios of TLS meet: servers with all kinds of certificates, and what clients show."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import helpers  # noqa: F401  scripts/ is on the path from there on
from certificates import Authority, Certificate, WithTls

PAST = {"FROM": "20200101000000Z", "TO": "20200201000000Z"}
FUTURE = {"FROM": "20900101000000Z", "TO": "20910101000000Z"}


class TlsServers:
    """Started when a scenario first names one of them, and kept."""

    def __init__(self, plain: int) -> None:
        """`plain` is the port of a server without TLS."""
        self._plain = plain
        self._open = ExitStack()

    @cached_property
    def values(self) -> dict[str, str]:
        """What a scenario may name, as `$tls.server`: URLs of servers, and files."""
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="libdlock-tls-")))
        ours, others = Authority(folder / "ours"), Authority(folder / "others")
        client, stranger = ours.issue("client"), others.issue("stranger")

        def url(shows: Certificate, clients: str = "no") -> str:
            return self._open.enter_context(WithTls(ours, shows, clients)).tls_url

        shows = ours.issue("server")
        server = url(shows)
        nothing = folder / "nothing.pem"
        nothing.touch()
        values: dict[str, str | Path] = {
            "server": server,
            "plainly": server.replace("rediss://", "redis://"),
            "wants": url(shows, clients="yes"),
            "expired": url(ours.issue("expired", **PAST)),
            "early": url(ours.issue("early", **FUTURE)),
            "named": url(ours.issue("named", NAMES="DNS:db.example")),
            "none": f"rediss://127.0.0.1:{self._plain}",
            "ca": ours.file,
            "other_ca": others.file,
            "cert": client.cert,
            "key": client.key,
            "other_cert": stranger.cert,
            "other_key": stranger.key,
            "nothing": nothing,
            "missing": folder / "missing.pem",
        }
        return {f"tls.{name}": str(value) for name, value in values.items()}

    def end(self) -> None:
        """No server is left, and no file."""
        self._open.close()
