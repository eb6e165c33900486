"""Merging and who owns what: server-side apply, strategic merge patches, and the structure of kinds that both follow."""
