"""The daily verbs, typed against an embedded cluster."""

import asyncio
from collections.abc import Callable
import json
import os
from pathlib import Path
import pty
import random
import re
import signal
import subprocess
import sys
import termios

import pytest
import yaml

from kubeloop.client.client import Client
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.objects.core import CONFIG_MAPS
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import SystemClock

pytestmark = [pytest.mark.enable_socket, pytest.mark.xdist_group("cli")]

Done = subprocess.CompletedProcess[str]
Korder = Callable[..., Done]


def a_map(name: str, value: str = "1", **labels: str) -> str:
    """A ConfigMap as a document."""
    metadata = {"name": name, "labels": labels}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}}
    return yaml.safe_dump(body)


def printed(done: Done) -> list[str]:
    """The lines of a command that went well; none trails."""
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.rstrip() for line in lines] == lines
    return lines


def test_nodes_are_shown_without_any_configuration(here: Korder) -> None:
    title, *rows = printed(here("get", "nodes"))
    assert title.split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [row.split()[:2] for row in rows] == [["node-1", "Ready"], ["node-2", "Ready"]]


def test_the_namespace_of_korder_is_there(here: Korder) -> None:
    assert printed(here("get", "ns", "korder-system", "-o", "name")) == ["namespace/korder-system"]


def test_rows_of_several_kinds_name_their_kind(here: Korder) -> None:
    lines = printed(here("get", "svc,ns"))
    assert "" in lines
    assert any(line.startswith("service/kubernetes ") for line in lines)
    assert any(line.startswith("namespace/default ") for line in lines)


def test_what_is_there_is_shown_and_what_is_not_is_reported(here: Korder) -> None:
    done = here("get", "ns", "default", "nowhere")
    assert done.returncode == 1
    assert "default" in done.stdout
    assert done.stderr == 'korder: namespaces "nowhere" not found\n'


def test_categories_with_nothing_in_them_say_so_once(here: Korder) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bare"}}
    printed(here("apply", "-f", "-", stdin=json.dumps(namespace)))
    done = here("get", "all", "-n", "bare")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing found in the namespace bare\n"


def test_a_word_with_a_typing_error(here: Korder) -> None:
    done = here("get", "nods")
    assert done.returncode == 1
    assert "is 'nodes' meant?" in done.stderr


def test_objects_as_yaml_and_json(here: Korder) -> None:
    one = yaml.safe_load(here("get", "ns", "default", "-o", "yaml").stdout)
    assert (one["apiVersion"], one["kind"]) == ("v1", "Namespace")
    several = json.loads(here("get", "ns,nodes", "-o", "json").stdout)
    assert {item["kind"] for item in several["items"]} == {"Namespace", "Node"}


def test_apply_says_what_it_did(here: Korder) -> None:
    both = f"{a_map('said-1')}---\n{a_map('said-2')}"
    assert printed(here("apply", "-f", "-", stdin=both)) == [
        "configmap/said-1 created",
        "configmap/said-2 created",
    ]
    changed = f"{a_map('said-1')}---\n{a_map('said-2', '2')}"
    assert printed(
        here("apply", "-f", "-", "--dry-run", stdin=changed + "---\n" + a_map("new"))
    ) == [
        "configmap/said-1 accepted (dry run)",
        "configmap/said-2 accepted (dry run)",
        "configmap/new created (dry run)",
    ]
    assert printed(here("apply", "-f", "-", stdin=changed)) == [
        "configmap/said-1 unchanged",
        "configmap/said-2 configured",
    ]


@pytest.mark.parametrize("verb", ["apply", "delete"])
def test_a_manifest_of_another_namespace_than_was_said_is_left_alone(
    here: Korder, verb: str
) -> None:
    home = "kube-system"
    elsewhere = yaml.safe_load(a_map("stays"))
    elsewhere["metadata"]["namespace"] = home
    both = f"{a_map('first')}---\n{yaml.safe_dump(elsewhere)}"
    refused = here(verb, "-f", "-", "-n", "default", stdin=both)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"korder: standard input, document 2: it names the namespace {home}, and -n says default;"
        f" leave -n out, or say -n {home}\n"
    )


def test_fields_of_others_are_a_conflict_until_they_are_taken_over(
    home: Path, here: Korder
) -> None:
    asyncio.run(somebody_applies(home, "theirs"))
    mine = a_map("theirs", "mine")
    refused = here("apply", "-f", "-", stdin=f"{mine}---\n{a_map('beside')}")
    assert refused.returncode == 1
    assert refused.stderr.startswith("standard input, document 1: ")
    assert 'conflict with "somebody": .data.a' in refused.stderr
    assert "(--force takes the fields over)" in refused.stderr
    assert refused.stdout == "configmap/beside created\n"
    assert printed(here("apply", "-f", "-", "--force", stdin=mine)) == [
        "configmap/theirs configured"
    ]
    assert json.loads(here("get", "cm/theirs", "-o", "json").stdout)["data"] == {"a": "mine"}


