"""Pods and workloads, good and bad, as changes to a small one: what is set where, by paths with dots.

`DROP` takes a member away. Cases of `CHANGES` are pairs: how the object is first, and how it is to become.
"""
