"""What controls of the Pod Security Standards have in common: what they look at and how they tell."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pocketkube.apiserver.admission.verdicts import items, part

Object = dict[str, Any]


class Violation(NamedTuple):
    """What is forbidden, and who does it."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Pod(NamedTuple):
    """What controls look at."""

    meta: Object
    spec: Object

    @property
    def context(self) -> Object:
        return part(self.spec, "securityContext")

    def containers(self) -> Iterator[tuple[str, Object, Object]]:
        """Name, container and its security context."""
        for member in ("initContainers", "containers", "ephemeralContainers"):
            for container in items(self.spec, member):
                yield container.get("name", ""), container, part(container, "securityContext")


Control = Callable[[Pod], Violation | None]


def many(word: str, count: int, several: str = "") -> str:
    """The word for one, or for several."""
    return word if count == 1 else several or f"{word}s"


def quoted(names: Iterable[str]) -> str:
    """Names in quotes."""
    return ", ".join(f'"{name}"' for name in names)


def who(names: list[str], word: str = "container") -> str:
    """Those who violate a control."""
    return f"{many(word, len(names))} {quoted(names)}"


def setters_of(names: list[str], *, pod: bool) -> list[str]:
    """The pod as a whole and the containers that say something forbidden."""
    return [*(["pod"] if pod else []), *([who(names)] if names else [])]


def _may_be_windows(pod: Pod) -> bool:
    return part(pod.spec, "os").get("name") == "windows"


def on_linux(control: Control) -> Control:
    """Leaves out pods that say they are for Windows."""
    return lambda pod: None if _may_be_windows(pod) else control(pod)


def without_own_users(control: Control) -> Control:
    """Root inside of a user namespace is nobody outside."""
    return lambda pod: None if pod.spec.get("hostUsers") is False else control(pod)
