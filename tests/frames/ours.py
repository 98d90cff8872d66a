"""Where Klamm deliberately answers otherwise than Kafka 4.4: (chapter, case) → expectation and reason."""

DIFFERENT = {}
