"""A real Kubernetes control plane on loopback, made of the programs of Kubernetes itself."""

from kubeloop.testing.controlplane.files import ADMIN as ADMIN, AuditLevel as AuditLevel
from kubeloop.testing.controlplane.plane import (
    CommandFailed as CommandFailed,
    ControlPlane as ControlPlane,
)
from kubeloop.testing.controlplane.programs import ProgramsMissing as ProgramsMissing
from kubeloop.testing.processes import Process as Process, ProgramFailed as ProgramFailed
