"""A spec as the real server holds it in memory, because that is the form which some of its sentences show.

`updates` prints the difference between two specs this way, checks print single refused values. The real server knows
its members under the names of Go and writes all of them, set or not; the table below lists these names in their order.
"""

from collections.abc import Callable, Mapping
import difflib
from functools import cache
import json
from typing import Any, Final

Values = Mapping[str, Any]

# Each member: its name, `=` and its name in JSON unless that follows from the first, `:` and its type unless it is a text.
# Types: n number, b truth, i number or text, q quantity, { map, ~ label selector, m metadata, * optional, [ list, + the
# members of another type in this place.
_TYPES: Final = """
AWSElasticBlockStoreVolumeSource: VolumeID FSType Partition:n ReadOnly:b
Affinity: NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
AppArmorProfile: Type LocalhostProfile:*s
AzureDiskVolumeSource: DiskName DataDiskURI=diskURI CachingMode:*s FSType:*s ReadOnly:*b Kind:*s
AzureFileVolumeSource: SecretName ShareName ReadOnly:b
CSIVolumeSource: Driver ReadOnly:*b FSType:*s VolumeAttributes:{ NodePublishSecretRef:*LocalObjectReference
Capabilities: Add:[s Drop:[s
CephFSVolumeSource: Monitors:[s Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:b
CinderVolumeSource: VolumeID FSType ReadOnly:b SecretRef:*LocalObjectReference
ClusterTrustBundleProjection: Name:*s SignerName:*s LabelSelector:*~ Optional:*b Path
ConfigMapEnvSource: +LocalObjectReference Optional:*b
ConfigMapKeySelector: +LocalObjectReference Key Optional:*b
ConfigMapProjection: +LocalObjectReference Items:[KeyToPath Optional:*b
ConfigMapVolumeSource: +LocalObjectReference Items:[KeyToPath DefaultMode:*n Optional:*b
Container: Name Image Command:[s Args:[s WorkingDir Ports:[ContainerPort EnvFrom:[EnvFromSource Env:[EnvVar
    Resources:ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy:*s
    RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice
    LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
    TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
ContainerPort: Name HostPort:n ContainerPort:n Protocol HostIP
ContainerResizePolicy: ResourceName RestartPolicy
ContainerRestartRule: Action ExitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: Operator Values:[n
DaemonSetUpdateStrategy: Type RollingUpdate:*RollingUpdateDaemonSet
DeploymentStrategy: Type RollingUpdate:*RollingUpdateDeployment
DownwardAPIProjection: Items:[DownwardAPIVolumeFile
DownwardAPIVolumeFile: Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*n
DownwardAPIVolumeSource: Items:[DownwardAPIVolumeFile DefaultMode:*n
EmptyDirVolumeSource: Medium SizeLimit:*q
EnvFromSource: Prefix ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
EnvVar: Name Value ValueFrom:*EnvVarSource
EnvVarSource: FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
    ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
EphemeralContainer: +EphemeralContainerCommon TargetContainerName
EphemeralContainerCommon: Name Image Command:[s Args:[s WorkingDir Ports:[ContainerPort EnvFrom:[EnvFromSource
    Env:[EnvVar Resources:ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy:*s
    RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice
    LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
    TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
EphemeralVolumeSource: VolumeClaimTemplate:*PersistentVolumeClaimTemplate
ExecAction: Command:[s
FCVolumeSource: TargetWWNs:[s Lun:*n FSType ReadOnly:b WWIDs=wwids:[s
FileKeySelector: VolumeName Path Key Optional:*b
FlexVolumeSource: Driver FSType SecretRef:*LocalObjectReference ReadOnly:b Options:{
FlockerVolumeSource: DatasetName DatasetUUID
GCEPersistentDiskVolumeSource: PDName FSType Partition:n ReadOnly:b
GRPCAction: Port:n Service:*s
GitRepoVolumeSource: Repository Revision Directory
GlusterfsVolumeSource: EndpointsName=endpoints Path ReadOnly:b
HTTPGetAction: Path Port:i Host Scheme HTTPHeaders:[HTTPHeader
HTTPHeader: Name Value
HostAlias: IP Hostnames:[s
HostPathVolumeSource: Path Type:*s
ISCSIVolumeSource: TargetPortal IQN Lun:n ISCSIInterface FSType ReadOnly:b Portals:[s
    DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*LocalObjectReference
    InitiatorName:*s
ImageVolumeSource: Reference PullPolicy
KeyToPath: Key Path Mode:*n
Lifecycle: PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*s
LifecycleHandler: Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction
LocalObjectReference: Name
NFSVolumeSource: Server Path ReadOnly:b
NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
    PreferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm
NodeSelector: NodeSelectorTerms:[NodeSelectorTerm
NodeSelectorRequirement: Key Operator Values:[s
NodeSelectorTerm: MatchExpressions:[NodeSelectorRequirement MatchFields:[NodeSelectorRequirement
ObjectFieldSelector: APIVersion FieldPath
PersistentVolumeClaimSpec: AccessModes:[s Selector:*~ Resources:VolumeResourceRequirements VolumeName
    StorageClassName:*s VolumeMode:*s DataSource:*TypedLocalObjectReference
    DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*s
PersistentVolumeClaimTemplate: ObjectMeta=metadata:m Spec:PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: ClaimName ReadOnly:b
PhotonPersistentDiskVolumeSource: PdID FSType
PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
PodAffinityTerm: LabelSelector:*~ Namespaces:[s TopologyKey NamespaceSelector:*~ MatchLabelKeys:[s
    MismatchLabelKeys:[s
PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
PodCertificateProjection: SignerName KeyType MaxExpirationSeconds:*n CredentialBundlePath KeyPath
    CertificateChainPath UserAnnotations:{
PodDNSConfig: Nameservers:[s Searches:[s Options:[PodDNSConfigOption
PodDNSConfigOption: Name Value:*s
PodFailurePolicy: Rules:[PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement: ContainerName:*s Operator Values:[n
PodFailurePolicyOnPodConditionsPattern: Type Status
PodFailurePolicyRule: Action OnExitCodes:*PodFailurePolicyOnExitCodesRequirement
    OnPodConditions:[PodFailurePolicyOnPodConditionsPattern
PodOS: Name
PodReadinessGate: ConditionType
PodResourceClaim: Name ResourceClaimName:*s ResourceClaimTemplateName:*s
PodSchedulingGate: Name
PodSchedulingGroup: PodGroupName:*s
PodSecurityContext: HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:*b HostUsers:*b
    SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*n RunAsGroup:*n
    RunAsNonRoot:*b SupplementalGroups:[n SupplementalGroupsPolicy:*s FSGroup:*n FSGroupChangePolicy:*s
    Sysctls:[Sysctl SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy:*s
PodSpec: Volumes:[Volume InitContainers:[Container Containers:[Container
    EphemeralContainers:[EphemeralContainer RestartPolicy TerminationGracePeriodSeconds:*n
    ActiveDeadlineSeconds:*n DNSPolicy NodeSelector:{ ServiceAccountName AutomountServiceAccountToken:*b
    NodeName SecurityContext:*PodSecurityContext ImagePullSecrets:[LocalObjectReference Hostname Subdomain
    SetHostnameAsFQDN:*b Affinity:*Affinity SchedulerName Tolerations:[Toleration HostAliases:[HostAlias
    PriorityClassName Priority:*n PreemptionPolicy:*s DNSConfig:*PodDNSConfig ReadinessGates:[PodReadinessGate
    RuntimeClassName:*s Overhead:{ EnableServiceLinks:*b TopologySpreadConstraints:[TopologySpreadConstraint
    OS:*PodOS SchedulingGates:[PodSchedulingGate ResourceClaims:[PodResourceClaim
    Resources:*ResourceRequirements HostnameOverride:*s SchedulingGroup:*PodSchedulingGroup
PodTemplateSpec: ObjectMeta=metadata:m Spec:PodSpec
PortworxVolumeSource: VolumeID FSType ReadOnly:b
PreferredSchedulingTerm: Weight:n Preference:NodeSelectorTerm
Probe: +ProbeHandler InitialDelaySeconds:n TimeoutSeconds:n PeriodSeconds:n SuccessThreshold:n
    FailureThreshold:n TerminationGracePeriodSeconds:*n
ProbeHandler: Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction
ProjectedVolumeSource: Sources:[VolumeProjection DefaultMode:*n
QuobyteVolumeSource: Registry Volume ReadOnly:b User Group Tenant
RBDVolumeSource: CephMonitors=monitors:[s RBDImage=image FSType RBDPool=pool RadosUser=user Keyring
    SecretRef:*LocalObjectReference ReadOnly:b
ResourceClaim: Name Request
ResourceFieldSelector: ContainerName Resource Divisor:q
ResourceRequirements: Limits:{ Requests:{ Claims:[ResourceClaim
RollingUpdateDaemonSet: MaxUnavailable:i MaxSurge:i
RollingUpdateDeployment: MaxUnavailable:i MaxSurge:i
RollingUpdateStatefulSetStrategy: Partition:n MaxUnavailable:*i
SELinuxOptions: User Role Type Level
ScaleIOVolumeSource: Gateway System SecretRef:*LocalObjectReference SSLEnabled:b ProtectionDomain StoragePool
    StorageMode VolumeName FSType ReadOnly:b
SeccompProfile: Type LocalhostProfile:*s
SecretEnvSource: +LocalObjectReference Optional:*b
SecretKeySelector: +LocalObjectReference Key Optional:*b
SecretProjection: +LocalObjectReference Items:[KeyToPath Optional:*b
SecretVolumeSource: SecretName Items:[KeyToPath DefaultMode:*n Optional:*b
SecurityContext: Capabilities:*Capabilities Privileged:*b SELinuxOptions:*SELinuxOptions
    WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*n RunAsGroup:*n RunAsNonRoot:*b
    ReadOnlyRootFilesystem:*b AllowPrivilegeEscalation:*b ProcMount:*s SeccompProfile:*SeccompProfile
    AppArmorProfile:*AppArmorProfile
ServiceAccountTokenProjection: Audience ExpirationSeconds:n Path
SleepAction: Seconds:n
StatefulSetUpdateStrategy: Type RollingUpdate:*RollingUpdateStatefulSetStrategy
StorageOSVolumeSource: VolumeName VolumeNamespace FSType ReadOnly:b SecretRef:*LocalObjectReference
SuccessPolicy: Rules:[SuccessPolicyRule
SuccessPolicyRule: SucceededIndexes:*s SucceededCount:*n
Sysctl: Name Value
TCPSocketAction: Port:i Host
Toleration: Key Operator Value Effect TolerationSeconds:*n
TopologySpreadConstraint: MaxSkew:n TopologyKey WhenUnsatisfiable LabelSelector:*~ MinDomains:*n
    NodeAffinityPolicy:*s NodeTaintsPolicy:*s MatchLabelKeys:[s
TypedLocalObjectReference: APIGroup:*s Kind Name
TypedObjectReference: APIGroup:*s Kind Name Namespace:*s
Volume: Name +VolumeSource
VolumeDevice: Name DevicePath
VolumeMount: Name ReadOnly:b RecursiveReadOnly:*s MountPath SubPath MountPropagation:*s SubPathExpr
VolumeProjection: Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
    ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
    PodCertificate:*PodCertificateProjection
VolumeResourceRequirements: Limits:{ Requests:{
VolumeSource: HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
    GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource
    GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource
    Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource
    RBD:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource
    CephFS=cephfs:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource
    FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource
    VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource
    PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource
    PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource
    StorageOS=storageos:*StorageOSVolumeSource CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource
    Image:*ImageVolumeSource
VsphereVirtualDiskVolumeSource: VolumePath FSType StoragePolicyName StoragePolicyID
WeightedPodAffinityTerm: Weight:n PodAffinityTerm:PodAffinityTerm
WindowsSecurityContextOptions: GMSACredentialSpecName:*s GMSACredentialSpec:*s RunAsUserName:*s HostProcess:*b
"""

