"""What a domain contributes to korder, always in the same form.

`korder.domains` lists the domains. The verbs, the installation, the suites of simulations and the reference iterate over that list and
name no domain.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from korder.explanation import Explanation
from korder.install_config import Site
from korder.rbac import Rbac
from kubeloop.client.client import Client
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.objects.plan import AnyKind, Patch
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.webhook.handler import AdmissionHandler
from kubeloop.schema import crd

Options = TypeVar("Options")
T = TypeVar("T", bound=HasMetadata)

Bodies = tuple[dict[str, JSON], ...]
Explain = Callable[[Client, Key, str], Awaitable[Explanation]]
"""Explains the object of this key; the last is the namespace of the user, for those who may not read other namespaces."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of `korder manager`: mark a field of a domain's options with it, as in `Annotated[str, Flag("...")]`.

    Attributes:
        help: What it does.
        name: How it is spelled, if not as the field; a boolean flag that has a name has no `--no-` form.
    """

    help: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Trace(Generic[T]):
    """What a manager leaves on objects of others, and how `korder uninstall` takes it off.

    Attributes:
        kind: The kind of these objects.
        step: The patch that takes it off; None if there is nothing.
    """

    kind: Kind[T]
    step: Callable[[T], Patch | None]


def _no_objects(_: Site) -> Bodies:
    return ()


async def _no_check(_: Client) -> None:
    return None


async def _nothing_left(_: Client) -> str:
    return ""


def _no_controllers(_: Manager, __: Options, ___: Clock) -> Mapping[str, AdmissionHandler]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(Generic[Options]):
    """One domain.

    Attributes:
        name: What it is called.
        definitions: Its kinds.
        options: How its controllers run if no flag says otherwise: a dataclass with `Flag`s, or None.
        controllers: Puts its controllers on a manager; the result are its admission handlers, by path.
        check: Looks at the cluster before a manager starts, and logs what is wrong.
        rbac: The permissions that it needs, and the roles that it offers.
        objects: What is installed beside its definitions.
        webhooks: Admission by webhooks.
        policies: Admission by policies of the API server.
        guards: Policies that restrict the manager; left out on servers without ValidatingAdmissionPolicy.
        unguarded: What `korder install` prints if they are left out.
        verbs: Verbs of the command line that only this domain has, and the modules with their `run`.
        explains: By kind, what answers `korder explain`.
        explain_reads: Kinds that the server has to serve for these answers.
        traces: What its manager leaves on objects of others.
        left_waiting: What `korder uninstall` prints at the end, if objects of users still wait for this domain.
        scenario: `module:attribute` of its `korder.scenario.Scenario`; loaded by name because it needs pocketkube.
    """

    name: str
    definitions: tuple[crd.Definition, ...] = ()
    options: Options
    controllers: Callable[[Manager, Options, Clock], Mapping[str, AdmissionHandler]] = (
        _no_controllers
    )
    check: Callable[[Client], Awaitable[None]] = _no_check
    rbac: Rbac = field(default_factory=Rbac)
    objects: Callable[[Site], Bodies] = _no_objects
    webhooks: Callable[[Site], Bodies] = _no_objects
    policies: Callable[[Site], Bodies] = _no_objects
    guards: Callable[[Site], Bodies] = _no_objects
    unguarded: str = ""
    verbs: Mapping[str, str] = field(default_factory=dict)
    explains: Mapping[AnyKind, Explain] = field(default_factory=dict)
    explain_reads: tuple[AnyKind, ...] = ()
    traces: tuple[Trace[Any], ...] = ()
    left_waiting: Callable[[Client], Awaitable[str]] = _nothing_left
    scenario: str = ""

    def with_usual_options(self, manager: Manager, clock: Clock) -> Mapping[str, AdmissionHandler]:
        """Puts the controllers on a manager, without any flag."""
        return self.controllers(manager, self.options, clock)
