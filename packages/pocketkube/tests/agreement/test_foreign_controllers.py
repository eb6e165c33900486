"""The unmodified kube-scheduler and kube-controller-manager in place of our actors: they take `korder up` for a cluster of theirs.

Both run with the rights they have on every cluster and no more: the scheduler as its own user, each controller with a
token of its own service account. Nodes and kubelets are ours.
"""

import asyncio
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
import json
import os
from pathlib import Path
import re
import secrets
import subprocess
from typing import Any

import pytest
import yaml

from korder.testing.up import UpProcess
from kubeloop.testing.controlplane import programs
from kubeloop.testing.processes import Process

JSON = "application/json"
PATIENCE = "--timeout=40s"
USUAL = (
    "The manifest file is empty, ignoring",
    "the object has been modified",
    "because it is being terminated",
    r"read version: \d+ is not as new as written version",
    r'\w+ \\"[^"]+\\" (not found|already exists)',
)
"""What they complain about in every cluster: lost races, which they try again."""

Kubectl = Callable[..., str]

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
"""

DATABASE = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
"""

AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1"}]}
"""

WORK = """
apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
  completions: 2
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: work, image: "work:1"}]
"""

BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""

QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {pods: "4", requests.cpu: "1"}}
"""

VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: NAMESPACE}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
  storageClassName: NAMESPACE
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  storageClassName: NAMESPACE
"""

READER = """
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  containers: [{name: app, image: "app:1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""

DEVICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: device}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: none}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting}
spec:
  resourceClaims: [{name: device, resourceClaimTemplateName: device}]
  containers: [{name: app, image: "app:1", resources: {claims: [{name: device}]}}]
"""

GHOST = """
apiVersion: v1
kind: Node
metadata: {name: ghost}
---
apiVersion: v1
kind: Pod
metadata: {name: stranded, namespace: NAMESPACE}
spec:
  nodeName: ghost
  containers: [{name: app, image: "app:1"}]
  tolerations:
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
"""

OWNED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: parent, uid: UID}]
"""


class Foreigners:
    """A cluster of ours with a scheduler and controllers of theirs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.up = UpProcess(folder / "up", "--without", "scheduler", "--without", "controllers")
        self.scheduler = self._process(programs.SCHEDULER, f"--config={folder / 'scheduler.yaml'}")
        self.controllers = self._process(
            programs.CONTROLLER_MANAGER,
            f"--kubeconfig={self._kubeconfig(programs.CONTROLLER_MANAGER)}",
            f"--kube-api-content-type={JSON}",
            "--kube-api-qps=5000",
            "--kube-api-burst=5000",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={folder / 'signing.key'}",
            f"--root-ca-file={folder / 'ca.crt'}",
            # A node that never reports is given up after this.
            "--node-startup-grace-period=2s",
            "--node-monitor-period=500ms",
        )

    async def start(self) -> None:
        self.up.folder.mkdir()
        await self.up.start()
        try:
            self._write_files()
            await asyncio.gather(self.scheduler.start(), self.controllers.start())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        await asyncio.gather(self.scheduler.stop(), self.controllers.stop())
        await self.up.stop()

    def kubectl(self, *words: str, stdin: str | None = None, fails: bool = False) -> str:
        """Runs kubectl to its end: what it printed, or what it complained about if it is to fail."""
        kubectl = str(programs.find() / programs.KUBECTL)
        command = [kubectl, f"--kubeconfig={self.up.kubeconfig}", *words]
        environment = {**os.environ, "KUBECACHEDIR": str(self.folder / "kubectl")}
        done = subprocess.run(  # noqa: S603
            command, input=stdin, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == fails, f"{words}: {done.stderr}{done.stdout}"
        return done.stderr if fails else done.stdout

    def troubles(self) -> list[str]:
        """Unusual errors and warnings in the logs of both, and requests that ours could not answer."""
        usual = re.compile("|".join(USUAL))
        logs = (self.scheduler.log, self.controllers.log)
        lines = [line for log in logs for line in log.read_text().splitlines()]
        theirs = [
            line for line in lines if line.startswith(("E", "W", "F")) and not usual.search(line)
        ]
        ours = (self.up.folder / "up.log").read_text().splitlines()
        return theirs + [line for line in ours if "request failed" in line]

    def waiting(self) -> Counter[str]:
        """The kinds that one of them wants to know and has not been told."""
        log = self.scheduler.log.read_text() + self.controllers.log.read_text()
        started = Counter(re.findall(r'"Starting reflector" type="(\S+)"', log))
        return started - Counter(re.findall(r'"Caches populated" type="(\S+)"', log))

    def _process(self, program: str, *flags: str) -> Process:
        log = self.folder / f"{program}.log"

        async def leads() -> bool:
            return "Successfully acquired lease" in log.read_text()

        command = (str(programs.find() / program), *flags, "--secure-port=0", "-v=3")
        return Process(program, command, log=log, is_ready=leads, grace=5)

    def _kubeconfig(self, program: str) -> Path:
        return self.folder / f"{program}.kubeconfig"

    def _write_files(self) -> None:
        config = yaml.safe_load(self.up.kubeconfig.read_text())
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        (self.folder / "ca.crt").write_bytes(b64decode(authority))
        kept = json.loads((self.up.folder / "credentials.json").read_text())
        (self.folder / "signing.key").write_text(kept["signingKey"])
        for program in (programs.SCHEDULER, programs.CONTROLLER_MANAGER):
            config["users"][0]["user"]["as"] = f"system:{program}"
            self._kubeconfig(program).write_text(yaml.safe_dump(config))
        settings = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": str(self._kubeconfig(programs.SCHEDULER)),
                "contentType": JSON,
                "acceptContentTypes": JSON,
                "qps": 5000,
                "burst": 5000,
            },
        }
        (self.folder / "scheduler.yaml").write_text(yaml.safe_dump(settings))


@pytest.fixture(scope="module")
def foreigners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreigners]:
    foreigners = Foreigners(tmp_path_factory.mktemp("foreigners"))
    asyncio.run(foreigners.start())
    yield foreigners
    asyncio.run(foreigners.stop())


@pytest.fixture
def kubectl(foreigners: Foreigners) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own; its deletion begins when the test ends."""
    name = f"test-{secrets.token_hex(4)}"
    foreigners.kubectl("create", "namespace", name)
    foreigners.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default", PATIENCE)

    def run(*words: str, **options: Any) -> str:
        return foreigners.kubectl("--namespace", name, *words, **options)

    yield run
    foreigners.kubectl("delete", "namespace", name, "--wait=false")
    assert foreigners.troubles() == []


