"""`korder explain`: why a pod, a ticket, an order, a quota or a node stands as it does, by the rules that decide about it.

It only reads, and asks the same pure rules as the controllers, so it answers also where no manager runs.
"""

import asyncio
from typing import Annotated

from rich.text import Text
import typer

from korder.cli import tables
from korder.cli.options import Context, Kubeconfig, Namespace, desk
from korder.cli.tables import Layout
from korder.domain import Explain
from korder.domains import DOMAINS
from korder.explanation import Explanation
from kubeloop.client.errors import KubeError

What = Annotated[
    list[str],
    typer.Argument(
        metavar="TYPE NAME...",
        help="Such as pod web-0, order my-order, ticket/my-order-0.",
        show_default=False,
    ),
]


def run(
    what: What,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say why a pod, order, ticket, quota or node is as it is."""
    asyncio.run(_explain(what, namespace, kubeconfig, context))


async def _explain(
    what: list[str], namespace: str | None, kubeconfig: str | None, context: str | None
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        at.require(*(kind for domain in DOMAINS for kind in domain.explain_reads))
        named = at.named(what)
        if not named:
            raise KubeError(f"say which {what[0]}: `korder explain {what[0]} NAME`")
        for number, (served, name) in enumerate(named):
            if number:
                print()
            explain = _explains().get((served.kind.group, served.kind.kind))
            if explain is None:
                raise KubeError(_unexplained(served.kind.kind))
            explanation = await explain(at.client, at.key(served, name), at.namespace)
            _show(f"{served.kind.kind} {name}", explanation)


def _explains() -> dict[tuple[str, str], Explain]:
    """What answers, by group and kind."""
    return {
        (kind.group, kind.kind): explain
        for domain in DOMAINS
        for kind, explain in domain.explains.items()
    }


def _unexplained(kind: str) -> str:
    *others, last = [kind.plural for domain in DOMAINS for kind in domain.explains]
    return f"korder explains {', '.join(others)} and {last}, and nothing of a {kind}"


def _show(title: str, stated: Explanation) -> None:
    tables.show([Text.assemble((title, "bold"), f": {stated.verdict}")])
    tables.show(Text(f"  - {fact}") for fact in stated.facts)
    if stated.rows:
        print()
        lines = Layout(stated.titles).lines(stated.rows)
        tables.show(Text.assemble("  ", line) for line in lines)
