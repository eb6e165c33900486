"""`python -m bench [name]`: runs the benchmarks, or the one that yields the named row."""

import sys

from rich.console import Console

from bench import (
    claims,
    daemonsets,
    embedded,
    expiry,
    fanout,
    informer_list,
    micro,
    orders,
    quotas,
    simulation,
    storage,
    watchers,
)
from bench.table import publish

BENCHMARKS = {
    ("runtime-fanout", "fanout-writes", "fanout-memory"): fanout.measure,
    ("informer-list",): informer_list.measure,
    ("queue-event",): micro.queue_event,
    ("store-event",): micro.store_event,
    ("embedded-create",): embedded.create,
    ("embedded-list",): embedded.list_pages,
    ("embedded-watchers",): watchers.watchers,
    ("embedded-ready",): embedded.ready,
    ("embedded-memory",): embedded.memory,
    ("simulate-day",): simulation.day,
    ("simulate-nodes",): simulation.nodes,
    ("simulate-memory",): simulation.memory,
    ("order-1000", "order-same-writes", "order-writes", "kopf-order"): orders.measure,
    ("claim-room",): claims.room,
    ("claim-room-busy",): claims.room_busy,
    ("claim-full", "claim-full-p99"): claims.full,
    ("claim-full-busy", "claim-full-p99-busy"): claims.full_busy,
    ("claim-room-writes", "claim-full-writes"): claims.writes,
    ("daemonset-nodes",): daemonsets.nodes,
    ("manager-memory", "expiry-spread"): expiry.spread,
    ("expiry-burst",): expiry.burst,
    ("quota-verdict",): quotas.verdict,
    ("quota-admission",): quotas.admission,
    ("storage-create",): storage.create,
    ("storage-list",): storage.list_pages,
    ("storage-watchers",): storage.watchers,
}


def main() -> int:
    """Runs what was asked for and returns the exit code."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [run for names, run in BENCHMARKS.items() if not wanted or wanted in names]
    if not chosen:
        known = ", ".join(name for names in BENCHMARKS for name in names)
        print(f"no benchmark is called {wanted!r}; there are {known}", file=sys.stderr)
        return 2
    console = Console(stderr=True)
    with console.status("") as status:
        rows = [row for run in chosen for row in run(status.update)]
    return 0 if publish(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