_META: Final = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
)  # fmt: skip
_HOST: Final = "hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"
"""Members of a spec that the real server keeps in its security context."""

_EMPTY: Final = {"s": "", "n": 0, "b": False, "i": 0, "q": "0", "{": None}
_Write = Callable[[Any], Any]


def text(kind: str, value: Values | None) -> str:
    """One value on one line."""
    return _dumped(form(kind, value), separators=(",", ":"))


def texts(kind: str, values: Any) -> str:
    """A list of values on one line."""
    found = [form(kind, one) for one in values] if values else None
    return _dumped(found, separators=(",", ":"))


def selector(value: Values | None) -> str:
    """A label selector on one line."""
    return _dumped(_selector(value), separators=(",", ":"))


def difference(kind: str, old: Values, new: Values) -> str:
    """What changed, line by line, with three lines around each change."""
    before, after = (_dumped(form(kind, one), indent=1).split("\n") for one in (old, new))
    stated = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    return "".join(f"{line}\n" for line in stated)


def form(kind: str, value: Values | None) -> Any:
    """A value with all members of its type."""
    if value is None:
        return None
    if kind == "PodSpec":
        context = dict(value.get("securityContext") or {})
        context |= {member: value[member] for member in _HOST if member in value}
        value = {**value, "securityContext": context}
    shaped: dict[str, Any] = {}
    for name, member, write in _members(kind):
        if write is None:
            shaped |= _meta(value.get(member) or {})
        else:
            shaped[name] = write(value.get(member))
    return shaped


