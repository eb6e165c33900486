"""Kubernetes objects as values: metadata, quantities, selectors, patches, conditions, core kinds and plans.

Pure: nothing here waits, reads a clock or opens a socket.
"""