async def somebody_applies(home: Path, name: str) -> None:
    """Applies a map as another manager of fields."""
    kubeconfig = home / ".local" / "share" / "korder" / "kubeconfig"
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    client = Client(transport, rng=random.Random(1), field_manager="somebody")
    body = {"data": {"a": "theirs"}}
    await client.patch(CONFIG_MAPS, Key("default", name), body, PatchType.APPLY)
    await transport.close()


def test_a_folder_is_applied_with_all_that_is_in_it_and_deleted(
    here: Korder, tmp_path: Path
) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "b.yml").write_text(a_map("folder-b"))
    (tmp_path / "a.yaml").write_text(a_map("folder-a"))
    (tmp_path / "c.json").write_text(json.dumps(yaml.safe_load(a_map("folder-c"))))
    (tmp_path / "notes.txt").write_text("not a manifest")
    names = [f"configmap/folder-{letter}" for letter in "abc"]
    applied = printed(here("apply", "-f", str(tmp_path)))
    assert sorted(applied) == [f"{name} created" for name in names]
    deleted = printed(here("delete", "-f", str(tmp_path)))
    assert sorted(deleted) == [f"{name} deleted" for name in names]
    assert here("apply", "-f", str(tmp_path / "nothing")).returncode == 1


def test_a_definition_and_its_object_in_one_file(here: Korder, tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.cli.korder.test}
spec:
  group: cli.korder.test
  scope: Namespaced
  names: {plural: toys, singular: toy, kind: Toy}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
---
apiVersion: cli.korder.test/v1
kind: Toy
metadata: {name: car}
""")
    assert printed(here("apply", "-f", str(file)))[1] == "toy.cli.korder.test/car created"
    printed(here("delete", "-f", str(file)))
    assert here("get", "toys").returncode == 1


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        pytest.param("a: [", "is not YAML", id="no YAML"),
        pytest.param("kind: Pod", "document 1: an object with apiVersion and kind", id="no object"),
        pytest.param("---\n", "no object in it", id="nothing"),
        pytest.param("{apiVersion: v1, kind: Pod}", "metadata.name is missing", id="no name"),
        pytest.param(
            "{apiVersion: x/v1, kind: Y, metadata: {name: z}}",
            "document 1: the server does not serve Y of x/v1",
            id="an unknown kind",
        ),
    ],
)
def test_mistakes_in_manifests_are_reported_with_their_place(
    here: Korder, text: str, stated: str
) -> None:
    done = here("apply", "-f", "-", stdin=text)
    assert done.returncode == 1
    assert stated in done.stderr
    assert "standard input" in done.stderr or "-: " in done.stderr


def test_pods_run_and_are_described_and_go(here: Korder) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: told}, spec: {containers: [{name: c, image: i}]}}"
    printed(here("apply", "-f", "-", stdin=pod))
    done = here("describe", "pod/told")
    assert done.stdout.startswith("Pod told, ")
    assert "\nEvents" in done.stdout
    assert "kube-api-access" not in done.stdout
    assert printed(here("delete", "pod", "told")) == ["pod/told deleted"]
    assert here("get", "pod", "told").returncode == 1


def test_deleting_what_is_not_there(here: Korder) -> None:
    done = here("delete", "cm/nothing")
    assert (done.returncode, done.stderr) == (1, 'korder: configmaps "nothing" not found\n')


def test_watching_prints_changes_as_they_come(home: Path, here: Korder) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "korder", "watch", "cm", "-l", "test=watch"],
        env={"HOME": str(home), "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[:2] == ["EVENT", "NAME"]
        printed(here("apply", "-f", "-", stdin=a_map("seen", test="watch")))
        assert watching.stdout.readline().split()[:2] == ["ADDED", "seen"]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130


@pytest.mark.parametrize(
    ("columns", "first"),
    [pytest.param(100, b"NAME", id="a wide one"), pytest.param(30, b"EVENT", id="a narrow one")],
)
def test_a_terminal_that_is_too_narrow_for_the_table_gets_line_after_line(
    home: Path, columns: int, first: bytes
) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with subprocess.Popen(
        [sys.executable, "-m", "korder", "watch", "nodes"],
        env={
            "HOME": str(home),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "TERM": "xterm",
            "NO_COLOR": "1",
        },
        stdin=theirs,
        stdout=theirs,
    ) as watching:
        shown = b""
        while b"node-2" not in shown:
            shown += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130
    os.close(theirs)
    os.close(ours)
    assert re.findall(rb"EVENT|NAME", shown)[0] == first
    assert b"v1.36.3-simulated" in shown


def test_the_embedded_cluster_by_its_word(here: Korder) -> None:
    assert here("get", "pods", "--kubeconfig", "embedded", KUBECONFIG="/nowhere").returncode == 0
