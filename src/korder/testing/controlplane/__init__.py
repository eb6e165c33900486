"""A real Kubernetes control plane on loopback, made of the programs of Kubernetes itself."""

from korder.testing.controlplane.files import ADMIN as ADMIN, AuditLevel as AuditLevel
from korder.testing.controlplane.plane import (
    CommandFailed as CommandFailed,
    ControlPlane as ControlPlane,
)
from korder.testing.controlplane.programs import ProgramsMissing as ProgramsMissing
from korder.testing.processes import Process as Process, ProgramFailed as ProgramFailed
