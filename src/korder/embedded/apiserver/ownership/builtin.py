"""What the kinds of Kubernetes are made of, written down once.

`endpoints` looks kinds up here. The facts are those of the OpenAPI document of Kubernetes 1.36; a member that is not
mentioned is a leaf, so scalars, atomic lists and atomic objects do not appear, and a kind that is not mentioned has only
its metadata merged. The notation, one type in a paragraph, says of each member:

    +              a struct of leaves               Type           a struct described elsewhere
    {}             a map of leaves                  !              a leaf that a strategic merge patch replaces
    [name]Type     a list of objects by a key       [a,b=7]        by several; one that is absent counts as 7, else as ""
    [a?]           absent and "" are different      [=]            a set of scalars
    [...|b]        a strategic merge patch goes by  [...|-]        ... or replaces the list
                   another key                      [!|b]          a list with one owner, except for such a patch
"""

from functools import cache
import json
import re

from korder.api.meta import JSON
from korder.embedded.apiserver.ownership.structure import LEAF, MAP, METADATA, STRUCT, Form, Node

_TYPES = """
CSIDriver: spec=CSIDriverSpec
CSIDriverSpec: volumeLifecycleModes=[=|-]
CSINode: spec=CSINodeSpec
CSINodeSpec: drivers=[name]CSINodeDriver
CSINodeDriver: allocatable=+
CertificateSigningRequest: spec=CertificateSigningRequestSpec status=CertificateSigningRequestStatus
CertificateSigningRequestSpec: extra={}
CertificateSigningRequestStatus: conditions=[type|-]+
ClusterRole: aggregationRule=+
ConfigMap: binaryData={} data={}
CronJob: spec=CronJobSpec status=+
CronJobSpec: jobTemplate=JobTemplateSpec
JobTemplateSpec: metadata=ObjectMeta spec=JobSpec
JobSpec: podFailurePolicy=+ successPolicy=+ template=PodTemplateSpec
PodTemplateSpec: metadata=ObjectMeta spec=PodSpec
PodSpec: affinity=Affinity containers=[name]Container dnsConfig=+ ephemeralContainers=[name]Container
    hostAliases=[ip]+ imagePullSecrets=[name] initContainers=[name]Container os=+ overhead={}
    resourceClaims=[name]+ resources=ResourceRequirements schedulingGates=[name]+ schedulingGroup=+
    securityContext=PodSecurityContext topologySpreadConstraints=[topologyKey,whenUnsatisfiable|topologyKey]+
    volumes=[name]Volume
Affinity: nodeAffinity=+ podAffinity=+ podAntiAffinity=+
Container: env=[name]EnvVar lifecycle=Lifecycle livenessProbe=Probe
    ports=[containerPort=0,protocol=TCP|containerPort]+ readinessProbe=Probe resources=ResourceRequirements
    securityContext=SecurityContext startupProbe=Probe volumeDevices=[devicePath]+ volumeMounts=[mountPath]+
EnvVar: valueFrom=+
Lifecycle: postStart=LifecycleHandler preStop=LifecycleHandler
LifecycleHandler: exec=+ httpGet=+ sleep=+ tcpSocket=+
Probe: exec=+ grpc=+ httpGet=+ tcpSocket=+
ResourceRequirements: claims=[name|-]+ limits={} requests={}
SecurityContext: appArmorProfile=+ capabilities=+ seLinuxOptions=+ seccompProfile=+ windowsOptions=+
PodSecurityContext: appArmorProfile=+ seLinuxOptions=+ seccompProfile=+ windowsOptions=+
Volume: awsElasticBlockStore=+ azureDisk=+ azureFile=+ cephfs=+ cinder=+ configMap=+ csi=CSIVolumeSource
    downwardAPI=+ emptyDir=+ ephemeral=EphemeralVolumeSource fc=+ flexVolume=FlexVolumeSource flocker=+
    gcePersistentDisk=+ gitRepo=+ glusterfs=+ hostPath=+ image=+ iscsi=+ nfs=+ persistentVolumeClaim=+
    photonPersistentDisk=+ portworxVolume=+ projected=+ quobyte=+ rbd=+ scaleIO=+ secret=+ storageos=+
    vsphereVolume=+
CSIVolumeSource: volumeAttributes={}
EphemeralVolumeSource: volumeClaimTemplate=PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata=ObjectMeta spec=PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: dataSourceRef=+ resources=VolumeResourceRequirements
VolumeResourceRequirements: limits={} requests={}
FlexVolumeSource: options={}
CustomResourceDefinition: spec=CustomResourceDefinitionSpec status=CustomResourceDefinitionStatus
CustomResourceDefinitionSpec: conversion=CustomResourceConversion names=+
CustomResourceConversion: webhook=WebhookConversion
WebhookConversion: clientConfig=ByService
ByService: service=+
CustomResourceDefinitionStatus: acceptedNames=+ conditions=[type|-]+
DaemonSet: spec=DaemonSetSpec status=Conditions
DaemonSetSpec: template=PodTemplateSpec updateStrategy=Rolling
Rolling: rollingUpdate=+
Conditions: conditions=[type]+
Deployment: spec=DeploymentSpec status=Conditions
DeploymentSpec: strategy=Rolling template=PodTemplateSpec
DeviceClass: spec=+
Event: series=+ source=+ deprecatedSource=+
FlowSchema: spec=FlowSchemaSpec status=FlowStatus
FlowSchemaSpec: distinguisherMethod=+ priorityLevelConfiguration=+
FlowStatus: conditions=[type?]+
HorizontalPodAutoscaler: spec=HorizontalPodAutoscalerSpec status=Conditions
HorizontalPodAutoscalerSpec: behavior=HorizontalPodAutoscalerBehavior scaleTargetRef=+
HorizontalPodAutoscalerBehavior: scaleDown=+ scaleUp=+
IPAddress: spec=IPAddressSpec
IPAddressSpec: parentRef=+
Ingress: spec=IngressSpec status=IngressStatus
IngressSpec: defaultBackend=ByService
IngressStatus: loadBalancer=+
IngressClass: spec=IngressClassSpec
IngressClassSpec: parameters=+
Job: spec=JobSpec status=JobStatus
JobStatus: conditions=[!|type]+ uncountedTerminatedPods=UncountedTerminatedPods
UncountedTerminatedPods: failed=[=|-] succeeded=[=|-]
Lease: spec=+
LimitRange: spec=+
MutatingAdmissionPolicy: spec=MutatingAdmissionPolicySpec
MutatingAdmissionPolicySpec: matchConditions=[name]+
MutatingAdmissionPolicyBinding: spec=+
MutatingWebhookConfiguration: webhooks=[name]Webhook
Webhook: clientConfig=ByService matchConditions=[name]+
Namespace: spec=+ status=Conditions
NetworkPolicy: spec=+
Node: spec=NodeSpec status=NodeStatus
NodeSpec: configSource=NodeConfigSource podCIDRs=[=]
NodeConfigSource: configMap=+
NodeStatus: addresses=[type]+ allocatable={} capacity={} conditions=[type]+ config=NodeConfigStatus
    daemonEndpoints=NodeDaemonEndpoints features=+ nodeInfo=NodeSystemInfo
NodeConfigStatus: active=NodeConfigSource assigned=NodeConfigSource lastKnownGood=NodeConfigSource
NodeDaemonEndpoints: kubeletEndpoint=+
NodeSystemInfo: swap=+
PersistentVolume: spec=PersistentVolumeSpec status=+
PersistentVolumeSpec: awsElasticBlockStore=+ azureDisk=+ azureFile=+ capacity={} cephfs=+ cinder=+ claimRef=+
    csi=CSIVolumeSource fc=+ flexVolume=FlexVolumeSource flocker=+ gcePersistentDisk=+ glusterfs=+ hostPath=+
    iscsi=+ local=+ nfs=+ nodeAffinity=+ photonPersistentDisk=+ portworxVolume=+ quobyte=+ rbd=+ scaleIO=+
    storageos=+ vsphereVolume=+
PersistentVolumeClaim: spec=PersistentVolumeClaimSpec status=PersistentVolumeClaimStatus
PersistentVolumeClaimStatus: allocatedResourceStatuses={} allocatedResources={} capacity={} conditions=[type]+
    modifyVolumeStatus=+
Pod: spec=PodSpec status=PodStatus
PodStatus: allocatedResources={} conditions=[type]+ extendedResourceClaimStatus=+ hostIPs=[!|ip]+ podIPs=[ip]+
    resourceClaimStatuses=[name]+ resources=ResourceRequirements
PodDisruptionBudget: spec=PodDisruptionBudgetSpec status=PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: selector=!
PodDisruptionBudgetStatus: conditions=[type]+ disruptedPods={}
PodTemplate: template=PodTemplateSpec
PriorityLevelConfiguration: spec=PriorityLevelConfigurationSpec status=FlowStatus
PriorityLevelConfigurationSpec: exempt=+ limited=LimitedPriorityLevelConfiguration
LimitedPriorityLevelConfiguration: limitResponse=LimitResponse
LimitResponse: queuing=+
ReplicaSet: spec=Templated status=Conditions
Templated: template=PodTemplateSpec
ReplicationController: spec=Templated status=Conditions
ResourceClaim: spec=Devices status=ResourceClaimStatus
Devices: devices=+
ResourceClaimStatus: allocation=Devices devices=[driver,device,pool,shareID?|-]AllocatedDeviceStatus
    reservedFor=[uid]+
AllocatedDeviceStatus: conditions=[type|-]+ networkData=+
ResourceClaimTemplate: spec=ResourceClaimTemplateSpec
ResourceClaimTemplateSpec: metadata=ObjectMeta spec=Devices
ResourceQuota: spec=ResourceQuotaSpec status=ResourceQuotaStatus
ResourceQuotaSpec: hard={}
ResourceQuotaStatus: hard={} used={}
ResourceSlice: spec=ResourceSliceSpec
ResourceSliceSpec: pool=+
RuntimeClass: overhead=Overhead scheduling=+
Overhead: podFixed={}
Scale: spec=+ status=+
Secret: data={} stringData={}
Service: spec=ServiceSpec status=ServiceStatus
ServiceSpec: ports=[port=0,protocol=TCP|port]+ sessionAffinityConfig=SessionAffinityConfig
SessionAffinityConfig: clientIP=+
ServiceStatus: conditions=[type]+ loadBalancer=+
ServiceAccount: secrets=[name?]
ServiceCIDR: spec=+ status=Conditions
StatefulSet: spec=StatefulSetSpec status=Conditions
StatefulSetSpec: ordinals=+ persistentVolumeClaimRetentionPolicy=+ template=PodTemplateSpec
    updateStrategy=Rolling
StorageClass: parameters={}
ValidatingAdmissionPolicy: spec=ValidatingAdmissionPolicySpec status=ValidatingAdmissionPolicyStatus
ValidatingAdmissionPolicySpec: matchConditions=[name]+ variables=[name]
ValidatingAdmissionPolicyStatus: conditions=[type|-]+ typeChecking=+
ValidatingAdmissionPolicyBinding: spec=ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec: validationActions=[=|-]
ValidatingWebhookConfiguration: webhooks=[name]Webhook
VolumeAttachment: spec=VolumeAttachmentSpec status=VolumeAttachmentStatus
VolumeAttachmentSpec: source=VolumeAttachmentSource
VolumeAttachmentSource: inlineVolumeSpec=PersistentVolumeSpec
VolumeAttachmentStatus: attachError=+ attachmentMetadata={} detachError=+
VolumeAttributesClass: parameters={}
"""

