"""How objects of a kind are read, completed and judged: what is the same for all kinds, and the places where they differ.

The write path of `serving` calls these in the order in which they stand here. Everything is pure: time, names and ids are
given by the caller, and what needs other objects (quotas, priority classes, addresses) is admission's. Objects are plain
JSON; `read`, `default` and the `before_` methods change the object they are given, which belongs to the request.
"""

from collections.abc import Mapping
from typing import Any

from kubeloop.objects.machinery import StatusCause
from pocketkube.apiserver.managed_fields.endpoints import Endpoint

Object = dict[str, Any]
Causes = list[StatusCause]


class Strategy:
    """The base: an object with metadata of which nothing else is known."""

    has_status = False
    """Whether the status has its own endpoint, and the main one leaves it alone."""
    generational = False
    """Whether `metadata.generation` counts the changes of what is not status or metadata."""
    selectable: tuple[str, ...] = ("metadata.name", "metadata.namespace")
    """The fields a field selector may name."""
    strategic = True
    """Whether there is a strategic merge patch; custom kinds have none."""
    created_by_update = False
    """Whether a PUT to a name that is free creates the object."""
    unconditional = True
    """Whether an update may leave the resourceVersion out; if not, it is refused with `metadata.resourceVersion:
    Invalid value: 0: must be specified for an update`, in the name of the plural instead of the kind."""
    converts = False
    """Whether the stored form is another one (`outward`, `inward`); lists of all other kinds are joined from stored bytes."""
    renewed_until = 0
    """Objects that were stored at this version or before are renewed when they are read: the kind has changed since."""
    orphans = ""
    """What becomes of dependents if a deletion does not say it: "" they go, "orphan" they stay, "unsupported" nobody asks."""

    def endpoint(self, subresource: str = "") -> Endpoint:
        """What ownership of fields has to know."""
        raise NotImplementedError

    def schema(self) -> Mapping[str, Any] | None:
        """The schema of a custom kind, for OpenAPI; None for the kinds of Kubernetes, whose types are in a table."""
        return None

    def read(self, obj: Object) -> list[str]:
        """Brings what was sent into the form in which it is kept; returns the paths of unknown fields.

        Raises:
            Refused: a member has the wrong type (400).
        """
        del obj
        return []

    def read_applied(self, obj: Object) -> list[str]:
        """Like `read`, for what an apply has merged."""
        return self.read(obj)

    def default(self, obj: Object) -> None:
        """Fills in what was left out."""

    def before_create(self, obj: Object) -> None:
        """Takes out what a client cannot set."""
        if self.has_status:
            obj.pop("status", None)
        if self.generational:
            obj["metadata"]["generation"] = 1

    def check_create(self, obj: Object) -> Causes:
        """What is wrong with a new object, its metadata included."""
        del obj
        return []

    def before_update(self, obj: Object, old: Object) -> None:
        """Puts back what the main endpoint cannot change, and counts generations."""
        if self.has_status:
            _carry("status", old, obj)
        if self.generational:
            generation = old["metadata"].get("generation", 0)
            obj["metadata"]["generation"] = generation + (_content(obj) != _content(old))

    def check_update(self, obj: Object, old: Object) -> Causes:
        """What is wrong with an object that replaces another."""
        del obj, old
        return []

    def before_status(self, obj: Object, old: Object) -> None:
        """Puts back what the status endpoint cannot change."""
        for member in {*obj, *old} - {"apiVersion", "kind", "metadata", "status"}:
            _carry(member, old, obj)

    def check_status(self, obj: Object, old: Object) -> Causes:
        """What is wrong with a new status."""
        del obj, old
        return []

    def before_finalize(self, obj: Object, old: Object) -> None:
        """Puts back what the finalize endpoint cannot change; only namespaces have one."""

    def check_finalize(self, obj: Object, old: Object) -> Causes:
        """What is wrong with an object sent to the finalize endpoint."""
        del obj, old
        return []

    def before_part(self, part: str, obj: Object, old: Object) -> None:
        """Puts back what another endpoint of the object cannot change; `part` is its subresource."""

    def check_part(self, part: str, obj: Object, old: Object) -> Causes:
        """What is wrong with an object sent to another of its endpoints."""
        del part, obj, old
        return []

    def condemn(self, obj: Object) -> None:
        """Marks an object whose deletion begins and that stays for a while; only its metadata are its own, what is changed besides is copied."""

    def held(self, obj: Object) -> bool:
        """Whether something besides the finalizers in the metadata keeps an object that is being deleted."""
        del obj
        return False

    def warnings(self, obj: Object) -> list[str]:
        """What a client should be told although it is accepted."""
        del obj
        return []

    def warnings_of_change(self, obj: Object, old: Object) -> list[str]:
        """What a client should be told about a change that is accepted."""
        del old
        return self.warnings(obj)

    def fields(self, obj: Object) -> Mapping[str, str]:
        """The values of the selectable fields of a stored object; resources that share storage give the same ones."""
        meta = obj["metadata"]
        return {
            "metadata.name": meta.get("name", ""),
            "metadata.namespace": meta.get("namespace", ""),
        }

    def unselectable(self, field: str) -> str:
        """What is said of a field selector that names none of the selectable fields."""
        return (
            f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )

    def outward(self, obj: Object) -> None:
        """Turns what is stored into the form of this version, in place."""

    def inward(self, obj: Object) -> None:
        """Turns an object of this version into the form that is stored, in place."""

    def renew(self, obj: Object) -> None:
        """Brings an object that was stored under older rules into the form it would have now, in place."""

    def grace(self, obj: Object, asked: int | None) -> int | None:
        """How many seconds a deletion leaves the object; None for kinds that know no grace."""
        del obj, asked
        return None


def _carry(member: str, old: Object, obj: Object) -> None:
    if member in old:
        obj[member] = old[member]
    else:
        obj.pop(member, None)


def _content(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
