"""`korder manifests`: writes what `manifests/` holds, from the types."""

from pathlib import Path
from typing import Annotated

import typer
import yaml

from korder.install import crds

GROUPS = {kind.group for kind in crds.KINDS}


def render() -> dict[str, str]:
    """All manifest files by their path below the output folder; a test compares them with the tree."""
    return {
        f"crds/{crds.file_name(crd)}": yaml.safe_dump(crd, sort_keys=False, width=120)
        for crd in crds.all_crds()
    }


def run(
    output: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("manifests"),
) -> None:
    """Write the manifests, generated from the types."""
    files = render()
    ours = {path for group in GROUPS for path in (output / "crds").glob(f"{group}_*.yaml")}
    for stale in ours - {output / name for name in files}:
        stale.unlink()
    for name, text in files.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(f"{len(files)} files in {output}")
