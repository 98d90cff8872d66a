"""Fixtures of the client matrix: one broker for all tests that leave it alone, topics of their own, input files."""

import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from harness import broker as brokers  # noqa: E402
from harness import files, places  # noqa: E402


@pytest.fixture(scope="session")
def broker():
    """The shared broker. A test that stops, kills or reconfigures takes `own_broker` instead."""
    with brokers.Broker("matrix") as running:
        yield running


@pytest.fixture
def own_broker():
    """A broker for this test alone."""
    with brokers.Broker("own") as running:
        yield running


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
