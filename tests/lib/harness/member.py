"""A consumer of a group in a thread of its own that keeps polling, whatever its library; each library's test says how to poll."""

import threading


class Member(threading.Thread):
    """What it was assigned, what it has read, and how it leaves. A test's own class gives `read_some`."""

    def __init__(self, consumer):
        super().__init__(daemon=True)
        self.consumer = consumer
        self.assigned, self.values, self.stopping, self.failure = set(), [], threading.Event(), None

    def read_some(self):
        """Polls once, and keeps values and assignment."""
        raise NotImplementedError

    def run(self):
        try:
            while not self.stopping.is_set():
                self.read_some()
            self.consumer.close()
        except Exception as failure:  # shown by leave()
            self.failure = failure

    def leave(self):
        self.stopping.set()
        self.join(30)
        assert self.failure is None, self.failure
        assert not self.is_alive()
