"""What cannot be simulated ends in one sentence and exit code 2, before anything is played."""

from collections.abc import Callable
from pathlib import Path
import subprocess

import pytest

Korder = Callable[..., subprocess.CompletedProcess[str]]

POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: c, image: i}]}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: LABEL}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: CPU}}}]}
"""


def a_deployment(replicas: str = "1", label: str = "web", cpu: str = "1") -> str:
    return (
        DEPLOYMENT.replace("REPLICAS", replicas).replace("LABEL", label).replace("CPU", f"{cpu!r}")
    )


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The only line on standard error."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("korder: ")
    return line


@pytest.mark.parametrize(
    ("flags", "stated"),
    [
        pytest.param(["--nodes", "0"], "--nodes: 0 is not between 1 and 5000", id="no nodes"),
        pytest.param(["--nodes", "-3"], "--nodes: -3 is not", id="fewer than no nodes"),
        pytest.param(["--nodes", "99999"], "--nodes: 99999 is not", id="too many nodes"),
        pytest.param(["--node-shape", "big"], "'big' is not resource=quantity", id="no shape"),
        pytest.param(["--node-shape", "cpu=lots"], "cpu: 'lots' is not a quantity", id="no amount"),
        pytest.param(
            ["--node-shape", "cpu=-1"], "cpu: -1 is not an amount", id="less than nothing"
        ),
        pytest.param(["--node-shape", "cpu=0"], "without cpu can run nothing", id="no cpu at all"),
        pytest.param(["--node-shape", "pods=0"], "without pods can run", id="no place for pods"),
        pytest.param(["--node-shape", "cpu=1,cpu=2"], "cpu is said twice", id="cpu twice"),
        pytest.param(["--node-shape", "cpus=4"], "'cpus' is nothing a node has", id="a slip"),
        pytest.param(["--from", "friday"], "--from: 'friday' is no instant", id="no start"),
        pytest.param(["--from", "2026-02-30"], "--from: '2026-02-30' is no", id="no such day"),
        pytest.param(["--to", "2026-01-02T10:00"], "--to: '2026-01-02T10:00'", id="no time zone"),
        pytest.param(["--to", "2025-12-31"], "is not after --from", id="it ends before it starts"),
        pytest.param(["--to", "2028-01-01"], "730 days is too long", id="two years"),
        pytest.param(["--for", "a day"], "--for: 'a day' is not a duration", id="no duration"),
        pytest.param(["--for", "10ms"], "--for: 10ms is too short", id="an instant"),
        pytest.param(["--for", "-1h"], "--for: -1h is too short", id="backwards"),
        pytest.param(["--for", "20000h"], "--for: 20000h is too long", id="for ever"),
        pytest.param(
            ["--for", "1h", "--to", "2026-01-02"], "--to and --for both say", id="two ends"
        ),
        pytest.param(["--faults", "some"], "--faults: 'some' is no share", id="no share"),
        pytest.param(["--faults", "5"], "or is 5% meant?", id="a share without its sign"),
        pytest.param(["--faults", "60%"], "60% is not between 0% and 50%", id="too many faults"),
        pytest.param(["--faults", "-1%"], "--faults: '-1%' is no share", id="fewer than no faults"),
        pytest.param(["--jobs-take", "soon"], "--jobs-take: 'soon' is not", id="no length of jobs"),
        pytest.param(["-o", "pdf"], "--output: 'pdf' is no form; there are text", id="no form"),
        pytest.param(["-o", "html="], "html= names no file", id="no file"),
        pytest.param(["-o", "json", "-o", "html"], "json and html cannot both", id="two on screen"),
        pytest.param(["-o", "html=/"], "--output: / is a folder", id="a folder for a page"),
        pytest.param(["-o", "json=/no/such/x"], "the folder /no/such is not there", id="no folder"),
        pytest.param(["--journal", "/no/such/x"], "--journal: the folder", id="no place to write"),
        pytest.param(
            ["--like-cluster", "--nodes", "3"], "leave out --nodes", id="two kinds of nodes"
        ),
        pytest.param(
            ["--like-cluster", "--node-shape", "cpu=1"], "leave out --node-shape", id="two shapes"
        ),
        pytest.param(["--context", "prod"], "only read with --like-cluster", id="an idle context"),
        pytest.param(["--workload", "0"], "--workload: 0 is not between", id="no users"),
        pytest.param(
            ["--workload", "9", "--node-shape", "cpu=1"], "leave out --node-shape", id="whose nodes"
        ),
        pytest.param(
            ["--workload", "9", "--for", "19m"], "--workload needs a run of 20m", id="too short"
        ),
        pytest.param(
            ["--faults", "1%", "--for", "1m"], "--faults needs a run of 20m", id="no time to heal"
        ),
        pytest.param(["--replay", "x"], "--replay plays everything as it was", id="a new replay"),
    ],
)
def test_flags_that_cannot_be_meant(
    quick: Korder, tmp_path: Path, flags: list[str], stated: str
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    assert stated in sentence(quick("simulate", "-f", str(tmp_path / "pod.yaml"), *flags))


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        pytest.param("kind: [", "is not YAML", id="not YAML"),
        pytest.param("- 1\n- 2\n", "an object with apiVersion and kind is wanted", id="no object"),
        pytest.param("", "there is no object in it", id="nothing"),
        pytest.param(POD.replace("{name: one}", "{}"), "metadata.name is missing", id="no name"),
        pytest.param(POD.replace("name: one", "name: One_"), "metadata.name", id="a bad name"),
        pytest.param(
            POD.replace("kind: Pod", "kind: Pdo"), "does not serve Pdo of v1", id="no such kind"
        ),
        pytest.param(
            POD.replace("containers", "container"), "spec.container", id="a field nobody knows"
        ),
        pytest.param(a_deployment(label="app"), "selector", id="a selector that misses its pods"),
        pytest.param(a_deployment(replicas="-1"), "spec.replicas", id="fewer than no replicas"),
        pytest.param(a_deployment(replicas="many"), "replicas", id="a word for a number"),
        pytest.param(a_deployment(cpu="much"), "quantit", id="no quantity"),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
            "nothing in these manifests makes pods",
            id="nothing that makes pods",
        ),
    ],
)
def test_manifests_that_no_server_takes(
    quick: Korder, tmp_path: Path, text: str, stated: str
) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(text)
    done = quick("simulate", "-f", str(file))
    assert stated in sentence(done)
    assert "makes pods" in stated or str(file) in done.stderr


def test_every_bad_document_is_reported_with_its_place(quick: Korder, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("---".join([POD, a_deployment(replicas="-1"), a_deployment(label="app")]))
    done = quick("simulate", "-f", str(file))
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith(f"korder: {file}, document 2: ")
    assert second.startswith(f"korder: {file}, document 3: ")


def test_nothing_to_play(quick: Korder) -> None:
    assert "say -f FILE, --workload PODS or --replay FILE" in sentence(quick("simulate"))


def test_a_file_that_is_not_there(quick: Korder, tmp_path: Path) -> None:
    assert "No such file" in sentence(quick("simulate", "-f", str(tmp_path / "gone.yaml")))


def test_a_folder_without_manifests(quick: Korder, tmp_path: Path) -> None:
    assert "holds no .yaml" in sentence(quick("simulate", "-f", str(tmp_path)))


def test_a_cluster_that_is_not_there(quick: Korder) -> None:
    stated = sentence(quick("simulate", "-f", "-", "--like-cluster", stdin=POD))
    assert "no cluster is known" in stated


def test_a_replay_of_something_else(quick: Korder, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    stated = sentence(quick("simulate", "--replay", str(tmp_path / "x")))
    assert "was not written by `korder simulate --journal`" in stated


def test_a_quota_is_stored_and_a_note_says_that_nothing_acts_on_it(quick: Korder) -> None:
    seed = Path(__file__).parents[1] / "seeds" / "000-quota-team-quota.yaml"
    done = quick("simulate", "-f", str(seed))
    assert done.returncode == 2
    assert "Quota team-quota is stored, but nothing acts on it yet" in done.stderr
