"""The machines of a simulated fleet: which there are, whether they have power, and how fast their kubelets are.

The embedded cluster, tests and simulations change it; `nodes` and `kubelet` play what it says and are told by name which machine
has changed. It is kept apart from them because machines outlive the process that plays them: one that crashed and was started
again finds here which machines exist and which are off, and takes the place of the one before it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubeloop.objects.meta import JSON

Listener = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a machine offers and how it is marked."""

    cpu: str = "4"
    memory: str = "8Gi"
    pods: int = 110
    extended: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()

    @property
    def capacity(self) -> dict[str, JSON]:
        return {
            "cpu": self.cpu,
            "memory": self.memory,
            "ephemeral-storage": "100Gi",
            "pods": str(self.pods),
            **self.extended,
        }

    def __str__(self) -> str:
        return ",".join(f"{name}={amount}" for name, amount in self.capacity.items())


@dataclass(frozen=True, slots=True)
class Manners:
    """How long things take on a simulated machine, in seconds."""

    start: float = 0.0
    stop: float = 0.05
    """From the request to delete a pod until it is gone; its grace period is the upper bound."""


USUAL = Manners()


@dataclass(slots=True)
class Machine:
    """A machine and what happens to it.

    Attributes:
        on: Whether it has power.
        joined: Whether its Node has been seen; who deletes that removes the machine.
        silent_since: When whoever plays it found it without power.
    """

    shape: Shape
    manners: Manners
    on: bool = True
    joined: bool = False
    silent_since: datetime | None = None


class Machines:
    """All machines by name; what befalls one that is not there, befalls nobody."""

    def __init__(self, manners: Manners = USUAL) -> None:
        self._manners = manners
        self._machines: dict[str, Machine] = {}
        self._listeners: dict[str, Listener] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._machines)

    def get(self, name: str) -> Machine | None:
        return self._machines.get(name)

    def alive(self, name: str) -> bool:
        """Whether this machine is ours and has power."""
        machine = self._machines.get(name)
        return machine is not None and machine.on

    def add(self, name: str, shape: Shape) -> None:
        """Brings a machine into the cluster."""
        self._machines[name] = Machine(shape, self._manners)
        self._tell(name)

    def remove(self, name: str) -> None:
        """Takes a machine away for good; its Node, if it is still there, is left to whoever cares for such."""
        self._machines.pop(name, None)

    def lose(self, name: str) -> None:
        """Cuts a machine's power: no heartbeat, no kubelet."""
        machine = self._machines.get(name)
        if machine is not None:
            machine.on = False
            self._tell(name)

    def recover(self, name: str) -> None:
        """Switches a lost machine on again."""
        machine = self._machines.get(name)
        if machine is not None:
            machine.on, machine.silent_since = True, None
            self._tell(name)

    def slow(self, name: str, manners: Manners) -> None:
        """Lets a machine's kubelet take its time from now on, or hurry again."""
        machine = self._machines.get(name)
        if machine is not None:
            machine.manners = manners
            self._tell(name)

    def attend(self, who: str, listener: Listener) -> None:
        """Tells `listener` which machine has changed, in place of whoever attended under this name before."""
        self._listeners[who] = listener

    def _tell(self, name: str) -> None:
        for listener in self._listeners.values():
            listener(name)
