"""What is read out of objects as they are stored: plain JSON, because most of each is of no interest here.

The readers of goals and members and the timeline builder ask. Whatever has not the expected form counts as not said.
"""

from collections.abc import Mapping
import re
from typing import cast

from kubeloop.objects.core import FINISHED_PHASES
from kubeloop.objects.meta import JSON
from pocketkube.simulation.report.pod_tracker import Phase

Body = Mapping[str, JSON]
_NUMBER = re.compile(r"-[0-9]+$")


def part(body: Body, name: str) -> dict[str, JSON]:
    """A member that is an object; empty if it is not there."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def parts(body: Body, name: str) -> list[dict[str, JSON]]:
    """A member that is a list of objects; empty if it is not there."""
    found = body.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def uid(body: Body) -> str:
    """Who it is, whatever its name."""
    return str(part(body, "metadata").get("uid") or "")


def owner(body: Body) -> dict[str, JSON]:
    """The reference to its controller; empty if it has none."""
    listed = part(body, "metadata").get("ownerReferences") or []
    owners = cast("list[dict[str, JSON]]", listed)
    return next((each for each in owners if each.get("controller")), {})


def stem(body: Body, name: str) -> str:
    """What names of pods that belong together have in common: all but the number or the random end."""
    generated = str(part(body, "metadata").get("generateName") or "")
    return generated.rstrip("-.") or _NUMBER.sub("", name)


def is_deleted(body: Body) -> bool:
    """Whether somebody has asked for its end."""
    return "deletionTimestamp" in part(body, "metadata")


def condition(body: Body, kind: str) -> dict[str, JSON]:
    """The condition of this type; empty if it is not there."""
    listed = cast("list[dict[str, JSON]]", part(body, "status").get("conditions") or [])
    return next((each for each in listed if each.get("type") == kind), {})


def true_condition(body: Body, kind: str) -> dict[str, JSON]:
    """The condition of this type if it is true; empty if it is not."""
    found = condition(body, kind)
    return found if found.get("status") == "True" else {}


def number(body: Body, name: str, missing: int) -> int:
    """A member that is a whole number, or what counts if it is not there."""
    found = body.get(name)
    return found if isinstance(found, int) else missing


def phase(body: Body, was: Phase) -> Phase:
    """How far a pod is, by its status and by how far it was."""
    said = str(part(body, "status").get("phase") or "")
    if said in FINISHED_PHASES:
        return Phase.SUCCEEDED if said == "Succeeded" else Phase.FAILED
    deleted = is_deleted(body)
    if not deleted and condition(body, "Ready").get("status") == "True":
        return Phase.RUNS
    waits = was is Phase.WAITS and said != "Running" and not deleted
    return Phase.WAITS if waits else Phase.STOPPED


def reason(body: Body) -> str:
    """Why the scheduler has not placed a pod: its first sentence; others tell what else it tried in vain."""
    scheduled = condition(body, "PodScheduled")
    if scheduled.get("status") != "False":
        return ""
    return str(scheduled.get("message") or "").partition(". ")[0].rstrip(".")
