"""What clients count, for OpenTelemetry.

    collect_stats(client, name="orders")

before or after the program has set its meter provider. The instruments are observable: each reader asks for them when it
exports, and between exports they cost nothing.

There is no observable histogram in OpenTelemetry, and to record each time in an ordinary one would cost Python's part of
each call. So three counters take its place: `.count`, `.sum`, and `.bucket` with the attribute `le`, which count as the
histograms of Prometheus do.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf

from opentelemetry.metrics import CallbackOptions, Meter, Observation, get_meter

from ._metrics import GAUGES, WHAT, Counts, Seen, Sources, upper_bounds

__all__ = ["Counts", "collect_stats"]

_lock = threading.Lock()
_sources: weakref.WeakKeyDictionary[Meter, Sources] = weakref.WeakKeyDictionary()
_Callback = Callable[[CallbackOptions], Iterable[Observation]]


def collect_stats(
    client: Counts, *, name: str = "libdlock", meter: Meter | None = None
) -> Callable[[], None]:
    """Exports what a client counts through a meter: the global provider's for `libdlock` unless given. Attributes are
    `client`, the name, and `kind`, what it is about: `lock`, `rate-limiter` and so on. Kinds that the client has not used
    are left out.

    Returns a function that ends it. It ends by itself when the client is garbage; one that is closed is exported as it was,
    until another takes its name. `ValueError` when an open client has the name.
    """
    sources = _sources_of(_default() if meter is None else meter)
    sources.add(name, client)
    kept = weakref.ref(client)

    def end() -> None:
        client = kept()
        if client is not None:
            sources.remove(name, client)

    return end


_default_meter: list[Meter] = []


def _default() -> Meter:
    """One for all: a provider makes a new one for each call."""
    with _lock:
        if not _default_meter:
            _default_meter.append(get_meter("libdlock"))
        return _default_meter[0]


def _sources_of(meter: Meter) -> Sources:
    with _lock:
        sources = _sources.get(meter)
        if sources is None:
            _sources[meter] = sources = Sources()
            _instruments(meter, sources)
        return sources


def _instruments(meter: Meter, sources: Sources) -> None:
    for field, what in WHAT.items():
        named = f"dlock.client.{field.removesuffix('_time')}"
        if field.endswith("_time"):
            counters = [("count", "{call}", _counts), ("sum", "s", _sums), ("bucket", "{call}", _buckets)]
            for part, unit, observe in counters:
                callback = partial(_observed, sources, field, observe)
                meter.create_observable_counter(f"{named}.{part}", [callback], unit, what)
        elif field in GAUGES:
            callback = partial(_observed, sources, field, _value)
            meter.create_observable_up_down_counter(named, [callback], description=what)
        else:
            callback = partial(_observed, sources, field, _value)
            meter.create_observable_counter(named, [callback], description=what)


def _observed(
    sources: Sources,
    field: str,
    observe: Callable[[Seen, str, dict[str, str]], Sequence[Observation]],
    options: CallbackOptions,
) -> Iterable[Observation]:
    for each in sources.seen():
        if each.get(field) is not None:
            attributes = {"client": each.client}
            if each.kind is not None:
                attributes["kind"] = each.kind
            yield from observe(each, field, attributes)


def _value(seen: Seen, field: str, attributes: dict[str, str]) -> list[Observation]:
    return [Observation(seen.get(field), attributes)]


def _counts(seen: Seen, field: str, attributes: dict[str, str]) -> list[Observation]:
    return [Observation(seen.get(field).count, attributes)]


def _sums(seen: Seen, field: str, attributes: dict[str, str]) -> list[Observation]:
    return [Observation(seen.get(field).sum, attributes)]


def _buckets(seen: Seen, field: str, attributes: dict[str, str]) -> list[Observation]:
    return [
        Observation(count, {**attributes, "le": "+Inf" if bound == inf else repr(bound)})
        for bound, count in upper_bounds(seen.get(field))
    ]
