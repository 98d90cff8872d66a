"""A member of a consumer group that keeps reading, as a thread or as a program, whatever the client; each client's test says how."""

import subprocess
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

    def close(self):
        self.consumer.close()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.read_some()
            self.close()
        except Exception as failure:  # shown by leave()
            self.failure = failure

    def leave(self):
        self.stopping.set()
        self.join(30)
        assert self.failure is None, self.failure
        assert not self.is_alive()


class Program:
    """The same of a program that ends in order at SIGTERM; what it says goes to files. A test's own class gives `assigned` and `values`."""

    def __init__(self, command, folder, name):
        self.output, self.errors = folder / f"{name}.out", folder / f"{name}.err"
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)

    def leave(self):
        assert self.process.poll() is None, f"it has ended by itself: {self.errors.read_text(errors='replace')[-2000:]}"
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
