"""Which printer shows which kind; what is not named here has its name and the instant of its creation shown."""

from collections.abc import Mapping
from typing import Final

from pocketkube.apiserver.kinds.printer import Printer
from pocketkube.apiserver.kinds.printing import cluster, pods, rules, storage, traffic, workloads

PRINTERS: Final[Mapping[str, Printer]] = {
    "Pod": pods.PODS,
    **cluster.PRINTERS,
    **rules.PRINTERS,
    **storage.PRINTERS,
    **traffic.PRINTERS,
    **workloads.PRINTERS,
}
