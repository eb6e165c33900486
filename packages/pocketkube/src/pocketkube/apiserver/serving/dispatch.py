"""From a request about objects to the verb that answers it.

`server` has read the route and asked who it is; here the resource is found, the method is held against its verbs and the answer
brought into the form the client wants.
"""

from collections.abc import Awaitable, Callable

from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import (
    Refused,
    bad_request,
    method_not_allowed,
    no_such_path,
    not_found,
)
from pocketkube.apiserver.serving import (
    answers,
    deleting,
    negotiation,
    patching,
    reading,
    scaling,
    selection,
    shaping,
    watching,
    writing,
)
from pocketkube.apiserver.serving.call import Answer, Call, World
from pocketkube.apiserver.serving.documents import encode
from pocketkube.apiserver.serving.nonresource_paths import no_page
from pocketkube.apiserver.serving.routing import Route


async def dispatch(world: World, request: Request, route: Route, user: User) -> Reply:
    """Answers a request about objects.

    Raises:
        Refused: it is not carried out.
    """
    resource = world.registry.find(route.group, route.version, route.resource)
    if resource is None and not world.registry.has_group(route.group):
        return no_page()
    if resource is None or (route.rest and route.subresource != "proxy"):
        raise no_such_path()
    _check_method(resource, route)
    pretty = route.query.get("pretty")
    form = negotiation.negotiate(request.headers, pretty[0] if pretty else None)
    call = Call(world, request, route, resource, user, form)
    if resource.deprecation:
        call.warnings.append(resource.deprecation)
    special = world.specials.get((resource.stored, route.subresource, route.verb))
    try:
        answer = await (special(call) if special is not None else _generic(call))
    except Refused as refused:
        stated = [*call.warnings, *(each for each in refused.warnings if each not in call.warnings)]
        return answers.warning(stated, answers.refused(refused.status))
    if isinstance(answer, Reply):
        return answer
    body = answer.value or encode(answer.object)
    answer.value = shaping.one(call, body) if form.kind else body
    return answers.answered(call, answer)


def _check_method(resource: Resource, route: Route) -> None:
    if route.method == "HEAD" or (route.verb == "watch" and route.method != "GET"):
        raise method_not_allowed()
    verbs = resource.verbs
    if route.subresource:
        part = resource.subresource(route.subresource)
        if part is None:
            raise (
                not_found(resource.plural, resource.group, route.name)
                if resource.custom
                else no_such_path()
            )
        verbs = part.verbs
    _check_scope(resource, route)
    if route.name in (".", ".."):
        raise bad_request(f"Name parameter invalid: \"{route.name}\": may not be '{route.name}'")
    if not route.by_name and route.verb in ("update", "patch"):
        raise method_not_allowed()
    if route.verb not in verbs or (
        route.verb == "create" and route.by_name and not route.subresource
    ):
        raise method_not_allowed()


def _check_scope(resource: Resource, route: Route) -> None:
    """Objects with a namespace are not reached without one, those of the cluster not through one."""
    if resource.namespaced and not route.namespace:
        if route.by_name:
            raise no_such_path()
        if route.verb not in ("list", "watch", "deletecollection"):
            raise method_not_allowed()
        if route.verb == "deletecollection":
            raise method_not_allowed()
    elif not resource.namespaced and route.namespace:
        if route.resource == "namespaces" and route.namespace == route.name:
            return
        raise no_such_path()


async def _generic(call: Call) -> Answer | Reply:
    part = call.resource.subresource(call.route.subresource)
    if part is not None and part.kind not in (call.resource.kind, "Scale"):
        raise method_not_allowed()
    if call.route.subresource == "scale":
        return await scaling.answer(call)
    match call.route.verb:
        case "get":
            return reading.get(call)
        case "list":
            listed = reading.find(call, selection.read(call.route, call.resource))
            return await _many(call, reading.collection(call, listed))
        case "watch":
            return watching.watch(call)
        case "deletecollection":
            return await _many(call, await deleting.collection(call))
        case verb:
            return await _WRITING[verb](call)


_WRITING: dict[str, Callable[[Call], Awaitable[Answer]]] = {
    "create": writing.create,
    "update": writing.update,
    "patch": patching.patch,
    "delete": deleting.delete,
}


async def _many(call: Call, body: bytes) -> Reply:
    reply = answers.written(200, await shaping.many(call, body), call.form)
    return answers.compressed(call.request.headers, answers.warned(call, reply))
