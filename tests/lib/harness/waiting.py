"""Waiting for a condition, never for an amount of time."""

import time


class Overdue(AssertionError):
    """A condition did not come true before its deadline."""


def until(what, condition, seconds=30.0, pause=0.02):
    """Returns the first truthy value of `condition()`; raises Overdue, naming `what`, once `seconds` are over."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Overdue(f"{what}: not within {seconds} s")
        time.sleep(pause)
