"""How long to wait before the next try: longer each time, never the same for two callers.

`kubeloop.client.sending` uses one per call, `kubeloop.client.watch` one per watcher.
"""

import random


class Backoff:
    """Doubling pauses with jitter, between half of the step and all of it."""

    def __init__(self, rng: random.Random, first: float, longest: float) -> None:
        self._rng = rng
        self._first = first
        self._longest = longest
        self._step = first

    def pause(self, at_least: float | None = None) -> float:
        """Gives the next pause in seconds; what the server asked for comes on top, so that a crowd does not return as one."""
        step, self._step = self._step, min(self._step * 2, self._longest)
        return (at_least or 0.0) + self._rng.uniform(step / 2, step)

    def reset(self) -> None:
        """Starts from the shortest pause again, after something went well."""
        self._step = self._first
