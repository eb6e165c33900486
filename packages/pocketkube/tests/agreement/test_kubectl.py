"""The unmodified kubectl on the embedded cluster: it prints what it prints on a real one, and does what it says.

Whatever does not need nodes is typed on both sides and compared; the rest is tried on simulated nodes.
"""

import asyncio
from collections.abc import Iterator
import difflib
import json
import os
from pathlib import Path
import random
import re
import secrets
import shlex
from typing import NamedTuple

import pytest
from tests.tables.kubectl.files import FILES
from tests.tables.kubectl.scripts import ON_A_NODE, SCRIPTS

from korder.testing.up import UpProcess
from kubeloop.client.connect import open_client
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane, programs
from pocketkube.fleet import fleet
from pocketkube.testing.nodes import simulated_nodes

SEEDS = Path("packages/korder/tests/seeds")
SECONDS = 60
AT_ODDS = [
    (r"https://127\.0\.0\.1:\d+", "SERVER"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UID"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000", "TIME"),
    (r"(resourceVersion\"?: \"?|Resource Version: +)\d+", r"\1N"),
    (r"\b(\d+m)?\d+m?s\b(?= |$)|(?<= )(\d{1,2}h)?\d{1,3}[mh]\b(?= |$)", "AGE"),
    (r"kube-api-access-\w{5}", "kube-api-access-NAME"),
    (r"\b(\w+)-(?=[a-z0-9]*\d)[a-z0-9]{8,10}\b(-[a-z0-9]{5}\b)?", r"\1-NAME"),
    (r"(pod-template-hash[=:] ?)[a-z0-9]+", r"\1NAME"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r" \(x\d+ over AGE\)", ""),
    (r"/\S*/(LIVE|MERGED)-\d+/", "FOLDER/"),
    (r"[ \t]{2,}", " "),
]
"""What is never the same twice, and what stands for it."""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Kubectl:
    """kubectl at one cluster, in a folder with files, with a home of its own."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.folder = folder
        self._surroundings = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KUBECONFIG": str(kubeconfig),
        }
        for name, text in FILES.items():
            (folder / name).write_text(text)

    async def start(self, line: str, namespace: str = "") -> asyncio.subprocess.Process:
        words = shlex.split(line.replace("NAMESPACE", namespace))
        if namespace and words[0] != "-n":
            words = ["-n", namespace, *words]
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            str(programs.find() / "kubectl"),
            *words,
            cwd=self.folder,
            env=self._surroundings,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
        )

    async def run(self, line: str, namespace: str = "") -> Done:
        """Runs a command to its end."""
        process = await self.start(line, namespace)
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
        return Done(process.returncode or 0, out.decode(), err.decode())

    async def until(self, line: str, namespace: str = "") -> None:
        """Repeats a command until it succeeds."""
        async with asyncio.timeout(SECONDS):
            while (await self.run(line, namespace)).code:
                await asyncio.sleep(0.1)

    async def transcript(self, script: str, namespace: str) -> list[str]:
        """What somebody sees who types a script, without ages and the like."""
        seen: list[str] = []
        for line in map(str.strip, script.strip().splitlines()):
            if line.startswith("~"):
                await self.until(line[1:], namespace)
                continue
            done = await self.run(line, namespace)
            seen += [f"$ {line}", *plain(done.out), *plain(done.err), f"exit {done.code}"]
        return seen


def plain(text: str) -> list[str]:
    for pattern, instead in AT_ODDS:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    """The embedded cluster without nodes, like the shared plane."""
    yield from running(UpProcess(tmp_path_factory.mktemp("empty"), "--nodes", "0"))


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    """The embedded cluster with three nodes."""
    yield from running(UpProcess(tmp_path_factory.mktemp("up"), "--nodes", "3"))


def running(process: UpProcess) -> Iterator[UpProcess]:
    asyncio.run(process.start())
    yield process
    asyncio.run(process.stop())


async def compare(script: str, folder: Path, **sides: Path) -> None:
    """Types a script on both sides, in a namespace of the same name."""
    namespace = f"test-{secrets.token_hex(4)}"
    seen = []
    for side, kubeconfig in sides.items():
        (folder / side).mkdir()
        kubectl = Kubectl(folder / side, kubeconfig)
        await kubectl.run(f"create ns {namespace}")
        seen.append(await kubectl.transcript(script, namespace))
        await kubectl.run(f"delete ns {namespace}")
    assert not (stated := "\n".join(difflib.unified_diff(*seen, *sides, lineterm=""))), stated


@pytest.mark.timeout(300)
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_both_sides_print_the_same(
    control_plane: ControlPlane, empty: UpProcess, tmp_path: Path, script: str
) -> None:
    await compare(script, tmp_path, real=control_plane.kubeconfig(), embedded=empty.kubeconfig)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A real cluster that gets a node."""
    plane = ControlPlane()
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    """The embedded cluster with one node."""
    yield from running(UpProcess(tmp_path_factory.mktemp("single"), "--nodes", "1"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("script", ON_A_NODE.values(), ids=ON_A_NODE)
async def test_they_do_with_nodes_too(
    plane: ControlPlane, single: UpProcess, tmp_path: Path, clock: Clock, script: str
) -> None:
    path = plane.kubeconfig()
    async with (
        open_client(str(path), now=clock.now, rng=random.Random(0)) as client,
        simulated_nodes(client, fleet(1), clock=clock),
    ):
        await Kubectl(tmp_path, path).until("wait node/node-1 --for=condition=Ready --timeout=10s")
        await compare(script, tmp_path, real=path, embedded=single.kubeconfig)


@pytest.fixture
def kubectl(up: UpProcess, tmp_path: Path) -> Kubectl:
    return Kubectl(tmp_path, up.kubeconfig)


@pytest.fixture
async def home(kubectl: Kubectl) -> str:
    """A namespace of the test's own."""
    name = f"test-{secrets.token_hex(4)}"
    await ok(kubectl, f"create ns {name}")
    return name


async def ok(kubectl: Kubectl, line: str, namespace: str = "") -> str:
    """Runs a command that must succeed; returns what it printed."""
    done = await kubectl.run(line, namespace)
    assert not done.code, (line, done)
    return done.out.strip()


async def test_a_deployment_is_rolled_out_and_back(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx:1 --replicas=2", home)
    rolled = await ok(kubectl, "rollout status deploy/web --timeout=30s", home)
    assert rolled.endswith('deployment "web" successfully rolled out')
    await ok(kubectl, "set image deploy/web nginx=nginx:2", home)
    await ok(kubectl, "rollout status deploy/web --timeout=30s", home)
    history = await ok(kubectl, "rollout history deploy/web", home)
    assert [line.split()[0] for line in history.splitlines()[2:]] == ["1", "2"]
    detail = await ok(kubectl, "rollout history deploy/web --revision=1", home)
    assert re.search(r"Image:\s+nginx:1", detail)
    await ok(kubectl, "rollout undo deploy/web", home)
    await ok(kubectl, "rollout status deploy/web --timeout=30s", home)
    images = "get pods -o jsonpath={.items[*].spec.containers[0].image}"
    await ok(kubectl, "wait deploy/web --for=jsonpath={.status.replicas}=2 --timeout=30s", home)
    await ok(kubectl, "rollout restart deploy/web", home)
    await ok(kubectl, "rollout status deploy/web --timeout=30s", home)
    assert set((await ok(kubectl, images, home)).split()) == {"nginx:1"}


async def test_what_is_scaled_is_waited_for(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx", home)
    await ok(kubectl, "scale deploy web --replicas=3", home)
    await ok(kubectl, "wait deploy/web --for=condition=Available --timeout=30s", home)
    ready = "wait deploy/web --for=jsonpath={.status.readyReplicas}=3 --timeout=30s"
    await ok(kubectl, ready, home)
    shown = await ok(kubectl, "get deploy web -o wide --no-headers", home)
    assert shown.split()[:4] == ["web", "3/3", "3", "3"]
    await ok(kubectl, "delete pods --all", home)
    await ok(kubectl, ready, home)


async def test_deleting_a_deployment_takes_its_pods_along(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx", home)
    await ok(kubectl, "wait deploy/web --for=condition=Available --timeout=30s", home)
    await ok(kubectl, "delete deploy web --cascade=foreground --timeout=30s", home)
    assert not await ok(kubectl, "get rs,pods -o name", home)


async def test_orphans_stay(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx", home)
    await ok(kubectl, "wait deploy/web --for=condition=Available --timeout=30s", home)
    await ok(kubectl, "delete deploy web --cascade=orphan", home)
    owners = await ok(kubectl, "get rs -o jsonpath={.items[*].metadata.ownerReferences}", home)
    assert not owners
    assert await ok(kubectl, "get pods -o name", home)


async def test_a_pod_runs_and_goes(kubectl: Kubectl, home: str) -> None:
    await kubectl.until("get sa default", home)
    await ok(kubectl, "run web --image=nginx --port=80", home)
    await ok(kubectl, "wait pod/web --for=condition=Ready --timeout=30s", home)
    wide = (await ok(kubectl, "get pod web -o wide --no-headers", home)).split()
    assert wide[:4] == ["web", "1/1", "Running", "0"]
    stated = await ok(kubectl, "describe pod web", home)
    assert re.search(r"Status:\s+Running", stated)
    assert "Successfully assigned" in stated
    await ok(kubectl, "logs web", home)
    events = await ok(kubectl, "events --for=pod/web", home)
    assert "Scheduled" in events
    await ok(kubectl, "expose pod web --port=80", home)
    assert await ok(kubectl, "get svc web -o jsonpath={.spec.clusterIP}", home)
    await ok(kubectl, "delete pod web --grace-period=1 --timeout=30s", home)
    assert (await kubectl.run("get pod web", home)).code == 1


async def test_nobody_looks_into_a_simulated_container(kubectl: Kubectl, home: str) -> None:
    await kubectl.until("get sa default", home)
    await ok(kubectl, "run web --image=nginx", home)
    await ok(kubectl, "wait pod/web --for=condition=Ready --timeout=30s", home)
    for line in ("exec web -- date", "attach web", "port-forward web 0:80"):
        done = await kubectl.run(line, home)
        assert done.code == 1
        assert "error" in done.err.lower()


async def test_a_job_is_made_from_a_cron_job(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create cronjob tick --image=busybox '--schedule=0 0 1 1 *' -- date", home)
    await ok(kubectl, "create job once --from=cronjob/tick", home)
    assert await ok(
        kubectl, "get job once -o jsonpath={.spec.template.spec.containers[0].command}", home
    )
    await ok(kubectl, "describe job once", home)
    await ok(kubectl, "delete job once --timeout=30s", home)


async def test_a_watch_shows_what_happens(kubectl: Kubectl, home: str) -> None:
    watching = await kubectl.start("get cm -w -o name -l watched=yes", home)
    assert watching.stdout is not None
    try:
        for name in ("a", "b"):
            await ok(kubectl, f"create cm {name}", home)
            await ok(kubectl, f"label cm {name} watched=yes", home)
            async with asyncio.timeout(SECONDS):
                assert (await watching.stdout.readline()).decode() == f"configmap/{name}\n"
    finally:
        watching.kill()
        await watching.communicate()


async def test_a_deletion_is_waited_for(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create cm a", home)
    waiting = await kubectl.start("wait cm/a --for=delete --timeout=30s", home)
    await ok(kubectl, "delete cm a", home)
    async with asyncio.timeout(SECONDS):
        out, _ = await waiting.communicate()
    assert (waiting.returncode, out.decode()) in (
        (0, "configmap/a condition met\n"),
        (0, ""),
    )


async def test_a_node_is_drained_and_comes_back(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx --replicas=3", home)
    await ok(
        kubectl, "wait deploy/web --for=jsonpath={.status.readyReplicas}=3 --timeout=30s", home
    )
    node = await ok(kubectl, "get pods -o jsonpath={.items[0].spec.nodeName}", home)
    try:
        drained = await ok(kubectl, f"drain {node} --ignore-daemonsets --force --timeout=60s")
        assert drained.endswith(f"node/{node} drained")
        shown = await ok(kubectl, f"get node {node} --no-headers")
        assert shown.split()[1] == "Ready,SchedulingDisabled"
        ready = "wait deploy/web --for=jsonpath={.status.readyReplicas}=3 --timeout=30s"
        await ok(kubectl, ready, home)
        left = f"get pods --field-selector=spec.nodeName={node},status.phase=Running -o name"
        assert not await ok(kubectl, left, home)
    finally:
        assert await ok(kubectl, f"uncordon {node}") == f"node/{node} uncordoned"


async def test_a_budget_keeps_pods_from_being_drained(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx", home)
    await ok(kubectl, "create pdb web --selector=app=web --min-available=1", home)
    await ok(kubectl, "wait deploy/web --for=condition=Available --timeout=30s", home)
    await ok(kubectl, "wait pdb/web --for=jsonpath={.status.currentHealthy}=1 --timeout=30s", home)
    node = await ok(kubectl, "get pods -o jsonpath={.items[0].spec.nodeName}", home)
    try:
        refused = await kubectl.run(f"drain {node} --pod-selector=app=web --timeout=2s")
        assert refused.code == 1
        assert "Cannot evict pod as it would violate the pod's disruption budget." in refused.err
    finally:
        await ok(kubectl, f"uncordon {node}")
        await ok(kubectl, "delete pdb web", home)


async def test_a_node_is_tainted_and_described(kubectl: Kubectl) -> None:
    assert await ok(kubectl, "taint node node-1 a=b:PreferNoSchedule") == "node/node-1 tainted"
    stated = await ok(kubectl, "describe node node-1")
    assert re.search(r"Taints:\s+a=b:PreferNoSchedule", stated)
    assert "Allocated resources:" in stated
    assert await ok(kubectl, "taint node node-1 a-") == "node/node-1 untainted"
    assert await ok(kubectl, "label node node-1 zone=x") == "node/node-1 labeled"
    assert await ok(kubectl, "get nodes -l zone=x -o name") == "node/node-1"
    await ok(kubectl, "label node node-1 zone-")


async def test_a_namespace_takes_all_along(kubectl: Kubectl, home: str) -> None:
    await ok(kubectl, "create deployment web --image=nginx", home)
    await ok(kubectl, "wait deploy/web --for=condition=Available --timeout=30s", home)
    await ok(kubectl, f"delete ns {home} --timeout=60s")
    assert (await kubectl.run(f"get ns {home}")).code == 1


async def test_tokens_speak_for_their_account(
    up: UpProcess, kubectl: Kubectl, home: str, tmp_path: Path
) -> None:
    await ok(kubectl, "create sa robot", home)
    token = await ok(kubectl, "create token robot --duration=1h", home)
    config = json.loads(await ok(kubectl, "config view --raw -o json"))
    config["users"][0]["user"] = {"token": token}
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "config").write_text(json.dumps(config))
    robot = Kubectl(theirs, theirs / "config")
    who = json.loads(await ok(robot, "auth whoami -o json"))
    assert who["status"]["userInfo"]["username"] == f"system:serviceaccount:{home}:robot"
    refused = await robot.run("get pods", home)
    assert "Forbidden" in refused.err


async def test_orders_can_be_handled_like_anything(kubectl: Kubectl, home: str) -> None:
    order = (SEEDS / "000-order-my-order.yaml").read_text().replace("namespace: default", "")
    (kubectl.folder / "order.yaml").write_text(order)
    await ok(kubectl, "apply -f order.yaml", home)
    shown = await ok(kubectl, "get kord my-order --no-headers", home)
    assert shown.split()[:2] == ["my-order", "OneTime"]
    await ok(kubectl, "scale order my-order --replicas=5", home)
    await ok(kubectl, "wait order/my-order --for=jsonpath={.spec.replicas}=5 --timeout=5s", home)
    assert await ok(kubectl, "get order my-order --subresource=scale -o jsonpath={.spec}", home)
    assert re.search(r"Replicas:\s+5", await ok(kubectl, "describe order my-order", home))
    odd = await kubectl.run("scale order my-order --replicas=-1", home)
    assert odd.code == 1
    wrong = 'patch order my-order --type=merge -p \'{"spec":{"strategy":{"type":"Odd"}}}\''
    assert 'Unsupported value: "Odd"' in (await kubectl.run(wrong, home)).err
    assert await ok(kubectl, "label order my-order a=b", home)
    assert "How many tickets" in await ok(kubectl, "explain order.spec.replicas")
    assert "nodeSelector" in await ok(kubectl, "explain order --recursive")
    await ok(kubectl, "delete order my-order --timeout=30s", home)
    assert (await kubectl.run("get order my-order", home)).code == 1


async def test_explain_knows_all_members(kubectl: Kubectl) -> None:
    stated = await ok(kubectl, "explain pod.spec --recursive")
    assert re.search(r"^\s+image\t<string>", stated, re.MULTILINE)
    assert re.search(r"^\s+containers\t<\[\]Container> -required-", stated, re.MULTILINE)
    short = await ok(kubectl, "explain deploy.spec.strategy.type")
    assert "Recreate" in short
    assert "FIELDS:" in await ok(kubectl, "explain cm --output=plaintext-openapiv2")
    assert (await kubectl.run("explain cm.nothing")).code == 1


async def test_the_cluster_speaks_of_itself(kubectl: Kubectl) -> None:
    assert "is running at" in await ok(kubectl, "cluster-info")
    version = json.loads(await ok(kubectl, "version -o json"))
    assert version["serverVersion"]["gitVersion"].startswith("v1.36")
    versions = (await ok(kubectl, "api-versions")).split()
    assert {"v1", "apps/v1", "batch/v1", "apiextensions.k8s.io/v1"} <= set(versions)
    assert "yes" in await ok(kubectl, "auth can-i '*' '*'")
    assert await ok(kubectl, "get --raw /readyz") == "ok"


async def test_long_lists_come_in_pieces(kubectl: Kubectl, home: str) -> None:
    for name in "cab":
        await ok(kubectl, f"create cm {name} --from-literal=n={name}", home)
    found = await ok(kubectl, "get cm --chunk-size=1 -o name --sort-by=.data.n", home)
    assert [each for each in found.split() if "kube-root" not in each] == [
        "configmap/a",
        "configmap/b",
        "configmap/c",
    ]
    assert home in await ok(kubectl, "get cm -A --show-labels")
