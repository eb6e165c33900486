"""All CustomResourceDefinitions of korder, in the order in which people read of them.

`make manifests` writes them under `manifests/crds`, `korder install` applies them, tests compare the two.
"""

from collections.abc import Mapping

from korder.domains import DOMAINS
from kubeloop.objects.meta import JSON
from kubeloop.schema import crd

DEFINITIONS: tuple[crd.Definition, ...] = tuple(
    definition for domain in DOMAINS for definition in domain.definitions
)

KINDS = tuple(definition.kind for definition in DEFINITIONS)
"""Every kind of korder."""


def all_crds() -> tuple[dict[str, JSON], ...]:
    """Writes the definition of every kind."""
    return tuple(crd.build(definition) for definition in DEFINITIONS)


def file_name(definition: Mapping[str, JSON]) -> str:
    """Names the file of a definition below `manifests/crds`."""
    match definition:
        case {"spec": {"group": str(group), "names": {"plural": str(plural)}}}:
            return f"{group}_{plural}.yaml"
        case _:
            raise ValueError("not a CustomResourceDefinition")
