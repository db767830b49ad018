"""A Celery application whose reports run once at a time, and whose mails go out at a limited rate. See
docs/python/operations-and-tests.md.

    celery -A celery_shop worker      # as many as you like
    python celery_shop.py             # sends tasks and prints what becomes of them
"""

import os
import time

import celery
import libdlock
from libdlock.integrations.celery import DlockTask, Limit, Once

BROKER = os.environ.get("BROKER_URL", "redis://127.0.0.1:6379/1")

app = celery.Celery("celery_shop", broker=BROKER, backend=BROKER)
app.conf.dlock_url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")


# A worker that dies in the middle loses nothing: another one gets the message, and the lock when its lease is over.
@app.task(base=DlockTask, bind=True, acks_late=True, reject_on_worker_lost=True, once=Once(key=["day"]))
def report(self: DlockTask, day: str, pages: int = 10) -> str:
    """One report for a day at a time: a second one is skipped, and its result is `None`."""
    for page in range(pages):
        if self.lost:
            raise RuntimeError(f"another worker may be at page {page} by now")
        time.sleep(0.1)
    return f"report of {day}"


@app.task(base=DlockTask, limit=Limit(libdlock.Rate(5, per=1)))
def send_mail(to: str) -> str:
    """At most five a second, by all workers together."""
    return f"mail to {to}"


if __name__ == "__main__":
    first, second = report.delay("2026-11-27"), report.delay("2026-11-27")
    mails = [send_mail.delay(f"user-{number}") for number in range(10)]
    print(sorted(str(each.get(timeout=60)) for each in (first, second)))
    print(len({mail.get(timeout=60) for mail in mails}), "mails")
