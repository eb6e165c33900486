"""Volumes that are made of files: keys of maps and secrets, facts about the pod, and several of them in one place.

`volumes` calls this for the sources, `mounts` and `security` for paths.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds.podspec import environment

Values = Mapping[str, Any]
Check = Callable[[str, Values], Iterator[Cause]]

ONE_TYPE: Final = "may not specify more than 1 volume type"
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_PROJECTIONS: Final = (
    "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate",
)  # fmt: skip


def needs(*members: str) -> Check:
    """A source of which nothing is known but what must not be missing."""

    def check_members(field: str, source: Values) -> Iterator[Cause]:
        for member in members:
            if not source.get(member):
                yield fielderrors.required(f"{field}.{member}")

    return check_members


def check_keys(named: str) -> Check:
    """Files from the keys of something with a name."""

    def check_files(field: str, source: Values) -> Iterator[Cause]:
        yield from needs(named)(field, source)
        yield from _check_mode(f"{field}.defaultMode", source.get("defaultMode"))
        for at, item in enumerate(source.get("items") or ()):
            yield from _check_key(f"{field}.items[{at}]", item)

    return check_files


def _check_key(field: str, item: Values) -> Iterator[Cause]:
    yield from needs("key", "path")(field, item)
    yield from _inside(f"{field}.path", item.get("path", ""))
    yield from _check_mode(f"{field}.mode", item.get("mode"))


def _check_mode(field: str, mode: int | None) -> Iterator[Cause]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield fielderrors.invalid(field, mode, _MODE)


def check_downward(field: str, source: Values) -> Iterator[Cause]:
    """Files with facts about the pod."""
    yield from _check_mode(f"{field}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        yield from _check_file(field, item)


def _check_file(field: str, item: Values) -> Iterator[Cause]:
    yield from needs("path")(field, item)
    yield from _inside(f"{field}.path", item.get("path", ""))
    ref, amount = item.get("fieldRef"), item.get("resourceFieldRef")
    if ref is not None:
        yield from environment.check_field(f"{field}.fieldRef", ref, environment.IN_FILES)
        if amount is not None:
            said = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield fielderrors.invalid(field, "resource", said)
    elif amount is not None:
        yield from environment.check_amount(f"{field}.resourceFieldRef", amount, of_volume=True)
    else:
        yield fielderrors.required(field, "one of fieldRef and resourceFieldRef is required")
    yield from _check_mode(f"{field}.mode", item.get("mode"))


def check_projected(field: str, source: Values) -> Iterator[Cause]:
    """Files from several sources."""
    yield from _check_mode(f"{field}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for at, one in enumerate(source.get("sources") or ()):
        where = f"{field}.sources[{at}]"
        given = [kind for kind in _PROJECTIONS if one.get(kind) is not None]
        for kind in given:
            yield from _check_projection(field, f"{where}.{kind}", kind, one[kind])
            yield from _check_taken(field, kind, one[kind], taken)
        if len(given) > 1:
            yield fielderrors.forbidden(where, f"{ONE_TYPE} per source")


def _check_projection(field: str, where: str, kind: str, source: Values) -> Iterator[Cause]:
    if kind in ("secret", "configMap"):
        yield from needs("name")(where, source)
        for at, item in enumerate(source.get("items") or ()):
            yield from _check_key(f"{where}.items[{at}]", item)
    elif kind == "downwardAPI":
        for item in source.get("items") or ():
            yield from _check_file(where, item)
    elif kind == "serviceAccountToken":
        yield from _check_token(field, where, source)
    elif not source.get("path") and kind == "clusterTrustBundle":
        yield fielderrors.required(f"{where}.path")


def _check_token(field: str, where: str, source: Values) -> Iterator[Cause]:
    seconds = source.get("expirationSeconds", 0)
    if seconds < 600:
        said = "may not specify a duration less than 10 minutes"
        yield fielderrors.invalid(f"{where}.expirationSeconds", seconds, said)
    if seconds > 2**32:
        said = "may not specify a duration larger than 2^32 seconds"
        yield fielderrors.invalid(f"{where}.expirationSeconds", seconds, said)
    if source.get("path"):
        yield from _inside(f"{field}.path", source["path"])
    else:
        yield fielderrors.required(f"{field}.path")


def _check_taken(field: str, kind: str, source: Values, taken: set[str]) -> Iterator[Cause]:
    for item in source.get("items") or ():
        path = item.get("path", "")
        if path and path in taken:
            stated = path if kind == "downwardAPI" else source.get("name", "")
            yield fielderrors.invalid(field, stated, "conflicting duplicate paths")
        taken.add(path)


def below(field: str, path: str) -> Iterator[Cause]:
    """A path that stays below where it begins."""
    if path.startswith("/"):
        yield fielderrors.invalid(field, path, "must be a relative path")
    yield from no_steps_back(field, path)


def _inside(field: str, path: str) -> Iterator[Cause]:
    yield from below(field, path)
    if path.startswith("..") and not path.startswith("../"):
        yield fielderrors.invalid(field, path, "must not start with '..'")


def no_steps_back(field: str, path: str) -> Iterator[Cause]:
    """A path without `..`."""
    if ".." in path.split("/"):
        yield fielderrors.invalid(field, path, "must not contain '..'")
