"""Random sequences of requests, sent to two API servers that must give the same answers."""
