"""The rate limiter for threads."""

from __future__ import annotations

from . import _native
from ._convert import DO_NOT_WAIT, Seconds, optional_ms
from ._decision import Decision, NamedLimiter, cost_given
from ._greenlets import ask


class RateLimiter(NamedLimiter):
    """A rate limit of one name, made by `Client.rate_limiter` and shared by all that any process makes of that name.

    It is judged by the server's clock. A decision is never asked for twice: one whose reply was lost raises `OutcomeUnknown`
    and counts as spent. May be shared between threads.
    """

    _label = "libdlock.RateLimiter"

    def try_acquire(self, cost: int = 1) -> Decision:
        """Takes `cost` tokens if they are there now. A refusal is a decision, not an exception.

        `InvalidArgument` for a cost above the burst, which could never be granted.
        """
        return self._ask(cost, DO_NOT_WAIT)

    def acquire(self, cost: int = 1, wait: Seconds | None = None) -> Decision:
        """Takes `cost` tokens, waiting for them `wait` seconds at most (`None`: for ever, 0: not at all).

        All waiters, in all processes, are served in the order in which their requests reach the server; a wait that cannot
        be long enough is refused at once. A cost of 0 asks how things stand, as `peek`, and never waits. Ctrl-C gives the
        tokens back, unless the decision was under way: it may have spent them then.
        """
        return self._ask(cost, optional_ms(wait, "wait", op="rate limit", name=self._name))

    def peek(self) -> Decision:
        """How things stand for one token, without spending any."""
        return self._ask(0, DO_NOT_WAIT)

    def reset(self) -> None:
        """Fills the bucket, for everybody. For operators and tests."""
        ask(_native.limiter_reset, _native.submit_limiter_reset, self._number)

    def _ask(self, cost: int, wait: int | None) -> Decision:
        cost = cost_given(cost, self._name)
        submit = _native.submit_limiter_acquire
        return Decision(*ask(_native.limiter_acquire, submit, self._number, cost, wait))
