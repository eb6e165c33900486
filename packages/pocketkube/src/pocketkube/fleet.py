"""Which machines an embedded cluster has: by default some for computing and one with GPUs, as the examples expect them.

`korder up` and simulation make fleets here; `pocketkube.nodes.heartbeat` brings them to life.
"""

from dataclasses import replace

from kubeloop.objects import quantity
from pocketkube.nodes.machines import Shape

COMPUTE = Shape(cpu="8", memory="32Gi", labels={"node-type": "compute"})
GPU = Shape(
    cpu="16",
    memory="64Gi",
    extended={"nvidia.com/gpu": "4"},
    labels={"node-type": "gpu", "accelerator": "nvidia-tesla-k80"},
    taints=(
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
    ),
)


class BadShape(ValueError):
    """The text describes no machine; the message says what is wrong with it."""


def fleet(count: int, shape: Shape = COMPUTE) -> dict[str, Shape]:
    """Names `count` machines of a shape; the last of several has GPUs and is kept for those who ask for them."""
    names = [f"node-{number}" for number in range(1, count + 1)]
    shapes = dict.fromkeys(names, shape)
    if count > 1:
        shapes[names[-1]] = GPU
    return shapes


def shape_of(text: str) -> Shape:
    """Reads `cpu=16,memory=64Gi,pods=200,nvidia.com/gpu=2`; what is not said is as usual.

    Raises:
        BadShape: a part is not `resource=quantity`.
    """
    said: dict[str, str] = {}
    for part in text.split(","):
        name, equals, amount = (word.strip() for word in part.partition("="))
        if not equals or not name:
            raise BadShape(f"{part!r} is not resource=quantity, such as cpu=8 or memory=32Gi")
        try:
            value = quantity.parse(amount)
        except ValueError as error:
            raise BadShape(f"{name}: {error}") from None
        if value < quantity.ZERO:
            raise BadShape(f"{name}: {amount} is not an amount a machine can have")
        said[name] = amount
    cpu, memory = said.pop("cpu", COMPUTE.cpu), said.pop("memory", COMPUTE.memory)
    pods = quantity.parse(said.pop("pods", str(COMPUTE.pods))).value()
    return replace(COMPUTE, cpu=cpu, memory=memory, pods=pods, extended=said)
