"""Functions that the jobs of rq_program.py call."""

from rq import get_current_job


def add(a, b):
    return a + b


def fail(reason):
    raise ValueError(reason)


def fail_once():
    """Fails in its first run, and returns the number of the second one."""
    job = get_current_job()
    runs = job.connection.incr(f"runs:{job.id}")
    if runs == 1:
        raise ValueError("the first run fails")
    return runs


def sum_of_dependencies():
    return sum(job.result for job in get_current_job().fetch_dependencies())
