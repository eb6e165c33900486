"""Says at the start whether admission knows the manager: what anybody else writes it judges, and what is charged already then counts twice.

`korder manager` asks once. Servers that do not tell who one is, and installations that may not be read, keep nobody from starting.
"""

from collections.abc import Iterable

import structlog

from korder.api.admission import (
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    MatchCondition,
)
from korder.api.machinery import SELF_SUBJECT_REVIEWS
from korder.api.meta import Key
from korder.kube.client import Client
from korder.kube.errors import KubeError, NotFound
from korder.reserve.rules.doors import conditions
from korder.reserve.rules.doors.site import JUDGING, WEBHOOK

log = structlog.get_logger(__name__)


async def check(client: Client) -> None:
    """Warns a manager whose writes admission judges as if they were anybody's."""
    try:
        known = await _known(client)
        if not known:
            return
        asked = await client.create(SELF_SUBJECT_REVIEWS, {})
    except KubeError as error:
        log.info("not known whether admission judges this manager", error=str(error))
        return
    own = asked.status.user_info.username
    if own and own not in known:
        log.warning(
            "admission judges what this manager writes: where its own charges fill a quota, its tickets are refused,"
            " and on full nodes its hand-overs; run it as the user that admission knows, or install again with --manager-user and its own",
            user=own,
            known=", ".join(sorted(known)),
        )


async def _known(client: Client) -> frozenset[str]:
    """Whose writes are not judged, by whichever means of admission is installed."""
    users = frozenset[str]()
    try:
        policy = await client.get(VALIDATING_ADMISSION_POLICIES, Key("", JUDGING))
        users |= _users(policy.spec.match_conditions)
    except NotFound:
        pass
    try:
        hooks = await client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, Key("", WEBHOOK))
        users |= _users(each for hook in hooks.webhooks for each in hook.match_conditions)
    except NotFound:
        pass
    return users


def _users(said: Iterable[MatchCondition]) -> frozenset[str]:
    return frozenset(filter(None, (conditions.spared(each.expression) for each in said)))
