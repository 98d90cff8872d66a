"""Fixtures of the client matrix and of interchange: one broker for all tests that leave it alone, topics of their own, input files."""

import pathlib
import sys
import uuid

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "frames"), str(HERE / "lib")]

from harness import broker as brokers  # noqa: E402
from harness import files, places  # noqa: E402


def lend(name, failed):
    """A running broker; after a failure its folder stays and the end of its log is shown."""
    running = brokers.Broker(name).start()
    try:
        yield running
    finally:
        if failed():
            print(f"the broker's folder is kept: {running.folder}\n{running.log_tail()}")
        running.stop()
        if not failed():
            places.discard(running.folder)


@pytest.fixture(scope="session")
def broker(request):
    """The shared broker. A test that stops, kills or reconfigures takes `own_broker` instead."""
    yield from lend("matrix", lambda: request.session.testsfailed > 0)


@pytest.fixture
def own_broker(request):
    """A broker for this test alone."""
    before = request.session.testsfailed
    yield from lend("own", lambda: request.session.testsfailed > before)


@pytest.fixture
def name():
    """A topic or group name that nobody else uses."""
    return "matrix-" + uuid.uuid4().hex[:10]


@pytest.fixture(scope="session")
def folder():
    made = places.scratch("files")
    yield made
    places.discard(made)


@pytest.fixture(scope="session")
def text_file(folder):
    return files.text_lines(folder)


@pytest.fixture(scope="session")
def binary_file(folder):
    return files.binary_file(folder)


def pytest_addoption(parser):
    parser.addoption("--clients", choices=["newest", "oldest"], default="newest",
                     help="which list of releases this virtual environment was made from")


@pytest.fixture
def wanted_release(request):
    """Looks a package up in the list of releases, so that a test can show that it ran what it says."""
    file = places.ROOT / "tests" / "lib" / f"requirements-{request.config.getoption('clients')}.txt"
    pinned = dict(line.split("==") for line in file.read_text().splitlines() if "==" in line)
    return pinned.__getitem__
