"""`korder quota`: what is used of quotas, what is allowed now, and which limits the coming week brings.

It only reads, and asks the same pure rules as the ledger.
"""

import asyncio
import sys
from typing import Annotated

from rich.text import Text
import typer

from korder.api.quota import QUOTAS, Quota
from korder.cli import tables
from korder.cli.options import Context, Kubeconfig, desk
from korder.cli.tables import Layout
from korder.reserve.explain import cluster_scoped
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import SystemClock

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Which quotas; all if none is named."),
]


def run(names: Names = None, kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Show quotas: used, allowed, and the limits of the week."""
    asyncio.run(_quota(names or [], kubeconfig, context))


async def _quota(names: list[str], kubeconfig: str | None, context: str | None) -> None:
    async with desk(kubeconfig, context, None) as at:
        at.require(QUOTAS)
        if names:
            found = [await at.client.get(QUOTAS, Key("", name)) for name in names]
        else:
            found = list((await at.client.list(QUOTAS)).items)
    if not found:
        print("no quotas", file=sys.stderr)
        return
    _show(sorted(found, key=lambda quota: quota.metadata.name))


def _show(quotas: list[Quota]) -> None:
    now = SystemClock().now()
    rows = [row for quota in quotas for row in cluster_scoped.rows(quota, now)]
    lines = Layout(cluster_scoped.TITLES).lines(rows)
    for quota in quotas:
        lines += [Text(), Text(f"{quota.metadata.name} {cluster_scoped.standing(quota, now)}")]
        week = list(cluster_scoped.week(quota, now))
        if week:
            lines += Layout(["FROM", "UNTIL", "LIMITS"]).lines(week)
    tables.show(lines)
