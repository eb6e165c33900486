"""Runs of whole clusters, and of the runtime on a small operator, whose programs are tried and broken here."""