@cache
def _members(kind: str) -> list[tuple[str, str, _Write | None]]:
    members: list[tuple[str, str, _Write | None]] = []
    for word in _table()[kind].split():
        if word.startswith("+"):
            members += _members(word[1:])
            continue
        names, _, shape = word.partition(":")
        name, _, member = names.partition("=")
        write = None if shape == "m" else _writer(shape or "s")
        members.append((name, member or _lowered(name), write))
    return members


@cache
def _table() -> dict[str, str]:
    joined = _TYPES.replace("\n    ", " ").strip().splitlines()
    return {name: rest for name, _, rest in (line.partition(": ") for line in joined)}


def _writer(shape: str) -> _Write:
    if shape.startswith("*"):
        inner = _writer(shape[1:])
        return lambda value: None if value is None else inner(value)
    if shape.startswith("["):
        inner = _writer(shape[1:])
        return lambda value: [inner(one) for one in value] if value else None
    if shape == "~":
        return _selector
    if shape == "{":
        return lambda value: dict(sorted(value.items())) if value else None
    if shape in _EMPTY:
        return lambda value: _EMPTY[shape] if value is None else value
    return lambda value: form(shape, value or {})


def _selector(value: Values | None) -> Any:
    if value is None:
        return None
    shaped: dict[str, Any] = {}
    if value.get("matchLabels"):
        shaped["matchLabels"] = dict(sorted(value["matchLabels"].items()))
    if value.get("matchExpressions"):
        shaped["matchExpressions"] = [
            {name: one[name] for name in ("key", "operator", "values") if one.get(name) is not None}
            for one in value["matchExpressions"]
        ]
    return shaped


def _meta(value: Values) -> dict[str, Any]:
    return {name: value[name] for name in _META if value.get(name)}


def _lowered(name: str) -> str:
    """The JSON name of a member: capitals at its beginning become small, up to the next word."""
    capitals = len(name) - len(name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    head = capitals if capitals in (1, len(name)) else capitals - 1
    return name[:head].lower() + name[head:]


def _dumped(value: Any, **how: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, **how)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
