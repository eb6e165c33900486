"""In which form an answer is wanted: JSON or YAML, the object itself, a table, or its metadata alone.

`server` asks once for each request. A client that would like Protocol Buffers and takes JSON as well gets JSON, as from a
server that does not have them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import re

from kubeloop.objects.machinery import StatusDetails
from pocketkube.apiserver.refusal import Refused, failure

JSON, YAML = "application/json", "application/yaml"
_BROWSERS = re.compile(r"curl|Wget|Mozilla/5\.0")
_KNOWN = (JSON, YAML, "application/*", "*/*", "application/vnd.kubernetes.protobuf")
_META = "meta.k8s.io"
_KINDS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class Form:
    """What the client takes.

    Attributes:
        media: JSON or YAML.
        kind: "" for the object itself, else Table or PartialObjectMetadata(List).
        version: The version of meta.k8s.io for that kind.
        pretty: Whether it is written for eyes.
        discovery: The version of aggregated discovery, if that is wanted.
    """

    media: str = JSON
    kind: str = ""
    version: str = "v1"
    pretty: bool = False
    discovery: str = ""


PLAIN = Form()


def negotiate(headers: Mapping[str, str], pretty: str | None) -> Form:
    """Chooses a form.

    Raises:
        Refused: 406, nothing the client takes can be made.
    """
    accept = headers.get("Accept", "")
    plain = accept in ("", "*/*", JSON) or accept.startswith("application/vnd.kubernetes.protobuf,")
    eyes = _for_eyes(headers, pretty)
    if plain and (
        accept in ("", "*/*", JSON) or accept.endswith((",application/json", ", application/json"))
    ):
        return Form(pretty=True) if eyes else PLAIN
    clauses = list(_clauses(accept))
    for media, parameters in clauses:
        form = _form(media, parameters, pretty=eyes)
        if form is not None:
            return form
    raise not_acceptable() if any(c[0] in _KNOWN for c in clauses) else _no_representation()


def not_acceptable() -> Refused:
    """What the client takes cannot be made of this object."""
    stated = f"only the following media types are accepted: {JSON}, {YAML}"
    return failure(406, "NotAcceptable", stated)


def _no_representation() -> Refused:
    """The client takes none of the types there are."""
    stated = (
        f"406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}, {JSON};stream=watch"
    )
    return failure(406, "NotAcceptable", stated, StatusDetails())


def _for_eyes(headers: Mapping[str, str], pretty: str | None) -> bool:
    if pretty is not None:
        return pretty.lower() not in ("false", "0")
    agent = headers.get("User-Agent", "")
    return _BROWSERS.match(agent) is not None


def _clauses(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The clauses of an Accept header, the most wanted first."""
    found = []
    for clause in accept.split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        pairs = (part.partition("=") for part in rest)
        parameters = {key.strip(): value.strip() for key, _, value in pairs}
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 0.0
        if media and quality > 0:
            found.append((-quality, media, parameters))
    found.sort(key=lambda each: each[0])
    return ((media, parameters) for _, media, parameters in found)


def _form(media: str, parameters: Mapping[str, str], *, pretty: bool) -> Form | None:
    if media in ("*/*", "application/*"):
        media = JSON
    if media not in (JSON, YAML):
        return None
    kind, group = parameters.get("as", ""), parameters.get("g", "")
    version = parameters.get("v", "")
    if "pretty" in parameters:
        pretty = parameters["pretty"] not in ("false", "0")
    if group == "apidiscovery.k8s.io" and kind == "APIGroupDiscoveryList":
        wanted = version in ("v2", "v2beta1")
        return Form(media, pretty=pretty, discovery=version) if wanted else None
    if not kind:
        return Form(media, pretty=pretty)
    if group != _META or kind not in _KINDS or version not in ("v1", "v1beta1"):
        return None
    return Form(media, kind, version, pretty=pretty)
