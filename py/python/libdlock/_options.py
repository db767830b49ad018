"""The options that `connect` takes, for type checkers and for the one thing Python decides: which of them are durations."""

from __future__ import annotations

from typing import Literal, TypedDict

from ._convert import Seconds


class Options(TypedDict, total=False):
    """Names and types as in `tests/vectors/options.json`; defaults and limits are the core's. Durations are seconds."""

    connect_timeout: Seconds
    response_timeout: Seconds
    operation_timeout: Seconds
    lease: Seconds
    poll_interval: Seconds
    queue_poll_interval: Seconds
    ping_interval: Seconds
    token_ttl: Seconds | Literal["none"]
    reentrant: bool
    strict_fifo: bool
    cohort_max: int
    cohort_age: Seconds
    blocking_connections: int
    runtime_threads: int
    key_prefix: str
    user: str
    password: str
    db: int
    client_name: str
    # Two more ways to give the password, which have no default to stand in the vectors.
    password_env: str
    password_file: str


DURATIONS = frozenset(
    name for name, annotation in Options.__annotations__.items() if "Seconds" in str(annotation)
)
