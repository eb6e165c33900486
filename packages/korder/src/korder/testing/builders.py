"""Orders and tickets for tests, as `kubeloop.testing.builders` has pods and nodes."""

from korder.api import reserve
from korder.api.reserve import Order, Ticket
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder


def an_order(name: str, replicas: int = 1) -> Builder[Order]:
    """A one-time order of tickets without resources, in the namespace default."""
    spec: JSON = {"replicas": replicas, "strategy": {"type": "OneTime"}, "template": {"spec": {}}}
    meta: JSON = {"name": name, "namespace": "default"}
    return Builder(reserve.ORDERS, {"metadata": meta, "spec": spec})


def a_ticket(name: str, duration: str = "1h") -> Builder[Ticket]:
    """A ticket made by hand, in the namespace default."""
    meta: JSON = {"name": name, "namespace": "default"}
    return Builder(reserve.TICKETS, {"metadata": meta, "spec": {"duration": duration}})
