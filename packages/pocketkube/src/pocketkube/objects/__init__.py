"""Kinds that only the embedded cluster reads, and what they count for in a ResourceQuota. Pure."""