def name_of_namespace(kubectl: Kubectl) -> str:
    return kubectl("get", "serviceaccount", "default", "-o=jsonpath={.metadata.namespace}")


async def until(check: Callable[[], object], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.1)


def items(kubectl: Kubectl, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kubectl("get", *words, "-o", "json"))["items"]
    return found


async def test_everything_they_list_and_watch_is_served(foreigners: Foreigners) -> None:
    synced = "Garbage collector: all resource monitors have synced"
    await until(lambda: synced in foreigners.controllers.log.read_text(), seconds=90)
    await until(lambda: not foreigners.waiting())
    log = foreigners.scheduler.log.read_text() + foreigners.controllers.log.read_text()
    assert log.count("Caches populated") > 80
    assert "reflector.go" not in "".join(foreigners.troubles())


def test_both_lead_by_a_lease(kubectl: Kubectl) -> None:
    leases = items(kubectl, "leases", "--namespace=kube-system")
    holders = {lease["metadata"]["name"]: lease["spec"]["holderIdentity"] for lease in leases}
    assert holders[programs.SCHEDULER]
    assert holders[programs.CONTROLLER_MANAGER]


def test_a_deployment_rolls_out_is_updated_and_rolled_back(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=WEB)
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    kubectl("set", "image", "deployment/web", "web=web:2")
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    running = [pod for pod in items(kubectl, "pods") if "deletionTimestamp" not in pod["metadata"]]
    assert [pod["spec"]["containers"][0]["image"] for pod in running] == ["web:2"] * 3
    kubectl("rollout", "undo", "deployment/web")
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    assert "REVISION" in kubectl("rollout", "history", "deployment/web")


async def test_a_service_gets_the_addresses_of_its_pods(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=WEB)
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    addresses = {pod["status"]["podIP"] for pod in items(kubectl, "pods")}

    def served() -> set[str]:
        slices = items(kubectl, "endpointslices", "-l", "kubernetes.io/service-name=web")
        ends = (end for found in slices for end in found["endpoints"])
        return {end["addresses"][0] for end in ends if end["conditions"]["ready"]}

    await until(lambda: served() == addresses)


def test_a_stateful_set_numbers_its_pods(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DATABASE)
    kubectl("rollout", "status", "statefulset/db", PATIENCE)
    assert [pod["metadata"]["name"] for pod in items(kubectl, "pods")] == ["db-0", "db-1"]
    kubectl("scale", "statefulset/db", "--replicas=1")
    kubectl("wait", "pod/db-1", "--for=delete", PATIENCE)


def test_a_daemon_set_has_a_pod_on_every_node(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=AGENT)
    kubectl("rollout", "status", "daemonset/agent", PATIENCE)
    # The fifth has GPUs and is tainted for those who want them.
    open_to_all = {f"node-{number}" for number in range(1, 5)}
    assert {pod["spec"]["nodeName"] for pod in items(kubectl, "pods")} == open_to_all


def test_a_job_completes_when_its_pods_have_ended(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=WORK)
    kubectl("wait", "job/work", "--for=jsonpath={.status.ready}=2", PATIENCE)
    # Containers of simulated nodes have nothing to do; these two are ended by hand.
    for pod in items(kubectl, "pods"):
        ended = json.dumps({"status": {"phase": "Succeeded"}})
        kubectl("patch", "pod", pod["metadata"]["name"], "--subresource=status", "-p", ended)
    kubectl("wait", "job/work", "--for=condition=Complete", PATIENCE)
    pods = items(kubectl, "pods")
    assert [pod["metadata"].get("finalizers") for pod in pods] == [None, None]
    kubectl("delete", "job/work")
    kubectl("wait", "pod", "-l", "job-name=work", "--for=delete", PATIENCE)


