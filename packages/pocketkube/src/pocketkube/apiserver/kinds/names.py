"""How objects of a kind may be called: rules for whole names and for their beginnings (`generateName`).

Strategies choose one of these, `objectmeta` asks it. How texts are spelled is `naming`'s.
"""

from typing import Protocol

from pocketkube.apiserver.kinds import naming


class NameRule(Protocol):
    """What is wrong with a name, or with the beginning of one."""

    def __call__(self, text: str, *, beginning: bool = False) -> list[str]: ...


def subdomain(text: str, *, beginning: bool = False) -> list[str]:
    """What most objects are called."""
    return naming.dns_subdomain(_completed(text) if beginning else text)


def label(text: str, *, beginning: bool = False) -> list[str]:
    """What namespaces and services are called."""
    return naming.dns_label(_completed(text) if beginning else text)


def path_segment(text: str, *, beginning: bool = False) -> list[str]:
    """What can stand between two slashes of a path; roles and bindings are called like this."""
    if text in (".", "..") and not beginning:
        return [f"may not be '{text}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in text]


def _completed(beginning: str) -> str:
    """A beginning as if something had been appended; a server drops one character too many, which is kept."""
    return beginning[:-2] + "a" if len(beginning) > 1 and beginning.endswith("-") else beginning
