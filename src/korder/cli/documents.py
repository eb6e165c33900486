"""Manifests as people keep them: files, folders and standard input, several documents in each.

`apply` and `delete` read them. A mistake is told with the file and the number of the document.
"""

from collections.abc import Iterator
from pathlib import Path
import sys
from typing import NamedTuple, cast

import yaml

from korder.api.meta import JSON
from korder.kube.errors import KubeError

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class Document(NamedTuple):
    """An object, and where it stands."""

    body: dict[str, JSON]
    place: str

    @property
    def api_version(self) -> str:
        return str(self.body.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        return str(self.body.get("kind") or "")

    @property
    def metadata(self) -> dict[str, JSON]:
        found = self.body.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or "")


def read(paths: list[str]) -> list[Document]:
    """Reads everything, in the order in which it is named; lists are taken apart."""
    return [document for path in paths for document in _read(path)]


def _read(path: str) -> Iterator[Document]:
    if path == "-":
        yield from _documents(sys.stdin.read(), "standard input")
        return
    where = Path(path)
    files = (
        sorted(p for p in where.rglob("*") if p.suffix in _SUFFIXES) if where.is_dir() else [where]
    )
    if not files:
        raise KubeError(f"{path} holds no .yaml, .yml or .json file")
    for file in files:
        yield from _documents(file.read_text(), str(file))


def _documents(text: str, source: str) -> Iterator[Document]:
    try:
        parsed = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise KubeError(f"{source} is not YAML: {' '.join(str(error).split())}") from error
    for number, body in enumerate(parsed, 1):
        if body is not None:
            yield from _objects(body, f"{source}, document {number}")


def _objects(body: object, place: str) -> Iterator[Document]:
    if not isinstance(body, dict) or not body.get("kind") or not body.get("apiVersion"):
        raise KubeError(f"{place}: an object with apiVersion and kind is wanted")
    items = body.get("items")
    if str(body["kind"]).endswith("List") and isinstance(items, list):
        for index, item in enumerate(items, 1):
            yield from _objects(item, f"{place}, item {index}")
        return
    document = Document(cast("dict[str, JSON]", body), place)
    if not document.name:
        raise KubeError(f"{place}: metadata.name is missing")
    yield document
