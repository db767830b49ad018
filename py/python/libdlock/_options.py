"""The options that `connect` takes, for type checkers and for the one thing Python decides: which of them are durations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, get_type_hints

from ._convert import Seconds, option_texts

Absent: TypeAlias = Literal["fail", "deny", "allow", "local_share"]
"""What a limiter answers while its server cannot be reached."""

_F = TypeVar("_F", bound=Callable[..., Any])


# <api:groups> written by `python3 api/write.py` from api/options.json
class LockDefaults(TypedDict, total=False):
    """What holds for every lock of the client: `connect(url, lock={...})`."""

    token_ttl: Seconds | Literal["none"]
    reentrant: bool
    strict_fifo: bool
    cohort_max: int
    cohort_age: Seconds


# </api:groups>


class Options(TypedDict, total=False):
    """Names and types as in `api/options.json`; defaults and limits are the core's. Durations are seconds."""

    # <api:options> written by `python3 api/write.py` from api/options.json
    connect_timeout: Seconds
    connect_wait: Seconds
    lazy_connect: bool
    response_timeout: Seconds
    operation_timeout: Seconds
    lease: Seconds
    clock_drift: int
    poll_interval: Seconds
    queue_poll_interval: Seconds
    ping_interval: Seconds
    token_ttl: Seconds | Literal["none"]
    reentrant: bool
    strict_fifo: bool
    cohort_max: int
    cohort_age: Seconds
    blocking_connections: int
    replicas: int
    replica_timeout: Seconds
    runtime_threads: int
    key_prefix: str
    user: str
    password: str
    sentinel_user: str
    sentinel_password: str
    db: int
    tls_ca_file: str
    tls_cert_file: str
    tls_key_file: str
    tls_server_name: str
    tls_danger_accept_any_certificate: bool
    longest_lease: Seconds
    data_survives: bool
    client_name: str
    password_env: str
    password_file: str
    sentinel_password_env: str
    sentinel_password_file: str
    lock: LockDefaults
    # </api:options>


# <api:group-names> written by `python3 api/write.py` from api/options.json
GROUPS: dict[str, type] = {"lock": LockDefaults}
# </api:group-names>

DURATIONS = frozenset(
    name for name, annotation in Options.__annotations__.items() if "Seconds" in str(annotation)
)


def texts_of(options: Mapping[str, object]) -> list[tuple[str, str]]:
    """The options of a `connect` as the core takes them: `lock={"cohort_max": 8}` is `lock.cohort_max`."""
    flat: dict[str, object] = {}
    for name, value in options.items():
        if name not in GROUPS or value is None:
            flat[name] = value
        elif isinstance(value, Mapping):
            flat |= {f"{name}.{member}": of for member, of in value.items()}
        else:
            raise TypeError(
                f"option {name}: {type(value).__name__} is not a mapping such as {{'cohort_max': 8}}"
            )
    return option_texts(flat, DURATIONS)


def lists_options(function: _F) -> _F:
    """Has `help`, `inspect.signature` and `typing.get_type_hints` show each option of a `connect` by its name and type."""
    hints = get_type_hints(Options)
    own = inspect.signature(function)
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, keyword, default=None, annotation=hint | None) for name, hint in hints.items()
    ]
    positional = [
        parameter for parameter in own.parameters.values() if parameter.kind != inspect.Parameter.VAR_KEYWORD
    ]
    function.__annotations__ = {
        "url": str,
        **{name: hint | None for name, hint in hints.items()},
        "return": own.return_annotation,
    }
    function.__signature__ = own.replace(parameters=[*positional, *options])  # type: ignore[attr-defined]
    names = ", ".join(f"`{name}`" for name in hints)
    function.__doc__ = f"{function.__doc__}\n    The options, which docs/python explains: {names}.\n    "
    return function
