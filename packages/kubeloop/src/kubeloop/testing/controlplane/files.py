"""The files a control plane reads: certificates, users and their kubeconfigs, scheduler settings, audit policy.

`plane` writes them all into its folder before it starts anything and `flags` names them to the programs. One key pair does everything: it serves all
three servers and signs the tokens of service accounts.
"""

import base64
from collections.abc import Iterable, Mapping
import csv
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
import secrets
from typing import Literal

import yaml

from kubeloop.net import certificates
from kubeloop.net.ports import LOOPBACK
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.controlplane.programs import CONTROLLER_MANAGER, SCHEDULER

AuditLevel = Literal["Metadata", "Request", "RequestResponse"]

UNTHROTTLED = 5000
"""Requests per second that scheduler and controllers may send; their defaults would be the bottleneck of every test."""


ADMIN = "admin"
"""The user who may do everything."""

_ALMIGHTY = "system:masters"


@dataclass(frozen=True)
class Files:
    """Knows the place of every file below one folder."""

    folder: Path

    @property
    def etcd_data(self) -> Path:
        return self.folder / "etcd"

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def scheduler(self) -> Path:
        return self.folder / "scheduler.yaml"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit-policy.yaml"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    def log(self, program: str) -> Path:
        return self.folder / f"{program}.log"

    def kubeconfig(self, user: str) -> Path:
        return self.folder / f"{user}.kubeconfig"

    def write_certificates(self) -> None:
        now = SystemClock().now()
        lifetime = certificates.Lifetime(now - timedelta(hours=1), now + timedelta(days=365))
        authority = certificates.make_authority("kubeloop test authority", lifetime)
        pair = certificates.issue(authority, [LOOPBACK, "localhost"], lifetime)
        self.authority.write_bytes(authority.certificate)
        self.certificate.write_bytes(pair.certificate)
        self.key.touch(mode=0o600)
        self.key.write_bytes(pair.key)

    def write_users(self, names: Iterable[str], server: str) -> None:
        """Writes the token file of the API server, and a kubeconfig for each user and each program.

        Programs go by their usual names, so the audit log says who wrote what. The controller manager may do
        everything, because a real one has an identity for each controller.
        """
        people = [(name, name, _ALMIGHTY if name == ADMIN else "") for name in names]
        machines = [
            (SCHEDULER, f"system:{SCHEDULER}", ""),
            (CONTROLLER_MANAGER, f"system:{CONTROLLER_MANAGER}", _ALMIGHTY),
        ]
        with self.tokens.open("w", newline="") as file:
            rows = csv.writer(file)
            for name, known_as, group in (*people, *machines):
                token = secrets.token_hex(16)
                rows.writerow((token, known_as, known_as, group))
                self._write_kubeconfig(name, token, server)

    def write_scheduler(self, settings: Mapping[str, object]) -> None:
        connection = {
            "kubeconfig": str(self.kubeconfig(SCHEDULER)),
            "qps": UNTHROTTLED,
            "burst": UNTHROTTLED,
        }
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": connection,
            "leaderElection": {"leaderElect": False},
            **settings,
        }
        _write(self.scheduler, document)

    def write_audit_policy(self, level: AuditLevel) -> None:
        """Writes a policy that logs every write once it is answered, and no reads."""
        document = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": level}],
        }
        _write(self.audit_policy, document)

    def _write_kubeconfig(self, user: str, token: str, server: str) -> None:
        authority = base64.b64encode(self.authority.read_bytes()).decode()
        cluster = {"server": server, "certificate-authority-data": authority}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }
        _write(self.kubeconfig(user), document)


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.write_text(yaml.safe_dump(dict(document), sort_keys=False))
