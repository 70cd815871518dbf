"""Enqueues jobs of RQ and runs its worker until the queues are empty. Usage: rq_program.py <socket>"""

import logging
import sys
from datetime import datetime, timedelta

import redis
import rq_jobs
from rq import Queue, Retry, Worker
from rq.job import Dependency, Job
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry

db = redis.Redis(unix_socket_path=sys.argv[1])
queue = Queue("usual", connection=db)
urgent = Queue("urgent", connection=db)


def show(subject, *values):
    print(subject, *(repr(value) for value in values), flush=True)


def work(**options):
    """Runs a worker, which forks a process for each job, until the queues are empty."""
    return Worker([urgent, queue], connection=db).work(burst=True, logging_level=logging.CRITICAL, **options)


def result_of(job):
    job.refresh()
    return job.get_status(), job.result


db.flushall()

print("== jobs", flush=True)
sums = [queue.enqueue(rq_jobs.add, n, n) for n in range(5)]
first = urgent.enqueue(rq_jobs.add, "urgent", "!")
show("queued", len(queue), queue.job_ids == [job.id for job in sums], sums[0].get_status())
show("worked", work(), len(queue), [result_of(job) for job in sums + [first]])
show("order", first.started_at < sums[0].started_at)
show("finished", FinishedJobRegistry(queue=queue).count)

print("== dependencies", flush=True)
parents = [queue.enqueue(rq_jobs.add, n, 10) for n in range(3)]
child = queue.enqueue(rq_jobs.sum_of_dependencies, depends_on=Dependency(jobs=parents))
show("deferred", child.get_status(), work(), result_of(child))

print("== failures", flush=True)
failing = queue.enqueue(rq_jobs.fail, "no stock")
work()
show("failed", result_of(failing), failing.exc_info.splitlines()[-1], FailedJobRegistry(queue=queue).count)
show("requeued", failing.requeue().get_status(), work(), result_of(failing)[0])
retried = queue.enqueue(rq_jobs.fail_once, retry=Retry(max=2))
show("retried", work(), result_of(retried), retried.retries_left)

print("== schedule", flush=True)
due = queue.enqueue_at(datetime.now() - timedelta(seconds=1), rq_jobs.add, 1, 2)
later = queue.enqueue_in(timedelta(hours=1), rq_jobs.add, 3, 4)
show("scheduled", due.get_status(), ScheduledJobRegistry(queue=queue).count)
work(with_scheduler=True)
show("due", result_of(due), result_of(later), ScheduledJobRegistry(queue=queue).get_job_ids() == [later.id])

print("== administration", flush=True)
later.cancel()
show("cancelled", later.get_status(), ScheduledJobRegistry(queue=queue).count)
show("fetched", Job.fetch(due.id, connection=db).result, Worker.count(connection=db))
show("emptied", queue.enqueue(rq_jobs.add, 1, 2).get_status(), queue.empty(), len(queue))
show("queues", sorted(one.name for one in Queue.all(connection=db)))
