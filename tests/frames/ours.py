"""Where Klamm may or must answer otherwise than Kafka 4.4. `second` gives the expectation and the reason, or None."""

import copy

UNKNOWN_SERVER_ERROR = -1


def null_records(case, outcome):
    """Kafka 4.4 never answers a Produce request whose records are null, and the connection is stuck for good."""
    topic = case["topic"]
    partition = {"index": 0, "error_code": 87, "base_offset": -1, "log_append_time_ms": -1}
    body = {"responses": [{"name": topic, "partition_responses": [partition]}], "throttle_time_ms": 0}
    return {"answers": [{"correlation": 1, "api": "Produce v3", "body": body}], "end": "open",
            "why": "A request that is never answered stops its connection for good; null records are invalid records (87)."}


def both_answered(case, outcome):
    """Kafka 4.4 appends one of two batches for one partition, and says nothing of the other."""
    changed = copy.deepcopy(outcome)
    responses = changed["answers"][0]["body"]["responses"]
    if case["name"] == "the same partition twice":
        partitions = responses[0]["partition_responses"]
        partitions.append({**partitions[0], "base_offset": 3})
    else:
        again = copy.deepcopy(responses[0])
        again["partition_responses"][0]["base_offset"] = 3
        responses.append(again)
    return {**changed, "why": "A batch that is dropped must not look as if it was appended: both are, and both are answered."}


def rubbish_refused(outcome):
    """Kafka 4.4 stores what stands behind a gzip member; only Java's reader steps over it."""
    changed = copy.deepcopy(outcome)
    partition = changed["answers"][0]["body"]["responses"][0]["partition_responses"][0]
    partition.update({"error_code": 87, "base_offset": -1, "error_message": "<error_message>"})
    return {**changed, "why": "A batch with rubbish behind its gzip member is one that consumers not in Java cannot read (87)."}


def explained(value):
    """The outcome with a text allowed beside every error of a partition that Kafka leaves without; whether there was one."""
    if isinstance(value, dict):
        found = value.get("error_code", 0) != 0 and value.get("error_message", "") is None
        if found:
            value["error_message"] = {"one of": [None, "<error_message>"]}
        return any([explained(one) for one in value.values()]) or found
    return any([explained(one) for one in value]) if isinstance(value, list) else False


def named(value, allowed):
    """The outcome with every error -1 replaced by a choice, and the choice's text left open; None if there is no -1."""
    found = False
    if isinstance(value, dict):
        if value.get("error_code") == UNKNOWN_SERVER_ERROR:
            value["error_code"], found = {"one of": allowed}, True
            if "log_start_offset" in value:
                value["log_start_offset"] = {"one of": [-1, value["log_start_offset"]]}
            if "error_message" in value:
                value["error_message"] = {"one of": [None, "<error_message>"]}
        return any([named(one, allowed) for one in value.values()]) or found
    return any([named(one, allowed) for one in value]) if isinstance(value, list) else False


def second(chapter, case, outcome):
    if outcome["end"] == "silent" and "topic" in case:
        return null_records(case, outcome)
    records = chapter == "records"
    if records and case["name"] in ("the same partition twice", "the same topic twice"):
        return both_answered(case, outcome)
    if records and case["name"] == "compressed: gzip, rubbish behind":
        return rubbish_refused(outcome)
    changed = copy.deepcopy(outcome)
    if not named(changed["answers"], [-1, 2, 87] if records else [-1, 42]):
        why = "A refused batch comes with a sentence that says why; Kafka leaves the producer with the code."
        return {**changed, "why": why} if records and explained(changed["answers"]) else None
    why = ("Kafka's -1 is an exception inside it; damaged records may as well be called corrupt (2) or invalid (87)." if records else
           "Kafka's -1 is an exception inside it; a request that makes no sense may as well be called invalid (42).")
    return {**changed, "why": why}
