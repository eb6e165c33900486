"""Operators nobody here wrote: kopf runs its own examples on `korder up`.

The examples are not in kopf's wheel. They are taken from the source distribution of the very version that is installed,
once, into the cache next to the control plane; nothing of them is in this tree.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from importlib.metadata import version
import os
from pathlib import Path
import secrets
import subprocess
import sys
import tarfile
from typing import Any

from kubernetes import client as kube, config
import pytest
import yaml

from korder.testing.up import UpProcess
from kubeloop.testing.processes import Process

GROUP, VERSION, PLURAL = "kopf.dev", "v1", "kopfexamples"
EXAMPLE = "kopf-example-1"


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of kopf's examples, of the installed version."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "korder")
    cache = Path(os.environ.get("KORDER_CACHE", home), "kopf")
    name = f"kopf-{version('kopf')}"
    archive = cache / f"{name}.tar.gz"
    if not archive.exists():
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
        source = ("--no-binary", ":all:", "--dest", str(cache), f"kopf=={version('kopf')}")
        subprocess.run((*pip, *source), check=True)  # noqa: S603
    folder = tmp_path_factory.mktemp("examples")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / name / "examples"


class Cluster:
    """A cluster of ours as the official client sees it, in one namespace, with one example."""

    def __init__(self, up: UpProcess) -> None:
        self.up = up
        self.namespace = f"test-{secrets.token_hex(4)}"
        self.api = config.new_client_from_config(str(up.kubeconfig))
        self.core = kube.CoreV1Api(self.api)
        self._custom = kube.CustomObjectsApi(self.api)
        self._place = (GROUP, VERSION, self.namespace, PLURAL)

    def create(self, obj: dict[str, Any]) -> None:
        self._custom.create_namespaced_custom_object(*self._place, obj)

    def get(self) -> dict[str, Any]:
        found: dict[str, Any] = self._custom.get_namespaced_custom_object(*self._place, EXAMPLE)
        return found

    def exists(self) -> bool:
        return bool(self._custom.list_namespaced_custom_object(*self._place)["items"])

    def patch(self, patch: dict[str, Any]) -> None:
        self._custom.patch_namespaced_custom_object(*self._place, EXAMPLE, patch)

    def delete(self) -> None:
        self._custom.delete_namespaced_custom_object(*self._place, EXAMPLE)

    def events(self) -> list[tuple[str, str, str]]:
        found = self.core.list_namespaced_event(self.namespace).items
        return [(event.type, event.reason, event.message) for event in found]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Iterator[UpProcess]:
    """A cluster that knows the kind of the examples."""
    up = UpProcess(tmp_path_factory.mktemp("up"), "--nodes", "1")
    asyncio.run(up.start())
    with config.new_client_from_config(str(up.kubeconfig)) as api:
        definition = yaml.safe_load((examples / "crd.yaml").read_text())
        kube.ApiextensionsV1Api(api).create_custom_resource_definition(definition)
    yield up
    asyncio.run(up.stop())


@pytest.fixture
def cluster(up: UpProcess) -> Iterator[Cluster]:
    cluster = Cluster(up)
    cluster.core.create_namespace({"metadata": {"name": cluster.namespace}})
    yield cluster
    cluster.core.delete_namespace(cluster.namespace)
    cluster.api.close()


@pytest.fixture
def example(examples: Path) -> dict[str, Any]:
    """The object that the examples are about."""
    obj: dict[str, Any] = yaml.safe_load((examples / "obj.yaml").read_text())
    return obj


@asynccontextmanager
async def operator(
    script: Path, cluster: Cluster, folder: Path
) -> AsyncIterator[Callable[[], str]]:
    """Runs an operator while the block does; gives what it has printed so far."""
    log = folder / f"operator-{secrets.token_hex(4)}.log"

    async def watches() -> bool:
        return "Starting the watch-stream for kopfexamples" in log.read_text()

    kopf = (sys.executable, "-u", "-m", "kopf", "run", str(script), "--standalone", "--debug")
    process = Process(
        "kopf",
        (*kopf, "--namespace", cluster.namespace),
        log=log,
        is_ready=watches,
        environment={**os.environ, "KUBECONFIG": str(cluster.up.kubeconfig)},
    )
    await process.start()
    try:
        yield log.read_text
    finally:
        await process.stop()


async def until(check: Callable[[], object], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.05)


async def test_what_a_handler_returns_becomes_the_status(
    cluster: Cluster, examples: Path, example: dict[str, Any], tmp_path: Path
) -> None:
    async with operator(examples / "01-minimal" / "example.py", cluster, tmp_path) as log:
        cluster.create(example)
        await until(lambda: cluster.get().get("status", {}).get("create_fn"))
        assert cluster.get()["status"]["create_fn"] == {"message": "hello world"}
        assert "And here we are! Creating:" in log()
        cluster.delete()
        await until(lambda: not cluster.exists())


async def test_handlers_follow_a_life_until_the_finalizer_goes(
    cluster: Cluster, examples: Path, example: dict[str, Any], tmp_path: Path
) -> None:
    async with operator(examples / "05-handlers" / "example.py", cluster, tmp_path) as log:
        cluster.create(example)
        await until(lambda: "CREATED 2nd" in log())
        await until(lambda: cluster.get()["metadata"].get("finalizers"))
        cluster.patch({"spec": {"field": "other"}})
        await until(lambda: "FIELD CHANGED: value -> other" in log())
        await until(lambda: "UPDATED" in log())
        cluster.delete()
        await until(lambda: not cluster.exists())
        assert log().index("DELETED 1st") < log().index("DELETED 2nd")
        assert "Traceback" not in log()


async def test_an_operator_that_comes_back_resumes(
    cluster: Cluster, examples: Path, example: dict[str, Any], tmp_path: Path
) -> None:
    script = examples / "05-handlers" / "example.py"
    cluster.create(example)
    async with operator(script, cluster, tmp_path) as log:
        await until(lambda: "CREATED 2nd" in log())
        await until(lambda: "last-handled" in str(cluster.get()["metadata"].get("annotations")))
    cluster.delete()
    assert cluster.get()["metadata"]["finalizers"], "nobody is there to let it go"
    async with operator(script, cluster, tmp_path) as log:
        await until(lambda: not cluster.exists())
        assert "DELETED 2nd" in log()


async def test_events_of_handlers_are_kept(
    cluster: Cluster, examples: Path, example: dict[str, Any], tmp_path: Path
) -> None:
    async with operator(examples / "04-events" / "example.py", cluster, tmp_path):
        cluster.create(example)
        wanted = {
            ("SomeType", "SomeReason", "Some message"),
            ("Normal", "SomeReason", "Some message"),
            ("Warning", "SomeReason", "Some message"),
        }
        await until(lambda: wanted <= set(cluster.events()))


async def test_handlers_of_parts_run_one_by_one(
    cluster: Cluster, examples: Path, example: dict[str, Any], tmp_path: Path
) -> None:
    async with operator(examples / "07-subhandlers" / "example.py", cluster, tmp_path) as log:
        cluster.create(example)
        await until(lambda: "Handling creation for item2" in log())
        assert "Handling creation for item1" in log()
        handled = "kopf.zalando.org/last-handled-configuration"
        await until(lambda: handled in cluster.get()["metadata"]["annotations"])
        assert "progress" not in str(cluster.get().get("status"))
