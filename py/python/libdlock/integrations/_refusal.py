"""Requests that do not reach their handler, and what is answered in its place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

from .._decision import Decision
from .._errors import Closed, DlockError, InvalidName, Unavailable
from ._fields import RETRY_AFTER, Fields, Policy, retry_after

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Granted:
    """A request that its handler gets, and the fields that are added to the answer."""

    fields: Fields = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that its handler does not get. A function `on_refused` is given it."""

    status: int
    """429; 503 if the server could not be asked; 400 if the key is one that no name may be."""
    detail: str
    """Why, in one sentence that may be shown to whoever sent the request."""
    fields: Fields
    """The fields that are added to the answer, whoever writes it."""
    decision: Decision | None = None
    """What the limiter decided; `None` if it could not."""
    error: DlockError | None = None
    """Why it could not; `None` if it could."""

    @property
    def body(self) -> bytes:
        """The problem, as RFC 9457 describes it: JSON of the type `application/problem+json`."""
        title = HTTPStatus(self.status).phrase
        problem = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        return json.dumps(problem, separators=(",", ":")).encode()


def decided(decision: Decision, policy: Policy) -> Granted | Refusal:
    """What a decision means for its request."""
    fields = policy.of(decision)
    if decision.allowed:
        return Granted(fields)
    wait = retry_after(decision)
    again = "this request can never be granted" if wait is None else f"try again in {wait} s"
    return Refusal(429, f"rate limit reached; {again}", fields, decision=decision)


def undecided(error: DlockError, policy: Policy | None) -> Refusal:
    """What it means that there was no decision. An error that is the program's own is raised."""
    if isinstance(error, (Unavailable, Closed)):
        fields = (*(policy.alone if policy else ()), (RETRY_AFTER, "1"))
        return Refusal(503, "the rate limit cannot be decided now; try again in 1 s", fields, error=error)
    if isinstance(error, InvalidName) and policy is not None:  # the limiter's own name was accepted
        why = "the key of the rate limit is too long, or has characters that it may not have"
        return Refusal(400, why, (), error=error)
    raise error
