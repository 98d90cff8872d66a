"""Where things lie: the repository, what was installed into target/, and folders made for one test."""

import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("KLAMM_TEST_TARGET", ROOT / "target"))
DATA = ROOT / "tests" / "data"


def kafka_jars():
    """The folder of Apache Kafka's jars, put there by `tests/lib/install jars`."""
    folder = pathlib.Path(os.environ.get("KLAMM_KAFKA_JARS", TARGET / "kafka-jars"))
    if not any(folder.glob("kafka_2.13-*.jar")):
        raise SystemExit(f"no Kafka jars in {folder}: run tests/lib/install jars")
    return folder


def klamm_binary():
    """The broker under test: KLAMM_BINARY, or the release build."""
    binary = pathlib.Path(os.environ.get("KLAMM_BINARY", TARGET / "release" / "klamm"))
    if not os.access(binary, os.X_OK):
        raise SystemExit(f"no broker at {binary}: cargo build --release, or set KLAMM_BINARY")
    return binary


def scratch(name):
    """A new empty folder below target/test-scratch, on the same disk as the repository."""
    parent = TARGET / "test-scratch"
    parent.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=parent))


def discard(folder):
    """Removes a scratch folder, unless KLAMM_KEEP is set."""
    if not os.environ.get("KLAMM_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)


def enter_virtualenv(age="newest"):
    """Runs the calling program again on the Python of target/venv, where the client libraries are."""
    home = TARGET / "venv" / age
    if pathlib.Path(sys.prefix) == home:
        return
    python = home / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"no {python}: run tests/lib/install python")
    os.execv(python, [str(python), *sys.argv])