# What Go's encoder writes of an object that nobody has filled in, besides `metadata` and an empty
# `spec` and `status`.
_EMPTY = """
apps/v1/ControllerRevision {"data":null,"revision":0}
apps/v1/DaemonSet {"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"updateStrategy":{}},"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}}
apps/v1/Deployment {"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}
apps/v1/ReplicaSet {"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}}},"status":{"replicas":0}}
apps/v1/StatefulSet {"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"serviceName":"","updateStrategy":{}},"status":{"replicas":0,"availableReplicas":0}}
autoscaling/v1/HorizontalPodAutoscaler {"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0},"status":{"currentReplicas":0,"desiredReplicas":0}}
autoscaling/v1/Scale {"spec":{},"status":{"replicas":0}}
autoscaling/v2/HorizontalPodAutoscaler {"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0},"status":{"desiredReplicas":0,"currentMetrics":null}}
batch/v1/CronJob {"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}}},"status":{}}
batch/v1/Job {"spec":{"template":{"metadata":{},"spec":{"containers":null}}},"status":{}}
certificates.k8s.io/v1/CertificateSigningRequest {"spec":{"request":null,"signerName":""},"status":{}}
discovery.k8s.io/v1/EndpointSlice {"addressType":"","endpoints":null,"ports":null}
events.k8s.io/v1/Event {"eventTime":null,"regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}
flowcontrol.apiserver.k8s.io/v1/FlowSchema {"spec":{"priorityLevelConfiguration":{"name":""},"matchingPrecedence":0},"status":{}}
flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration {"spec":{"type":""},"status":{}}
networking.k8s.io/v1/Ingress {"spec":{},"status":{"loadBalancer":{}}}
networking.k8s.io/v1/NetworkPolicy {"spec":{"podSelector":{}}}
node.k8s.io/v1/RuntimeClass {"handler":""}
policy/v1/PodDisruptionBudget {"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}
rbac.authorization.k8s.io/v1/ClusterRole {"rules":null}
rbac.authorization.k8s.io/v1/ClusterRoleBinding {"roleRef":{"apiGroup":"","kind":"","name":""}}
rbac.authorization.k8s.io/v1/Role {"rules":null}
rbac.authorization.k8s.io/v1/RoleBinding {"roleRef":{"apiGroup":"","kind":"","name":""}}
resource.k8s.io/v1/ResourceClaim {"spec":{"devices":{"requests":null}},"status":{}}
resource.k8s.io/v1/ResourceClaimTemplate {"spec":{"metadata":{},"spec":{"devices":{"requests":null}}}}
resource.k8s.io/v1/ResourceSlice {"spec":{"driver":"","pool":{"name":"","generation":0,"resourceSliceCount":0}}}
scheduling.k8s.io/v1/PriorityClass {"value":0}
storage.k8s.io/v1/CSINode {"spec":{"drivers":null}}
storage.k8s.io/v1/CSIStorageCapacity {"storageClassName":""}
storage.k8s.io/v1/StorageClass {"provisioner":""}
storage.k8s.io/v1/VolumeAttachment {"spec":{"attacher":"","source":{},"nodeName":""},"status":{"attached":false}}
storage.k8s.io/v1/VolumeAttributesClass {"driverName":""}
v1/Event {"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""}
v1/LimitRange {"spec":{"limits":null}}
v1/Node {"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}
v1/PersistentVolumeClaim {"spec":{"resources":{}},"status":{}}
v1/Pod {"spec":{"containers":null},"status":{}}
v1/PodTemplate {"template":{"metadata":{},"spec":{"containers":null}}}
v1/ReplicationController {"spec":{},"status":{"replicas":0}}
v1/Service {"spec":{},"status":{"loadBalancer":{}}}
"""

