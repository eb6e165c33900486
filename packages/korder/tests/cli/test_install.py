"""`korder install` and `korder uninstall` on the embedded cluster, and what they say when they cannot."""

import asyncio
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
import subprocess
from threading import Thread

import pytest
from tests.cli.conftest import typed
import yaml

from korder.testing.up import UpProcess

Korder = Callable[..., subprocess.CompletedProcess[str]]

TICKET = """
apiVersion: core.korder.dev/v1alpha1
kind: Ticket
metadata: {name: held, finalizers: [korder.dev/ticket-finalizer]}
spec: {startTime: "2090-01-01T00:00:00Z"}
"""

SOMEBODYS = """
{apiVersion: v1, kind: Namespace, metadata: {name: tools, labels: {team: a}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: dear, namespace: tools}}
"""

KEPT_BY_MANAGERS = """
{apiVersion: v1, kind: Secret, metadata: {name: korder-webhook, namespace: tools}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: korder-manager, namespace: tools}}
"""

KEPT_BY_OTHERS = """
{apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: tools}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: theirs, namespace: tools}}
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: used, namespace: default, finalizers: [korder.dev/return]}
spec: {containers: [{name: main, image: pause}]}
"""


def kinds(text: str) -> set[str]:
    return {body["kind"] for body in yaml.safe_load_all(text)}


def test_print_shows_everything_and_needs_no_cluster(quick: Korder) -> None:
    done = quick("install", "--print", "--admission=webhook", "--image", "example.com/korder")
    assert (done.returncode, done.stderr) == (0, "")
    assert kinds(done.stdout) == {
        "CustomResourceDefinition",
        "Namespace",
        "PriorityClass",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Service",
        "Deployment",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }


def test_print_without_a_cluster_names_the_admission_it_assumes(korder: Korder) -> None:
    done = korder("install", "--print", HOME="/nonexistent", KUBECONFIG="")
    assert done.returncode == 0
    assert "no cluster is known" in done.stderr
    assert "printed for --admission=policy" in done.stderr
    assert "MutatingAdmissionPolicy" in done.stdout


def test_print_of_policies_has_no_webhooks(quick: Korder) -> None:
    done = quick("install", "--print", "--admission=policy")
    assert not {each for each in kinds(done.stdout) if "Webhook" in each}
    assert "MutatingAdmissionPolicy" in kinds(done.stdout)


def test_an_address_that_is_none(quick: Korder) -> None:
    done = quick("install", "--webhook-url", "http://x")
    assert done.returncode == 2
    assert "is not an address such as https://10.0.0.5:9443" in done.stderr


@pytest.mark.parametrize("verb", ["install --print --admission=policy", "install", "uninstall"])
def test_a_namespace_that_cannot_be_is_refused_before_anything_is_done(
    quick: Korder, verb: str
) -> None:
    done = quick(*verb.split(), "--namespace", "Team_A")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'Team_A' is not the name of a namespace" in done.stderr


class Older(BaseHTTPRequestHandler):
    """What a server from before 1.36 says that it serves."""

    def do_GET(self) -> None:
        found = b"{}"
        if self.path == "/version":
            found = b'{"major": "1", "minor": "29", "gitVersion": "v1.29.0"}'
        elif "v=v2beta1" in self.headers["Accept"]:
            found = b'{"kind": "APIGroupDiscoveryList", "items": []}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of a server that has no mutating policies."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Older) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        config = tmp_path / "older.kubeconfig"
        url = f"http://127.0.0.1:{server.server_port}"
        named = {"cluster": "a", "user": "a"}
        config.write_text(
            yaml.safe_dump(
                {
                    "clusters": [{"name": "a", "cluster": {"server": url}}],
                    "users": [{"name": "a", "user": {}}],
                    "contexts": [{"name": "a", "context": named}],
                    "current-context": "a",
                }
            )
        )
        yield config
        server.shutdown()
        thread.join()


@pytest.mark.enable_socket
def test_a_server_without_mutating_policies_gets_webhooks(tmp_path: Path, older: Path) -> None:
    def install(*args: str) -> subprocess.CompletedProcess[str]:
        return typed(tmp_path, "install", "--print", f"--kubeconfig={older}", *args)

    shown = install("--webhook-url=https://127.0.0.1:1")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert {each for each in kinds(shown.stdout) if "Webhook" in each}
    assert not {each for each in kinds(shown.stdout) if "MutatingAdmissionPolicy" in each}
    refused = install()
    assert refused.returncode == 1
    assert refused.stderr.startswith("korder: webhooks need a manager that the API server can")


