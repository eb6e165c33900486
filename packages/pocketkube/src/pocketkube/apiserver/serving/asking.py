"""Questions that are asked as objects: reviews of who may do what, and requests for tokens of service accounts.

Whoever puts a server together registers `specials(door)` and `sites(door, address)`. A question is read, owned and admitted like an object that is created;
then access answers it and nothing is stored.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from pocketkube.apiserver.access.access_check import AccessCheck
from pocketkube.apiserver.access.issuing import (
    DEFAULT_SECONDS,
    GROUP as AUTHENTICATION,
    KIND as TOKEN_REQUEST,
)
from pocketkube.apiserver.access.reviews import REVIEWS
from pocketkube.apiserver.admission.attributes import Attributes, Operation
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import method_not_allowed
from pocketkube.apiserver.serving import documents, incoming, options as opts, writing
from pocketkube.apiserver.serving.call import Answer, Call, Special
from pocketkube.apiserver.serving.nonresource_paths import Site
from pocketkube.apiserver.serving.options import WriteOptions
from pocketkube.apiserver.serving.routing import Route

Object = dict[str, Any]

_REQUESTS = Resource(
    AUTHENTICATION,
    "v1",
    TOKEN_REQUEST,
    "tokenrequests",
    Plain(f"{AUTHENTICATION}/v1", TOKEN_REQUEST),
)
_DISCOVERY = "/.well-known/openid-configuration"
_KEYS = "/openid/v1/jwks"
_FROM_THE_SERVER = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid")


def specials(access_checker: AccessCheck) -> Mapping[tuple[str, str, str], Special]:
    """What answers reviews and token requests."""

    async def review(call: Call) -> Answer:
        options = opts.write(call.route, "CreateOptions")
        asked = incoming.read(call, options)
        for member in _FROM_THE_SERVER:
            asked["metadata"].pop(member, None)
        incoming.settle(call, asked)
        asked = await _admitted(call, options, writing.own(call, options, None, asked))
        plural, namespace = call.resource.plural, call.route.namespace
        return Answer(access_checker.answer(plural, namespace, asked, call.user), code=201)

    async def token(call: Call) -> Answer:
        options = opts.write(call.route, "CreateOptions")
        request = replace(call, resource=_REQUESTS)
        asked = incoming.read(request, options)
        incoming.settle(call, asked)
        asked["metadata"].setdefault("name", call.route.name)
        spec = asked.setdefault("spec", {})
        if spec.get("expirationSeconds") is None:
            spec["expirationSeconds"] = DEFAULT_SECONDS
        asked = await _admitted(call, options, writing.own(request, options, None, asked))
        return Answer(access_checker.issue(call.route.namespace, call.route.name, asked), code=201)

    answering: dict[tuple[str, str, str], Special] = {
        (f"{plural}.{group}", "", "create"): review for plural, group in REVIEWS.items()
    }
    return {**answering, ("serviceaccounts", "token", "create"): token}


def sites(access_checker: AccessCheck, address: str) -> Mapping[str, Site]:
    """Where others learn how to check tokens of service accounts by themselves."""
    root = f"https://{address}"
    about = {
        "issuer": access_checker.issuer,
        "jwks_uri": f"{root}{_KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    return {
        _DISCOVERY: _document(about, "application/json"),
        _KEYS: _document(access_checker.signer.jwks(), "application/jwk-set+json"),
    }


def _document(content: Object, media_type: str) -> Site:
    headers = {"Content-Type": media_type, "Cache-Control": "public, max-age=3600"}
    reply = Reply(200, documents.encode(content), headers)

    def answer(request: Request, route: Route) -> Reply:
        del route
        if request.method != "GET":
            raise method_not_allowed()
        return reply

    return answer


async def _admitted(call: Call, options: WriteOptions, asked: Object) -> Object:
    attributes = Attributes(
        Operation.CREATE,
        call.resource,
        call.route.namespace,
        call.route.name or asked["metadata"].get("name", ""),
        call.user,
        object=asked,
        subresource=call.route.subresource,
        dry_run=options.dry_run,
        options=options.shown("CreateOptions"),
    )
    with call.world.chain.admission(attributes) as admission:
        await admission.mutate()
        await admission.validate()
    call.warnings += attributes.warnings
    return attributes.object or asked