_MEMBERS = dict(
    paragraph.split(": ", 1) for paragraph in re.sub(r"\n +", " ", _TYPES).strip().splitlines()
)
_EMPTIES = dict(line.split(" ", 1) for line in _EMPTY.strip().splitlines())
_LIST = re.compile(r"\[(?P<keys>[^|\]]*)(?:\|(?P<merge>[^\]]*))?\](?P<item>.*)")


@cache
def find(kind: str) -> Node:
    """Finds the structure of a kind."""
    return Node(Form.MAP, {**_fields(_MEMBERS.get(kind, "")), "metadata": METADATA})


def empty(api_version: str, kind: str) -> dict[str, JSON]:
    """Makes the object of a kind that nobody has filled in."""
    text = _EMPTIES.get(f"{api_version}/{kind}")
    plain: dict[str, JSON] = {name: {} for name in ("spec", "status") if name in find(kind).fields}
    return {"metadata": {}, **(json.loads(text) if text else plain)}


def _fields(members: str) -> dict[str, Node]:
    pairs = (member.split("=", 1) for member in members.split())
    return {name: _described(text) for name, text in pairs}


@cache
def _described(text: str) -> Node:
    if text in _SIGNS:
        return _SIGNS[text]
    return _list(text) if text.startswith("[") else Node(Form.MAP, _fields(_MEMBERS[text]))


def _list(text: str) -> Node:
    parts = _LIST.fullmatch(text)
    assert parts is not None, text  # noqa: S101 a slip of the pen in the table above
    keys = {} if parts["keys"] in ("=", "!") else dict(map(_key, parts["keys"].split(",")))
    merge_key: str | None = parts["merge"] or next(iter(keys), "")
    form = Form.LEAF if parts["keys"] == "!" else Form.LIST
    return Node(
        form,
        items=_described(parts["item"]),
        keys=keys,
        merge_key=None if merge_key == "-" else merge_key,
    )


def _key(text: str) -> tuple[str, JSON]:
    if text.endswith("?"):
        return text[:-1], None
    name, _, default = text.partition("=")
    return name, int(default) if default.isdecimal() else default


_SIGNS = {"": LEAF, "+": STRUCT, "{}": MAP, "!": Node(replaced=True), "ObjectMeta": METADATA}