@pytest.fixture
def of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose cluster may be taken apart."""
    home = tmp_path_factory.mktemp("home")
    up = UpProcess(home / ".local" / "share" / "korder", "--memory", "--nodes", "1")
    up.folder.mkdir(parents=True)
    asyncio.run(up.start())
    yield home
    asyncio.run(up.stop())


@pytest.mark.enable_socket
def test_install_change_the_means_of_admission_and_uninstall(of_its_own: Path) -> None:
    def korder(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return typed(of_its_own, *args, stdin=stdin)

    shown = korder("install", "--print").stdout
    assert "MutatingAdmissionPolicy" in kinds(shown), "the embedded server needs no webhooks"

    refused = korder("install", "--admission=webhook")
    assert refused.returncode == 1
    assert refused.stderr.startswith(
        "korder: webhooks need a manager that the API server can reach"
    )

    elsewhere = ("--webhook-url=https://127.0.0.1:1", "--manager-user=someone")
    hooked = korder("install", "--admission=webhook", *elsewhere)
    assert (hooked.returncode, hooked.stderr) == (0, "")
    assert "no manager was deployed: run `korder manager` as someone" in hooked.stdout
    assert (
        "mutatingadmissionpolicy.admissionregistration.k8s.io/korder-pods removed" in hooked.stdout
    )
    back = korder("install", "--image", "example.com/korder:1")
    assert "deployment.apps/korder-controller-manager applied" in back.stdout
    assert "webhookconfiguration.admissionregistration.k8s.io/korder-webhook removed" in back.stdout
    again = korder("install", "--manager-user", "someone").stdout
    assert "removed" not in again, "repeating it changes nothing"
    assert "no manager was deployed" not in again
    assert "the manager that was deployed before stays as it is" in again

    assert korder("apply", "-f", "-", stdin=TICKET).returncode == 0
    assert korder("apply", "-f", "-", stdin=POD).returncode == 0
    kept = korder("uninstall")
    assert kept.returncode == 1
    assert kept.stderr == (
        "korder: tickets/default/held would be lost: delete them first, or say --purge\n"
    )

    purged = korder("uninstall", "--purge")
    assert (purged.returncode, purged.stderr) == (0, "")
    assert "tickets/default/held deleted" in purged.stdout
    assert "pods/default/used released" in purged.stdout, "no finalizer of ours stays"
    assert "namespace/korder-system removed" in purged.stdout
    assert korder("get", "orders").returncode == 1, "the kind is gone"
    assert korder("uninstall").returncode == 0, "there is nothing left to take away"


@pytest.mark.enable_socket
def test_a_namespace_that_was_there_before_stays_with_all_that_is_in_it(of_its_own: Path) -> None:
    assert typed(of_its_own, "apply", "-f", "-", stdin=SOMEBODYS).returncode == 0
    for _ in range(2):
        assert typed(of_its_own, "install", "--namespace", "tools").returncode == 0
    gone = typed(of_its_own, "uninstall", "--namespace", "tools")
    assert (gone.returncode, gone.stderr) == (0, "")
    assert "namespace/tools stays: it was there before korder" in gone.stdout
    assert "dear" in typed(of_its_own, "get", "cm", "-n", "tools").stdout
    assert "part-of" not in typed(of_its_own, "get", "ns", "tools", "-o", "yaml").stdout


@pytest.mark.enable_socket
def test_what_managers_keep_goes_though_the_namespace_stays(of_its_own: Path) -> None:
    def korder(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return typed(of_its_own, *args, stdin=stdin)

    written = f"{SOMEBODYS}---{KEPT_BY_MANAGERS}---{KEPT_BY_OTHERS}"
    assert korder("apply", "-f", "-", stdin=written).returncode == 0
    assert korder("install", "--namespace", "tools").returncode == 0
    gone = korder("uninstall", "--namespace", "tools")
    assert (gone.returncode, gone.stderr) == (0, "")
    _, without_rights = gone.stdout.split("\nrole.rbac.authorization.k8s.io/", maxsplit=1)
    assert "secret/korder-webhook removed" in without_rights, "or a manager would make it anew"
    assert "lease.coordination.k8s.io/korder-manager removed" in without_rights
    left = korder("get", "secrets,leases", "-n", "tools", "-o", "name").stdout.split()
    assert left == ["secret/theirs", "lease.coordination.k8s.io/theirs"]
    again = korder("uninstall", "--namespace", "tools")
    assert (again.returncode, again.stdout) == (
        0,
        "namespace/tools stays: it was there before korder\n",
    )


@pytest.mark.enable_socket
def test_uninstall_takes_nothing_away_where_korder_lives_in_another_namespace(
    of_its_own: Path,
) -> None:
    def korder(*args: str) -> subprocess.CompletedProcess[str]:
        return typed(of_its_own, *args)

    installed = korder("install", "--namespace", "tools", "--image", "example.com/korder:1")
    assert (installed.returncode, installed.stderr) == (0, "")
    for flags in ((), ("--purge",)):
        refused = korder("uninstall", *flags)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr == "korder: korder lives in namespace tools: say --namespace tools\n"
    assert korder("get", "orders").returncode == 0, "nothing was taken away"
    gone = korder("uninstall", "--namespace", "tools")
    assert (gone.returncode, gone.stderr) == (0, "")
    assert "deployment.apps/korder-controller-manager removed" in gone.stdout
    assert korder("uninstall").returncode == 0, "nobody says any more where it lived"


@pytest.mark.enable_socket
def test_the_service_in_front_of_webhooks_goes_with_them(of_its_own: Path) -> None:
    def install(*args: str) -> subprocess.CompletedProcess[str]:
        return typed(of_its_own, "install", "--image", "example.com/korder:1", *args)

    hooked = install("--admission=webhook")
    assert "service/korder-webhook applied" in hooked.stdout
    changed = install("--admission=policy")
    assert (changed.returncode, changed.stderr) == (0, "")
    assert changed.stdout.endswith("service/korder-webhook removed\n"), "after who calls it"
    assert "service/korder-webhook" not in install("--admission=policy").stdout
