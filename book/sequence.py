"""The life of a contended lock as a sequence diagram."""

from __future__ import annotations

from dataclasses import dataclass

from svg import Picture, wide, wrapped

#: Who takes part, and where.
A, SERVER, B, C, RESOURCE = range(5)
NAMES = ["process A", "server", "process B", "process C", "resource"]
WIDTH, EDGE, STEP = 760, 70, 155


@dataclass(frozen=True)
class Call:
    """A request, and what is answered."""

    caller: int
    callee: int
    asks: str
    answer: str
    good: bool = True


@dataclass(frozen=True)
class Message:
    """What the server sends without being asked."""

    to: int
    says: str


@dataclass(frozen=True)
class Note:
    """What happens in one place, or as time goes by."""

    where: int
    text: str
    colour: str = "faint"


@dataclass(frozen=True)
class Hold:
    """From here on, or no more, a process holds the lock."""

    who: int
    begins: bool


Event = Call | Message | Note | Hold
EVENTS: list[Event] = [
    Call(A, SERVER, "acquire", "granted, token 101"),
    Hold(A, True),
    Call(B, SERVER, "acquire", "busy, B is head", good=False),
    Call(C, SERVER, "acquire", "busy, C is next", good=False),
    Note(B, "B and C sleep until a message or a timer wakes them"),
    Call(A, SERVER, "renew, each 10 s", "30 s again"),
    Call(A, RESOURCE, "write, token 101", "accepted"),
    Call(A, SERVER, "release", "freed"),
    Hold(A, False),
    Message(B, "free"),
    Call(B, SERVER, "acquire", "granted, token 102"),
    Hold(B, True),
    Message(C, "next"),
    Note(B, "B is cut off from the server: no renewal gets through", "bad"),
    Note(B, "the lost signal: B must stop", "bad"),
    Hold(B, False),
    Note(SERVER, "only now B's lease ends"),
    Call(C, SERVER, "acquire, by its timer", "granted, token 103"),
    Hold(C, True),
    Call(C, RESOURCE, "write, token 103", "accepted"),
    Call(B, RESOURCE, "late write, token 102", "refused: 103 was seen", good=False),
    Call(C, SERVER, "release", "freed"),
    Hold(C, False),
]


def x_of(who: int) -> float:
    return EDGE + who * STEP


def label(picture: Picture, left: float, right: float, y: float, text: str, colour: str = "text") -> None:
    """Above a line, on the background, so that life lines do not run through it."""
    middle = (left + right) / 2
    width = wide(text, 12) + 4
    picture.box(middle - width / 2, y - 15, width, 13, fill="paper", edge="", r=0)
    picture.text(middle, y - 5, text, 12, colour, "middle")


def draw() -> str:
    """The picture."""
    picture = Picture(WIDTH, "The life of a contended lock: acquire, wait in the queue, hand over, lose, be refused")
    top, y = 46.0, 60.0
    body = Picture(WIDTH, "")
    begun: dict[int, float] = {}
    holds: list[tuple[int, float, float]] = []
    for event in EVENTS:
        match event:
            case Call(caller, callee, asks, answer, good):
                y += 24
                step = STEP if callee > caller else -STEP
                body.arrow(x_of(caller), x_of(callee), y)
                label(body, x_of(caller), x_of(caller) + step, y, asks)
                y += 23
                body.arrow(x_of(callee), x_of(caller), y, "good" if good else "bad", "4 3")
                label(body, x_of(callee), x_of(callee) - step, y, answer, "good" if good else "bad")
                y += 8
            case Message(to, says):
                y += 24
                body.arrow(x_of(SERVER), x_of(to), y, "d")
                label(body, x_of(SERVER), x_of(SERVER) + STEP, y, f"message: {says}", "d")
                y += 8
            case Note(where, text, colour):
                y += 12
                lines = wrapped(text, STEP - 12, 12)
                high = 9 + 15 * len(lines)
                body.box(x_of(where) - STEP / 2 + 2, y, STEP - 4, high, edge=colour if colour == "bad" else "edge")
                for i, line in enumerate(lines):
                    body.text(x_of(where), y + 16 + 15 * i, line, 12, colour, "middle")
                y += high + 4
            case Hold(who, begins):
                if begins:
                    begun[who] = y - 8
                else:
                    holds.append((who, begun.pop(who), y - 8))
    for who, name in enumerate(NAMES):
        picture.line(x_of(who), top, x_of(who), y + 16, "edge", "2 3")
        picture.box(x_of(who) - 52, 16, 104, 30)
        picture.text(x_of(who), 36, name, 13, anchor="middle", more="bold")
    for who, begin, end in holds:
        picture.box(x_of(who) - 5, begin, 10, end - begin, fill="a", edge="", r=2)
    picture.take(body)
    picture.box(EDGE - 52, y + 26, 10, 14, fill="a", edge="", r=2)
    picture.text(EDGE - 36, y + 37, "holds the lock, and knows that it does", 12, "faint")
    return picture.render()
