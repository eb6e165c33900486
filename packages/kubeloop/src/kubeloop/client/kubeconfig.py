"""Kubeconfig files: read, put together as kubectl does, and reduced to the one context that is wanted.

`kubeloop.client.config` calls it and gives the result to a library's loader. The loader reads one file; here several become one: the
first to name a thing wins, missing files are passed over, and relative paths start at the file they stand in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml

from kubeloop.client.errors import ConfigError
from kubeloop.objects.meta import JSON

_SECTIONS = {"clusters": "cluster", "contexts": "context", "users": "user"}

_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")

Fields = dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A context with what it points to; tokens may be in it, so it does not show itself."""

    name: str
    context: Fields = field(repr=False)
    cluster: Fields = field(repr=False)
    user: Fields = field(repr=False)


def read(paths: Iterable[Path]) -> Fields:
    """Merges those of the files that exist; raises `ConfigError` if none does."""
    paths = tuple(paths)
    found = [path for path in paths if path.exists()]
    if not found:
        tried = ", ".join(map(str, paths))
        raise ConfigError(f"no kubeconfig at {tried}; give one with --kubeconfig or set KUBECONFIG")
    merged: dict[str, dict[str, Fields]] = {section: {} for section in _SECTIONS}
    current = ""
    for path in found:
        content = _parse(path)
        current = current or str(content.get("current-context") or "")
        for section, noun in _SECTIONS.items():
            for name, fields in _entries(path, content, section, noun).items():
                merged[section].setdefault(name, fields)
    return {"current-context": current, **cast("Fields", merged)}


def choose(config: Fields, context: str, source: str) -> Chosen:
    """Finds a context, by default the current one, with its cluster and user."""
    contexts, clusters, users = (
        cast("dict[str, Fields]", config[section]) for section in ("contexts", "clusters", "users")
    )
    name = context or cast("str", config["current-context"])
    known = ", ".join(sorted(contexts)) or "none"
    if not name:
        raise ConfigError(
            f"{source} has no current-context; choose one with --context (known: {known})"
        )
    if name not in contexts:
        raise ConfigError(f"{source} has no context {name}; choose another (known: {known})")
    chosen = contexts[name]
    cluster, user = str(chosen.get("cluster") or ""), str(chosen.get("user") or "")
    if cluster not in clusters:
        raise ConfigError(
            f"{source}: context {name} names the cluster {cluster!r}, which is not there"
        )
    if user and user not in users:
        raise ConfigError(f"{source}: context {name} names the user {user!r}, who is not there")
    return Chosen(name, chosen, clusters[cluster], users.get(user, {}))


def _parse(path: Path) -> Mapping[str, JSON]:
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        where = " ".join(str(error).split())
        raise ConfigError(f"the kubeconfig {path} is not YAML: {where}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"the kubeconfig {path} is not a kubeconfig but a {type(content).__name__}"
        )
    return content


def _entries(path: Path, content: Mapping[str, JSON], section: str, noun: str) -> dict[str, Fields]:
    entries = content.get(section) or []
    if not isinstance(entries, list):
        raise ConfigError(f"the kubeconfig {path}: {section} is not a list")
    found: dict[str, Fields] = {}
    for position, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ConfigError(f"the kubeconfig {path}: {section}[{position}] has no name")
        fields = entry.get(noun)
        if fields is not None and not isinstance(fields, dict):
            raise ConfigError(
                f"the kubeconfig {path}: {section}[{position}].{noun} is not a mapping"
            )
        found.setdefault(cast("str", entry["name"]), _absolute(fields or {}, path.parent))
    return found


def _absolute(fields: Fields, base: Path) -> Fields:
    changed: Fields = {
        name: str(base.absolute() / value)
        for name in _PATHS
        if isinstance(value := fields.get(name), str) and value
    }
    plugin = fields.get("exec")
    if isinstance(plugin, dict):
        command = plugin.get("command")
        # A bare name is looked up in PATH; one with a slash is a file beside the kubeconfig.
        if isinstance(command, str) and "/" in command:
            changed["exec"] = {**plugin, "command": str(base.absolute() / command)}
    return {**fields, **changed}
