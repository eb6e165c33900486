"""What an API server says about itself: its answers, its own resources, who somebody is and what they may do.

`kubeloop.client.errors` reads `Status`, `korder install` waits for a CustomResourceDefinition to be established, `korder uninstall` reads in a
ClusterRoleBinding where korder lives, the webhook and metrics servers ask with reviews. Schemas of definitions stay JSON; they are
generated elsewhere.
"""

from collections.abc import Mapping

from kubeloop.objects.codec import Raw
from kubeloop.objects.core import ReportedCondition
from kubeloop.objects.meta import Base, Kind, ListMeta, Object


class StatusCause(Base):
    """One thing that is wrong, and in which field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Base):
    """What an answer is about; `retry_after_seconds` is 0 unless the server named a time."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Base):
    """The answer of an API server that is not an object; `reason` is the word to decide by."""

    api_version: str = ""
    kind: str = ""
    metadata: ListMeta = ListMeta()
    status: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


class CustomResourceDefinitionStatus(Base):
    """How far the server is with a definition; a fresh one has null where lists will be."""

    conditions: tuple[ReportedCondition, ...] | None = None
    stored_versions: tuple[str, ...] | None = None


class CustomResourceDefinition(Object):
    """A kind that somebody added to the server."""

    spec: Mapping[str, Raw] = {}
    status: CustomResourceDefinitionStatus = CustomResourceDefinitionStatus()


class Subject(Base):
    """Somebody who is given a role."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class ClusterRoleBinding(Object):
    """Who has a role in all namespaces."""

    subjects: tuple[Subject, ...] = ()


class UserInfo(Base):
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class TokenReviewSpec(Base):
    """A token and the audiences it should be meant for."""

    token: str = ""
    audiences: tuple[str, ...] = ()


class TokenReviewStatus(Base):
    """Whose token it is."""

    authenticated: bool = False
    user: UserInfo = UserInfo()
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(Object):
    """The question whose token this is."""

    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()


class SelfSubjectReviewStatus(Base):
    """Who asked."""

    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Object):
    """The question who one is oneself."""

    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


class ResourceAttributes(Base):
    """What somebody wants to do to which resource."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class NonResourceAttributes(Base):
    """What somebody wants to do to which path."""

    path: str = ""
    verb: str = ""


class SubjectAccessReviewSpec(Base):
    """Who wants to do what."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}
    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewStatus(Base):
    """Whether they may, and why."""

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SubjectAccessReview(Object):
    """The question whether somebody may do something."""

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


CUSTOM_RESOURCE_DEFINITIONS: Kind[CustomResourceDefinition] = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    CustomResourceDefinition,
    namespaced=False,
)
CLUSTER_ROLE_BINDINGS: Kind[ClusterRoleBinding] = Kind(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    ClusterRoleBinding,
    namespaced=False,
)
TOKEN_REVIEWS: Kind[TokenReview] = Kind(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", TokenReview, namespaced=False
)
SELF_SUBJECT_REVIEWS: Kind[SelfSubjectReview] = Kind(
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    "selfsubjectreviews",
    SelfSubjectReview,
    namespaced=False,
)
SUBJECT_ACCESS_REVIEWS: Kind[SubjectAccessReview] = Kind(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    SubjectAccessReview,
    namespaced=False,
)
