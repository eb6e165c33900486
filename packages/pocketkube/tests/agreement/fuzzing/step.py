"""One request of a sequence as data, with holes for what only a server's answers can fill.

Sequences are made once and sent to both servers, so a step never holds an id of either: `{uid:pods/a}` is what the server at
hand said about the pod `a`. A step whose holes cannot be filled, because the request that would have told was dropped, is still a request.
"""

from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
import json
import re
from typing import Any

Object = dict[str, Any]

DROP = "<drop>"
"""As the value of an edit: take the member away."""

_HOLE = re.compile(r"\{(home|uid|rv|old|listed|continue)(?::([^}]*))?\}")
_UNKNOWN = {"uid": "00000000-0000-4000-8000-000000000000", "listed": "", "continue": ""}


@dataclass(frozen=True, slots=True)
class Step:
    """A request.

    Attributes:
        method: The verb, as HTTP calls it.
        path: The path.
        about: Resource and name of the object, such as `pods/a`, or the resource alone.
        query: The query.
        body: What is sent if `basis` is empty or nothing is known of the object; bytes go as they are.
        basis: Which answer about the object is sent back with `edits`: the latest (`current`) or the first (`stale`).
        edits: Paths into the object and what to put there.
        content: The type of the body.
    """

    method: str
    path: str
    about: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    basis: str = ""
    edits: tuple[tuple[tuple[str | int, ...], Any], ...] = ()
    content: str = "application/json"


class Memory:
    """What one server has said so far."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._said: dict[str, list[Object]] = defaultdict(list)
        self._lists: dict[str, Object] = {}

    def note(self, step: Step, status: int, answer: Any) -> None:
        """Keeps what an answer says about an object or a list."""
        if status not in (200, 201) or not isinstance(answer, dict) or "dryRun" in step.query:
            return
        meta = answer.get("metadata") or {}
        if "items" in answer:
            self._lists[step.about.partition("/")[0]] = meta
        elif "uid" in meta and answer.get("kind") not in ("Status", "Binding", "Eviction", "Scale"):
            self._said[step.about].append(answer)

    def filled(self, step: Step) -> tuple[str, dict[str, str], Any]:
        """Path, query and body of a step, with everything known put in."""
        body = step.body
        known = self._said[step.about]
        if step.basis and known:
            body = _by_name(edited(known[-1 if step.basis == "current" else 0], step.edits))
        return self._text(step.path), self._deep(dict(step.query)), self._deep(body)

    def _deep(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key): self._deep(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._deep(each) for each in value]
        return value

    def _text(self, text: str) -> str:
        return _HOLE.sub(lambda hole: self._fill(hole[1], hole[2] or ""), text)

    def _fill(self, what: str, about: str) -> str:
        if what == "home":
            return self._home
        if what in ("listed", "continue"):
            meta = self._lists.get(about, {})
            found = meta.get("resourceVersion" if what == "listed" else "continue")
            return str(found or _UNKNOWN[what])
        known = self._said[about]
        if not known:
            return _UNKNOWN.get(what, "1")
        meta = known[0 if what == "old" else -1]["metadata"]
        return str(meta["uid" if what == "uid" else "resourceVersion"])


def _by_name(value: Any) -> Any:
    """A value that has its members in an order that does not depend on which server gave it."""
    if isinstance(value, dict):
        return {key: _by_name(value[key]) for key in sorted(value)}
    return list(map(_by_name, value)) if isinstance(value, list) else value


def edited(obj: Object, edits: tuple[tuple[tuple[str | int, ...], Any], ...]) -> Object:
    """A copy of an object with edits made, as far as its shape allows them."""
    made = deepcopy(obj)
    for path, value in edits:
        _edit(made, path, value)
    return made


def _edit(holder: Any, path: tuple[str | int, ...], value: Any) -> None:
    *parts, last = path
    for part in parts:
        if isinstance(holder, dict) and isinstance(part, str):
            holder = holder.setdefault(part, {})
        elif isinstance(holder, list) and isinstance(part, int) and part < len(holder):
            holder = holder[part]
        else:
            return
    if isinstance(holder, dict) and isinstance(last, str):
        if value == DROP:
            holder.pop(last, None)
        else:
            holder[last] = deepcopy(value)
    elif isinstance(holder, list) and isinstance(last, int):
        kept = [] if value == DROP else [deepcopy(value)]
        holder[last : last + 1] = kept


def encoded(body: Any) -> bytes | None:
    """The bytes of a body."""
    if body is None or isinstance(body, bytes):
        return body
    return json.dumps(body).encode()
