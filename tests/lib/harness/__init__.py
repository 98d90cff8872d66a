"""Starts, kills and watches a broker for tests. Knows nothing of any client library: the standard library only."""
