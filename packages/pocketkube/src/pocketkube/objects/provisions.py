"""Services and storage, cut down to what a ResourceQuota counts (`quota_usage`) and what protects storage in use."""

from collections.abc import Mapping

from kubeloop.objects.core import Amount, ResourceRequirements
from kubeloop.objects.meta import Base, Kind, Object


class ServicePort(Base):
    """A port of a service."""

    node_port: int = 0


class ServiceSpec(Base):
    """How a service is reached."""

    type: str = ""
    ports: tuple[ServicePort, ...] = ()
    allocate_load_balancer_node_ports: bool | None = None


class Service(Object):
    """A name for a set of pods."""

    spec: ServiceSpec = ServiceSpec()


class PersistentVolumeClaimSpec(Base):
    """How much storage of which class is asked for."""

    resources: ResourceRequirements = ResourceRequirements()
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Base):
    """What was given."""

    allocated_resources: Mapping[str, Amount] = {}
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeStatus(Base):
    """`Available`, `Bound`, `Released`, `Pending` or `Failed`."""

    phase: str = ""


class PersistentVolume(Object):
    """Storage."""

    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaim(Object):
    """A wish for storage."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


SERVICES: Kind[Service] = Kind("", "v1", "Service", "services", Service)
PERSISTENT_VOLUME_CLAIMS: Kind[PersistentVolumeClaim] = Kind(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", PersistentVolumeClaim
)
PERSISTENT_VOLUMES: Kind[PersistentVolume] = Kind(
    "", "v1", "PersistentVolume", "persistentvolumes", PersistentVolume, namespaced=False
)
