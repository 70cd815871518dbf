"""The Celery application of celery_program.py. Its server is at the socket CELERY_SOCKET."""

import os

from celery import Celery

URL = "redis+socket://" + os.environ["CELERY_SOCKET"]
app = Celery("jobs", broker=URL, backend=URL)
app.conf.update(
    worker_hijack_root_logger=False,
    result_expires=1_000,
    task_track_started=True,
    worker_prefetch_multiplier=1,
    broker_transport_options={"polling_interval": 0.1},
)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def fail(reason):
    raise ValueError(reason)


@app.task(bind=True, max_retries=3)
def fail_twice(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries
