"""Apache Kafka's own programs, each run as itself in a JVM of its own."""

import subprocess

from . import places

PACKAGE = "org.apache.kafka.tools."
CLASSES = {
    "broker-api-versions": "BrokerApiVersionsCommand",
    "cluster": "ClusterTool",
    "configs": "ConfigCommand",
    "console-consumer": "consumer.ConsoleConsumer",
    "console-producer": "ConsoleProducer",
    "consumer-groups": "consumer.group.ConsumerGroupCommand",
    "consumer-perf-test": "ConsumerPerformance",
    "delete-records": "DeleteRecordsCommand",
    "dump-log": "DumpLogSegments",
    "get-offsets": "GetOffsetShell",
    "log-dirs": "LogDirsCommand",
    "producer-perf-test": "ProducerPerformance",
    "topics": "TopicCommand",
    "verifiable-consumer": "VerifiableConsumer",
    "verifiable-producer": "VerifiableProducer",
}
# A short-lived program gains nothing from the optimising compiler or from several collector threads.
SHORT_LIVED = ["-Xmx512M", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.awt.headless=true"]
LONG_LIVED = ["-Xmx512M", "-Djava.awt.headless=true"]


def command(name, *arguments, jvm=None):
    """The command line of a tool; a name with a dot or unknown to the table is a class of ours in target/test-classes."""
    kind = PACKAGE + CLASSES[name] if name in CLASSES else name
    classpath = f"{places.kafka_jars()}/*:{places.TARGET}/test-classes"
    return ["java", *(jvm or SHORT_LIVED), "-cp", classpath, kind, *map(str, arguments)]


def run(name, *arguments, stdin=None, check=True, seconds=120, jvm=None):
    """Runs a tool to its end and returns the finished process, output as bytes."""
    done = subprocess.run(command(name, *arguments, jvm=jvm), input=stdin, capture_output=True, timeout=seconds)
    if check and done.returncode:
        raise AssertionError(f"kafka-{name} {' '.join(map(str, arguments))} ended with {done.returncode}:\n"
                             f"{done.stdout.decode(errors='replace')[-3000:]}\n{done.stderr.decode(errors='replace')[-3000:]}")
    return done


def text(name, *arguments, **options):
    """What a tool prints on standard output."""
    return run(name, *arguments, **options).stdout.decode()
