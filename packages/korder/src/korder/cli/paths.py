"""Where a person's embedded cluster keeps its things, unless told otherwise, and which kubeconfig a verb means.

`up` writes there, every other verb looks there when nothing else is at hand: whoever has no cluster means this one.
"""

from collections.abc import Mapping
import os
from pathlib import Path

from kubeloop.client.errors import ConfigError

EMBEDDED = "embedded"
"""The word for the embedded cluster in place of the path of a kubeconfig."""

NO_CLUSTER = "no cluster is known; `korder up` starts one, --kubeconfig or KUBECONFIG name another"


def data_folder() -> Path:
    """The folder of the embedded cluster, by the custom of the system."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "korder"


def kubeconfig_of_embedded(folder: Path | None = None) -> Path:
    """The kubeconfig that `korder up` writes."""
    return (folder or data_folder()) / "kubeconfig"


def chosen_kubeconfig(asked: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The kubeconfig a verb means: the one asked for, what is at hand (None), or that of the embedded cluster.

    Raises:
        ConfigError: there is none.
    """
    if asked and asked != EMBEDDED:
        return asked
    if asked != EMBEDDED and _is_at_hand(environment):
        return None
    ours = kubeconfig_of_embedded()
    if not ours.exists():
        raise ConfigError(NO_CLUSTER)
    return str(ours)


def _is_at_hand(environment: Mapping[str, str]) -> bool:
    named = environment.get("KUBECONFIG") or environment.get("KUBERNETES_SERVICE_HOST")
    return bool(named) or (Path.home() / ".kube" / "config").exists()
