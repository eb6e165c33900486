"""Manifests as people keep them: files, folders and standard input, several documents in each.

`apply` and `delete` read them. A mistake is told with the file and the number of the document.
"""

from collections.abc import Iterator
from pathlib import Path
import sys
from typing import NamedTuple, cast

import yaml

from kubeloop.client.errors import KubeError
from kubeloop.objects.meta import JSON

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class Document(NamedTuple):
    """An object, and where it stands."""

    body: dict[str, JSON]
    place: str

    @property
    def api_version(self) -> str:
        return str(self.body.get("apiVersion") or "")

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def kind(self) -> str:
        return str(self.body.get("kind") or "")

    @property
    def metadata(self) -> dict[str, JSON]:
        return _member(self.body, "metadata")

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or "")

    @property
    def defines(self) -> tuple[str, str] | None:
        """The group and kind it brings into the cluster, if it is a definition."""
        if self.kind != "CustomResourceDefinition":
            return None
        spec = _member(self.body, "spec")
        return str(spec.get("group")), str(_member(spec, "names").get("kind"))


def _member(body: dict[str, JSON], name: str) -> dict[str, JSON]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def read(paths: list[str], namespace: str | None = None) -> list[Document]:
    """Reads everything, in the order in which it is named; lists are taken apart.

    Raises:
        KubeError: a file cannot be read, does not hold objects, or has one of another namespace than was said.
    """
    found = [document for path in paths for document in _read(path)]
    if not found:
        raise KubeError(f"{', '.join(paths)}: there is no object in it")
    for document in found if namespace else ():
        own = document.metadata.get("namespace") or namespace
        if own != namespace:
            stated = f"it names the namespace {own}, and -n says {namespace}"
            raise KubeError(f"{document.place}: {stated}; leave -n out, or say -n {own}")
    return found


def _read(path: str) -> Iterator[Document]:
    if path == "-":
        yield from _documents(sys.stdin.buffer.read(), "standard input")
        return
    where = Path(path)
    files = (
        sorted(p for p in where.rglob("*") if p.suffix in _SUFFIXES) if where.is_dir() else [where]
    )
    if not files:
        raise KubeError(f"{path} holds no .yaml, .yml or .json file")
    for file in files:
        yield from _documents(file.read_bytes(), str(file))


def _documents(content: bytes, source: str) -> Iterator[Document]:
    try:
        parsed = list(yaml.safe_load_all(content))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise KubeError(f"{source} is not YAML: {error.problem}{where}") from error
    except (yaml.YAMLError, ValueError) as error:
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
