"""The invariants as a whole: each is documented, none objects to what is legal, and none costs more when the cluster grows."""

from pathlib import Path
import random
import sys

from hypothesis import given, settings, strategies as st

from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import REPLICA_SETS
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod
from pocketkube.simulation.invariants.catalogue import standard
from pocketkube.testing.story import Story

DOCS = Path(__file__).parents[5] / "docs" / "simulation.md"


def test_the_documentation_lists_every_invariant_and_its_promise() -> None:
    _, _, section = DOCS.read_text().partition("\n## What the auditor checks\n")
    section, _, _ = section.partition("\n## ")
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{each.name}` | {each.promise} |" for each in standard()]


def test_every_promise_is_one_sentence() -> None:
    for each in standard():
        assert each.promise[0].isupper()
        assert each.promise.endswith(".")
        assert each.promise.count(". ") == 0


class LegalCluster:
    """A cluster in which everybody does what he should, told as a story."""

    def __init__(self, seed: int, nodes: int) -> None:
        self.rng = random.Random(seed)
        self.story = Story(*standard())
        self.pods: dict[str, PodBuilder] = {}
        self.made = 0
        self.free = {f"node-{n}": 4 for n in range(nodes)}
        self.owner: Builder = self._owner(0)
        self.story.tell(*map(a_node, self.free), self.owner)

    def step(self) -> None:
        """Does one legal thing."""
        actions = [self.wait, self.scale, self.make, self.bind, self.end, self.remove]
        self.rng.choice(actions)()

    def wait(self) -> None:
        self.story.wait(self.rng.uniform(0, 20))

    def scale(self) -> None:
        self.owner = self._owner(self.rng.randrange(10))
        self.story.tell(self.owner)

    def make(self) -> None:
        if len(self._in("")) + len(self._in("Running")) < self._wanted:
            self.made += 1
            pod = a_pod(f"pod-{self.made}").requesting(cpu=str(self.rng.randrange(3)))
            self._put(pod.owned_by(REPLICA_SETS, self.owner.stored("owner").build()), "controllers")

    def bind(self) -> None:
        for pod in self._in("")[:1]:
            cpu = self._cpu(pod)
            node = next((name for name, free in self.free.items() if free >= cpu), None)
            if node is not None:
                self.free[node] -= cpu
                bound = pod.on(node)
                self._put(bound, "scheduler")
                started = {"status": {"startTime": "2026-01-01T00:00:00Z"}}
                self._put(bound.in_phase("Running").but(started), "nodes")

    def end(self) -> None:
        for pod in self._in("Running")[:1]:
            self._leave(pod)
            self._put(pod.in_phase(self.rng.choice(("Succeeded", "Failed"))), "nodes")

    def remove(self) -> None:
        if self.pods:
            name = self.rng.choice(list(self.pods))
            pod = self.pods.pop(name)
            if _phase(pod) == "Running":
                self._leave(pod)
            self.story.tell(pod.deleted_at(self.story.now))
            self.story.lose(pod)

    def _owner(self, replicas: int) -> Builder:
        self._wanted = replicas
        meta: JSON = {"name": "web", "namespace": "default", "uid": "owner"}
        return Builder(REPLICA_SETS, {"metadata": meta, "spec": {"replicas": replicas}})

    def _put(self, pod: PodBuilder, by: str) -> None:
        self.pods[pod.build().metadata.name] = pod
        self.story.tell(pod, by=by)

    def _leave(self, pod: PodBuilder) -> None:
        self.free[pod.build().spec.node_name] += self._cpu(pod)

    def _in(self, phase: str) -> list[PodBuilder]:
        return [pod for pod in self.pods.values() if _phase(pod) == phase]

    def _cpu(self, pod: PodBuilder) -> int:
        return int(pod.build().spec.containers[0].resources.requests["cpu"])


def _phase(pod: PodBuilder) -> str:
    return pod.build().status.phase


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_random_legal_histories_break_no_promise(seed: int, nodes: int) -> None:
    cluster = LegalCluster(seed, nodes)
    for _ in range(60):
        cluster.step()
    assert cluster.story.broken == []


def live(story: Story) -> None:
    pod = a_pod("web").requesting(cpu="1")
    story.tell(pod)
    story.tell(pod.on("node-1"), by="scheduler")
    story.lose(pod)


def calls_per_life(size: int) -> int:
    """How many functions are called for a pod that comes, is bound and goes, among `size` nodes with four pods each."""
    story = Story(*standard())
    story.tell(*(a_node(f"node-{n}") for n in range(size)))
    story.tell(*(a_pod(f"old-{n}").on(f"node-{n % size}") for n in range(4 * size)))
    story.wait(60)
    live(story)
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        live(story)
    finally:
        sys.setprofile(None)
    return calls


def test_a_commit_costs_the_same_in_a_large_cluster() -> None:
    assert calls_per_life(300) == calls_per_life(10)