def test_a_node_is_drained_within_a_budget(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=WEB + "---" + BUDGET)
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    kubectl("wait", "pdb/web", "--for=jsonpath={.status.disruptionsAllowed}=1", PATIENCE)
    node = items(kubectl, "pods")[0]["spec"]["nodeName"]
    try:
        stated = kubectl("drain", node, "--pod-selector=app=web", PATIENCE)
        assert f"node/{node} drained" in stated
        assert not items(kubectl, "pods", f"--field-selector=spec.nodeName={node}")
        kubectl("rollout", "status", "deployment/web", PATIENCE)
        others = {pod["spec"]["nodeName"] for pod in items(kubectl, "pods")}
        assert node not in others
    finally:
        kubectl("uncordon", node)


def test_a_quota_counts_and_refuses(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=QUOTA)
    kubectl("wait", "resourcequota/small", "--for=jsonpath={.status.used.pods}=0", PATIENCE)
    kubectl("apply", "-f", "-", stdin=WEB)
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    kubectl(
        "wait", "resourcequota/small", "--for=jsonpath={.status.used.requests\\.cpu}=300m", PATIENCE
    )
    stated = kubectl("run", "more", "--image=more:1", fails=True)
    assert "must specify requests.cpu" in stated
    kubectl("scale", "deployment/web", "--replicas=1")
    kubectl("wait", "resourcequota/small", "--for=jsonpath={.status.used.pods}=1", PATIENCE)


def test_a_claim_gets_its_volume_and_a_pod_both(kubectl: Kubectl) -> None:
    namespace = name_of_namespace(kubectl)
    kubectl("apply", "-f", "-", stdin=VOLUME.replace("NAMESPACE", namespace))
    try:
        kubectl("wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", PATIENCE)
        kubectl("apply", "-f", "-", stdin=READER)
        kubectl("wait", "pod/reader", "--for=condition=Ready", PATIENCE)
        (claim,) = items(kubectl, "pvc")
        assert claim["spec"]["volumeName"] == namespace
    finally:
        kubectl("delete", "pv", namespace, "--wait=false")


async def test_a_pod_waits_for_a_device_that_is_not_there(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEVICE)
    await until(lambda: items(kubectl, "resourceclaims"))
    missing = "device class none does not exist"
    await until(lambda: missing in kubectl("get", "events", "-o=jsonpath={.items[*].message}"))


def test_what_is_owned_goes_with_its_owner(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "parent")
    uid = kubectl("get", "configmap", "parent", "-o=jsonpath={.metadata.uid}")
    kubectl("apply", "-f", "-", stdin=OWNED.replace("UID", uid))
    kubectl("delete", "configmap", "parent", "--cascade=foreground", PATIENCE)
    kubectl("wait", "configmap/child", "--for=delete", PATIENCE)


def test_what_is_orphaned_stays(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=WEB)
    kubectl("rollout", "status", "deployment/web", PATIENCE)
    kubectl("delete", "deployment", "web", "--cascade=orphan", PATIENCE)
    (left,) = items(kubectl, "replicasets")
    assert "ownerReferences" not in left["metadata"]
    assert len(items(kubectl, "pods")) == 3


def test_a_namespace_goes_with_all_that_is_in_it(foreigners: Foreigners, kubectl: Kubectl) -> None:
    name = f"doomed-{secrets.token_hex(4)}"
    foreigners.kubectl("create", "namespace", name)
    foreigners.kubectl("apply", "-n", name, "-f", "-", stdin=WEB + "---" + DATABASE)
    foreigners.kubectl("rollout", "status", "-n", name, "deployment/web", PATIENCE)
    foreigners.kubectl("delete", "namespace", name, PATIENCE)
    assert "not found" in foreigners.kubectl("get", "namespace", name, fails=True)
    kinds = "pods,replicasets,deployments,statefulsets,services,endpointslices,configmaps"
    assert not foreigners.kubectl("get", kinds, "-n", name, "-o", "name")


def test_a_node_that_is_not_heard_of_loses_its_pods(
    foreigners: Foreigners, kubectl: Kubectl
) -> None:
    try:
        kubectl("apply", "-f", "-", stdin=GHOST.replace("NAMESPACE", name_of_namespace(kubectl)))
        kubectl("wait", "node/ghost", "--for=condition=Ready=Unknown", PATIENCE)
        unreachable = '{.spec.taints[?(@.key=="node.kubernetes.io/unreachable")].effect}'
        kubectl("wait", "pod/stranded", "--for=jsonpath={.metadata.deletionTimestamp}", PATIENCE)
        effects = kubectl("get", "node", "ghost", f"-o=jsonpath={unreachable}").split()
        assert "NoExecute" in effects
    finally:
        kubectl("delete", "node", "ghost")
    # Nobody is left who could stop it: the pod goes with its node.
    kubectl("delete", "pod", "stranded", "--force", "--grace-period=0")
