"""Gather, decide, apply: each controller reads the stores, asks a rule, and hands its plan to the runtime."""
