"""The embedded cluster and its actors."""
