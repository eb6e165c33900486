"""Where a person's embedded cluster keeps its things, unless told otherwise."""

import os
from pathlib import Path


def data_folder() -> Path:
    """The folder of the embedded cluster, by the custom of the system."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "korder"


def kubeconfig_of_embedded(folder: Path | None = None) -> Path:
    """The kubeconfig that `korder up` writes."""
    return (folder or data_folder()) / "kubeconfig"
