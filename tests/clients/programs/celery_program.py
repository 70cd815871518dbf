"""Sends tasks of Celery to its worker, and shows their results. Usage: celery_program.py <socket>"""

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone

os.environ["CELERY_SOCKET"] = sys.argv[1]

import redis
from celery import chain, chord, group
from celery_jobs import add, app, fail, fail_twice, total

PATIENCE = 30  # seconds


def show(subject, *values):
    print(subject, *(repr(value) for value in values), flush=True)


def result_of(sent):
    return sent.get(timeout=PATIENCE)


db = redis.Redis(unix_socket_path=sys.argv[1])
db.flushall()
early = add.delay(1, 2)  # waits for the worker
show("queued", early.status, db.llen("celery"))

worker = subprocess.Popen(
    [sys.executable, "-EsB", "-m", "celery", "--app", "celery_jobs", "--quiet", "worker", "--pool", "solo", "--without-mingle",
     "--loglevel", "CRITICAL"],
    cwd=os.path.dirname(os.path.abspath(__file__)), stdout=subprocess.DEVNULL)
try:
    show("result", result_of(early), early.status)
    show("many", result_of(group(add.s(n, n) for n in range(10))()))
    show("chain", result_of(chain(add.s(1, 2), add.s(10), add.s(100))()))
    show("chord", result_of(chord((add.s(n, 1) for n in range(5)), total.s())()))
    failed = fail.delay("no stock")
    show("failed", repr(failed.get(timeout=PATIENCE, propagate=False)), failed.status)
    show("retried", result_of(fail_twice.delay()))
    due = datetime.now(timezone.utc) + timedelta(milliseconds=200)
    show("scheduled", result_of(add.apply_async((3, 4), eta=due)), datetime.now(timezone.utc) >= due)
    show("expired", add.apply_async((1, 1), expires=datetime.now(timezone.utc) - timedelta(hours=1)).get(
        timeout=PATIENCE, propagate=False).__class__.__name__)
    show("ping", [list(reply.values()) for reply in app.control.ping(timeout=1, limit=1)])
    show("forgotten", early.forget(), early.status)
finally:
    app.control.shutdown()
    show("worker", worker.wait(PATIENCE))
show("left", db.llen("celery"), db.hlen("unacked"), db.zcard("unacked_index"))
