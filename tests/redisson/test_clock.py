"""What every comparison of times between the processes rests on."""

from __future__ import annotations

from redisson import Peer
from sides import now_us


def test_the_jvm_reads_the_clock_that_we_read(peer: Peer) -> None:
    before = now_us()
    _, theirs = peer.ask("clock")
    assert before <= int(theirs) <= now_us()
