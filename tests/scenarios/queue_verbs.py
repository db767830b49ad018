"""The verbs of queues in Python."""

from __future__ import annotations

from typing import Any

from beside import Beside
from verbs import Values, Verbs, done, seconds


def listed(jobs: list[Any]) -> Values:
    return {
        "ids": ",".join(job.id for job in jobs),
        "attempts": ",".join(str(job.attempts) for job in jobs),
        "reasons": ",".join(job.reason for job in jobs if job.reason is not None),
    }


class QueueVerbs(Verbs):
    async def queue(self, client: str, name: str, queue: str, lease_ms: str | None = None, **options: str) -> Values:
        numbers: dict[str, Any] = {option: int(value) for option, value in options.items()}
        self._things[queue] = self._clients[client].queue(name, lease=seconds(lease_ms), **numbers)
        return {}

    async def follow(self, queue: str, other: str, both: str) -> Values:
        self._things[both] = self._things[queue].followed_by(self._things[other])
        return {}

    async def job_queue(self, delivery: str) -> Values:
        return {"queue": self._things[delivery].queue}

    async def put(
        self,
        queue: str,
        payload: str,
        id: str | None = None,
        delay_ms: str | None = None,
        at_ms: str | None = None,
        priority: str = "0",
    ) -> Values:
        at, delay = seconds(at_ms), seconds(delay_ms)
        put = await done(self._things[queue].put(payload, delay=delay, at=at, id=id, priority=int(priority)))
        return {"id": put.id, "is_new": put.is_new}

    async def put_all(self, queue: str, payloads: str) -> Values:
        puts = await done(self._things[queue].put_many(payloads.split(",")))
        return {"put": sum(put.is_new for put in puts)}

    async def next(self, queue: str, delivery: str, wait_ms: str | None = None) -> Values:
        return self._came(delivery, await done(self._things[queue].take(seconds(wait_ms))))

    async def begin_next(self, queue: str, take: str, wait_ms: str | None = None) -> Values:
        self._things[take] = Beside(self._things[queue].take, seconds(wait_ms))
        return {}

    async def end_next(self, take: str, delivery: str) -> Values:
        return self._came(delivery, await self._things[take].end())

    def _came(self, name: str, delivery: Any) -> Values:
        if delivery is None:
            return {"came": False}
        self._things[name] = delivery
        values = {"payload": delivery.payload.decode(), "id": delivery.id, "attempt": delivery.attempt}
        return {"came": True, **values, "priority": delivery.priority, "token": delivery.token}

    async def do_all(self, queue: str, most: str, wait_ms: str | None = None) -> Values:
        taken = await done(self._things[queue].take_many(int(most), seconds(wait_ms)))
        for delivery in taken:
            await done(delivery.ack())
        return {"payloads": ",".join(delivery.payload.decode() for delivery in taken)}

    async def ack(self, delivery: str) -> Values:
        await done(self._things[delivery].ack())
        return {}

    async def nack(self, delivery: str, delay_ms: str | None = None, reason: str = "") -> Values:
        await done(self._things[delivery].nack(seconds(delay_ms), reason))
        return {}

    async def prolong(self, delivery: str, lease_ms: str) -> Values:
        lease = seconds(lease_ms)
        await done(self._things[delivery].extend(lease))
        return {}

    async def job_lost(self, delivery: str, wait_ms: str) -> Values:
        lost = self._things[delivery].lost
        await done(lost.wait(seconds(wait_ms)))
        return {"lost": lost.reason}

    async def jobs(self, queue: str) -> Values:
        counts = await done(self._things[queue].counts())
        names = ("ready", "delayed", "in_flight", "dead", "waiters")
        return {name: getattr(counts, name) for name in names}

    async def list_jobs(self, queue: str, most: str = "100") -> Values:
        return listed(await done(self._things[queue].peek(int(most))))

    async def list_dead(self, queue: str, most: str = "100") -> Values:
        return listed(await done(self._things[queue].dead.list(int(most))))

    async def cancel_job(self, queue: str, id: str) -> Values:
        return {"cancelled": await done(self._things[queue].cancel(id))}

    async def purge(self, queue: str) -> Values:
        return {"purged": await done(self._things[queue].purge())}

    async def requeue(self, queue: str, id: str) -> Values:
        return {"requeued": await done(self._things[queue].dead.requeue(id))}

    async def requeue_all(self, queue: str) -> Values:
        return {"requeued": await done(self._things[queue].dead.requeue_all())}

    async def remove_dead(self, queue: str, id: str) -> Values:
        return {"removed": await done(self._things[queue].dead.remove(id))}

    async def purge_dead(self, queue: str) -> Values:
        return {"purged": await done(self._things[queue].dead.purge())}
