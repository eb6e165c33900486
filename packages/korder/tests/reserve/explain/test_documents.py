"""What the documents show can be applied as it is, and their links lead somewhere."""

from pathlib import Path
import re

import pytest
from tests.reserve.scene import scene
import yaml

from kubeloop.client import rest_mapper
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON, Object
from kubeloop.runtime.clock import Clock

DOCS = Path(__file__).parents[5] / "docs"
PAGES = ("concepts.md", "tasks.md", "troubleshooting.md", "reference.md")
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")


def manifests() -> list[dict[str, JSON]]:
    return [
        body
        for page in PAGES
        for block in _BLOCK.findall((DOCS / page).read_text())
        for body in yaml.safe_load_all(block)
    ]


async def test_every_manifest_is_taken_by_the_server(clock: Clock):
    async with scene(clock, nodes=0) as cluster:
        catalog = await rest_mapper.discover(cluster.client)
        for body in manifests():
            head = codec.convert(body, Object)
            found = catalog.of(head.api_version, head.kind)
            assert found is not None
            made: JSON = {**body, "metadata": {"namespace": "default", **body["metadata"]}}  # type: ignore[dict-item]
            assert isinstance(made, dict)
            await cluster.client.create(found.kind, made)
    assert len(manifests()) > 9


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str):
    for target, anchor in _LINK.findall((DOCS / page).read_text()):
        text = (DOCS / (target or page)).read_text()
        titles = {
            title.lower().replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        }
        assert not anchor or anchor in titles, f"{page} leads to #{anchor}"
