"""A whole API server: all kinds, access, admission, special subresources and documents, put together.

`pocketkube.cluster`, simulation and the contract tests call `assemble`; whoever wants a server with fewer rules makes an
`ApiServer` with parts of its own choice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
import random
from uuid import UUID

from pocketkube.apiserver.access import access_check as access, policy
from pocketkube.apiserver.access.access_check import AccessCheck
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.rbac import CLUSTER_ROLES
from pocketkube.apiserver.access.user import AUTHENTICATED, User, account_groups, split_account
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Plugin
from pocketkube.apiserver.admission.expressions import Ask
from pocketkube.apiserver.admission.plugins import default_plugins
from pocketkube.apiserver.admission.policies.mutating import MutatingPolicies
from pocketkube.apiserver.admission.policies.validating import ValidatingPolicies
from pocketkube.apiserver.admission.roleguard import RoleGuard
from pocketkube.apiserver.admission.serviceaddresses import ServiceAddresses
from pocketkube.apiserver.admission.webhooks import (
    Caller,
    Connect,
    MutatingWebhooks,
    ValidatingWebhooks,
    by_endpoints,
    over_network,
)
from pocketkube.apiserver.kinds.catalogue import builtin
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.server import DEFAULT_SETTINGS, ApiServer, Parts, Settings
from pocketkube.apiserver.serving import asking, bootstrap, podpaths
from pocketkube.apiserver.serving.accountsecrets import ACCOUNTS, SECRETS, AccountSecrets
from pocketkube.apiserver.serving.aggregated_roles import Gathering
from pocketkube.apiserver.serving.registry import Registry
from pocketkube.apiserver.storage import Storage
from pocketkube.apiserver.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a server is given from outside.

    Attributes:
        access: Keys and tokens.
        connect: How webhooks are reached.
        settings: What the server says about itself.
    """

    access: access.Settings
    connect: Connect = over_network
    settings: Settings = DEFAULT_SETTINGS


def assemble(
    storage: Storage,
    surroundings: Surroundings,
    *,
    now: Callable[[], datetime],
    rng: random.Random,
) -> ApiServer:
    """Puts a server together; it serves after `start`."""
    view = View(storage)
    registry = Registry(builtin())
    access_checker = AccessCheck(view, surroundings.access, now, rng)
    caller = Caller(by_endpoints(view), surroundings.connect)
    dynamic = _dynamic(view, registry, access_checker, caller, lambda: _uid(rng))
    plugins: tuple[Plugin, ...] = (
        *default_plugins(view, now, rng, dynamic),
        RoleGuard(access_checker.guard),
        ServiceAddresses(view, rng),
    )
    parts = Parts(
        registry=registry,
        enter=access_checker.enter,
        chain=Chain(plugins),
        specials={**asking.specials(access_checker), **podpaths.SPECIALS},
        sites=asking.sites(access_checker, surroundings.settings.address),
        bootstrap=(*bootstrap.OBJECTS, bootstrap.tracked_since(now()), *policy.defaults()),
        bring_in=bootstrap.begin,
        closing=(caller.close,),
    )
    server = ApiServer(storage, now=now, rng=rng, settings=surroundings.settings, parts=parts)
    secrets = AccountSecrets(server.world, access_checker, surroundings.access.authority)
    gathering = Gathering(server.world)
    server.world.followers |= {
        CLUSTER_ROLES: gathering.follow,
        SECRETS: secrets.follow,
        ACCOUNTS: secrets.follow_account,
    }
    server.world.settling += (gathering.settle, secrets.settle)
    return server


def _dynamic(
    view: View,
    registry: Registry,
    access_checker: AccessCheck,
    caller: Caller,
    new_uid: Callable[[], str],
) -> tuple[Plugin, ...]:
    """Policies and webhooks: those that change first, then those that only judge."""

    def equivalents(resource: Resource) -> Sequence[Resource]:
        return [each for each in registry.all() if each.stored == resource.stored]

    def find_kind(api_version: str, kind: str) -> Resource | None:
        group, _, version = api_version.rpartition("/")
        return registry.by_kind(group, version, kind)

    def ask_for(attributes: Attributes) -> Ask:
        def ask(question: Mapping[str, str]) -> tuple[bool, str]:
            wanted = dict(question)
            account = wanted.pop("serviceAccount", "")
            user = _account(account) if account else attributes.user
            decision = access_checker.rbac.decide(user, Action(**wanted))
            return decision.allowed, decision.reason

        return ask

    return (
        MutatingPolicies(view, find_kind, equivalents=equivalents, ask_for=ask_for),
        MutatingWebhooks(view, caller, new_uid, equivalents=equivalents, ask_for=ask_for),
        ValidatingPolicies(view, find_kind, equivalents=equivalents, ask_for=ask_for),
        ValidatingWebhooks(view, caller, new_uid, equivalents=equivalents, ask_for=ask_for),
    )


def _account(name: str) -> User:
    namespace, _ = split_account(name) or ("", "")
    return User(name, (*account_groups(namespace), AUTHENTICATED))


def _uid(rng: random.Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))
