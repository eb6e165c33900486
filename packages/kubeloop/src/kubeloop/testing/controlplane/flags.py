"""What each program of a control plane is told on its command line.

`plane` calls these functions once, with the files it has written and the ports it has found; a part that is restarted
is told the same again.
"""

from typing import NamedTuple

from kubeloop.net.ports import LOOPBACK
from kubeloop.testing.controlplane.files import UNTHROTTLED, Files
from kubeloop.testing.controlplane.programs import CONTROLLER_MANAGER, SCHEDULER

Flags = tuple[str, ...]


class Ports(NamedTuple):
    """The ports of a plane, all on loopback."""

    etcd: int
    etcd_peers: int
    apiserver: int
    scheduler: int
    controller_manager: int


def etcd(files: Files, ports: Ports, *, durable: bool) -> Flags:
    """A cluster of one, which waits for the disk only if it is to be durable."""
    clients = f"http://{LOOPBACK}:{ports.etcd}"
    peers = f"http://{LOOPBACK}:{ports.etcd_peers}"
    return (
        f"--data-dir={files.etcd_data}",
        *(() if durable else ("--unsafe-no-fsync",)),
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    )


def apiserver(files: Files, ports: Ports, *, audited: bool, service_accounts: bool) -> Flags:
    """An API server that knows its users by tokens and their rights by RBAC."""
    flags = (
        *_serving(files, ports.apiserver),
        f"--advertise-address={LOOPBACK}",
        # There is no network in which the `kubernetes` service could have an endpoint.
        "--endpoint-reconciler-type=none",
        f"--etcd-servers=http://{LOOPBACK}:{ports.etcd}",
        f"--service-account-issuer=https://{LOOPBACK}:{ports.apiserver}",
        f"--service-account-key-file={files.certificate}",
        f"--service-account-signing-key-file={files.key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--token-auth-file={files.tokens}",
        "--authorization-mode=RBAC",
        # Without it open watches hold up a shutdown for a minute.
        "--shutdown-watch-termination-grace-period=5s",
    )
    if audited:
        flags += (
            f"--audit-policy-file={files.audit_policy}",
            f"--audit-log-path={files.audit_log}",
            # One file, however long it gets.
            "--audit-log-maxsize=10000",
        )
    if not service_accounts:
        flags += ("--disable-admission-plugins=ServiceAccount",)
    return flags


def scheduler(files: Files, ports: Ports) -> Flags:
    """A scheduler that takes everything else from its configuration file."""
    return (
        f"--config={files.scheduler}",
        *_serving(files, ports.scheduler),
        *_delegating(files, SCHEDULER),
    )


def controller_manager(files: Files, ports: Ports) -> Flags:
    """All controllers that are on by default, at once and unthrottled."""
    return (
        f"--kubeconfig={files.kubeconfig(CONTROLLER_MANAGER)}",
        "--leader-elect=false",
        f"--kube-api-qps={UNTHROTTLED}",
        f"--kube-api-burst={UNTHROTTLED}",
        f"--service-account-private-key-file={files.key}",
        f"--root-ca-file={files.authority}",
        *_serving(files, ports.controller_manager),
        *_delegating(files, CONTROLLER_MANAGER),
    )


def _serving(files: Files, port: int) -> Flags:
    return (
        f"--secure-port={port}",
        f"--bind-address={LOOPBACK}",
        f"--tls-cert-file={files.certificate}",
        f"--tls-private-key-file={files.key}",
    )


def _delegating(files: Files, program: str) -> Flags:
    """Lets the API server decide who may read a program's metrics."""
    return (
        f"--authentication-kubeconfig={files.kubeconfig(program)}",
        f"--authorization-kubeconfig={files.kubeconfig(program)}",
        "--authentication-skip-lookup",
    )
