"""YAML as the JSON it stands for, for `bodies` and `patching`.

A large body must not hold up the loop, so a text without tags, anchors and merges is built here, straight from its events. Others are
left to libyaml's builder, which takes ten times as long, and are measured before: it follows nesting with the machine's stack and would
take the process with it, and aliases of aliases would fill all memory once they are written out.
"""

import json
from typing import Any

import yaml

DEEPEST = 1_000
MOST_NODES = 100_000
"""How many values a text with tags, anchors or merges may have, its aliases written out."""

_TEXT = "tag:yaml.org,2002:str"
_TOO_DEEP = "yaml: exceeded max depth of 10000"


class _Loader(yaml.CSafeLoader):
    """Times stay texts, as with Go's reader. Texts, which most values are, take a short way."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode and implicit[0] and value and value[0] not in _NO_TEXT:
            return _TEXT
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]  # the stubs leave it open

    def descend_resolver(self, *_: object) -> None:
        """Nothing here is resolved by its path."""

    ascend_resolver = descend_resolver

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  as it is overridden
        if node.tag == _TEXT and isinstance(node, yaml.ScalarNode):
            return node.value
        return super().construct_object(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_NO_TEXT = frozenset(
    first for first, resolvers in _Loader.yaml_implicit_resolvers.items() if resolvers
)
"""What a plain value begins with that may be something else than text."""


class NotYaml(ValueError):
    """A text is none, or has no JSON form; the message is the server's."""


def decode(text: str) -> Any:
    """Reads a text.

    Raises:
        NotYaml: it cannot be read.
    """
    try:
        try:
            value = _Plain().build(text)
        except _NotPlain:
            _measure(text)
            value = next(yaml.load_all(text, _Loader), None)
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except NotYaml:
        raise
    except yaml.YAMLError as error:
        raise NotYaml(_reported(error)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise NotYaml(f"yaml: {error}") from None


class _NotPlain(Exception):
    """A text is for the full builder, perhaps to be refused by it."""


class _Plain:
    """Builds the first document of a text, of whose values nothing is said but what they are."""

    def __init__(self) -> None:
        self._loader = _Loader("")
        self._known: dict[str, Any] = {}
        self._open: list[list[Any]] = [[]]
        """The documents, and what was read so far of each collection that is not complete; names and members take turns."""

    def build(self, text: str) -> Any:
        for event in yaml.parse(text, yaml.CSafeLoader):
            if isinstance(event, yaml.ScalarEvent):
                self._open[-1].append(self._scalar(event))
            elif isinstance(event, yaml.NodeEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
        (documents,) = self._open
        return documents[0] if documents else None

    def _begin(self, event: Any) -> None:
        if event.anchor or event.tag:
            raise _NotPlain
        self._open.append([])
        if len(self._open) > DEEPEST + 1:
            raise NotYaml(_TOO_DEEP)

    def _end(self, event: yaml.CollectionEndEvent) -> None:
        found: Any = self._open.pop()
        if isinstance(event, yaml.MappingEndEvent):
            try:
                found = dict(zip(found[::2], found[1::2], strict=True))
            except TypeError:
                raise _NotPlain from None
        self._open[-1].append(found)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if event.anchor or event.tag:
            raise _NotPlain
        if not event.implicit[0] or (text and text[0] not in _NO_TEXT):
            return text
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> Any:
        tag = self._loader.resolve(yaml.ScalarNode, text, (True, False))
        try:
            return self._loader.construct_document(yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError):
            raise _NotPlain from None


def _measure(text: str) -> None:
    """Refuses what is too deep, or too large once its aliases are written out."""
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []
    size = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, size))
            if len(open_) > DEEPEST:
                raise NotYaml(_TOO_DEEP)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            sizes[anchor or ""] = size - before
        elif isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor or ""] = 1
        size += isinstance(event, yaml.NodeEvent)
        if size > MOST_NODES:
            raise NotYaml("yaml: document contains excessive aliasing")


def _reported(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return f"yaml: {error}"
    marks = (mark for mark in (error.context_mark, error.problem_mark) if mark and mark.line)
    line = next((mark.line for mark in marks), 0)
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
