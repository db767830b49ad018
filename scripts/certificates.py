"""Certificates for tests and benchmarks, and a redis-server that shows one. Standard library only; openssl makes them."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from private_redis import PROGRAM, PrivateRedis, free_port

SCRIPT = Path(__file__).with_name("certificates.sh")


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates. Its folder, with all that it has issued, is its caller's to remove."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        _make("authority", folder)

    @property
    def file(self) -> Path:
        """Its own certificate: what a CA file holds."""
        return self._folder / "ca.pem"

    def issue(self, name: str, **unusual: str) -> Certificate:
        """A certificate for this machine; what is `unusual` about it has the names of scripts/certificates.sh."""
        folder = self._folder / name
        _make("issue", self._folder, folder, name, **unusual)
        return Certificate(folder / f"{name}.pem", folder / f"{name}.key")


def _make(*words: str | Path, **unusual: str) -> None:
    done = subprocess.run([SCRIPT, *words], env=os.environ | unusual, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr


@functools.cache
def program_with_tls() -> str:
    """The server that the tests start if it can speak TLS, which not every build can; else the redis-server of the PATH."""
    told = subprocess.run([PROGRAM, "--port", "0", "--tls-port", "1"], capture_output=True, text=True, check=False).stdout
    # It lacks a certificate and ends. A build without TLS does not come so far.
    return PROGRAM if "Failed to configure TLS" in told else "redis-server"


class WithTls(PrivateRedis):
    """Speaks TLS as well, on a port of its own: a mixin for any of the private servers."""

    def __init__(self, authority: Authority, shows: Certificate, clients: str = "no") -> None:
        """`clients` says which of them need a certificate of that authority, in the server's words: yes, no, optional."""
        super().__init__()
        self.program = program_with_tls()
        self.authority = authority
        self._files = {"cert": shows.cert, "key": shows.key, "ca-cert": authority.file}
        self._clients = clients

    def __enter__(self) -> WithTls:
        super().__enter__()
        return self

    def _start(self) -> bool:
        # Like the other port, with the other tries, if somebody else takes it.
        self.tls_port = free_port()
        files = [word for what, path in self._files.items() for word in (f"--tls-{what}-file", str(path))]
        self.more = ("--tls-port", str(self.tls_port), "--tls-auth-clients", self._clients, *files)
        return super()._start()

    @property
    def tls_url(self) -> str:
        """Where it speaks TLS; the options of the client are still to be given."""
        return f"rediss://127.0.0.1:{self.tls_port}/0"
