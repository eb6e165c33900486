"""Flags of `korder manager` that domains declare: a field of a domain's options with a `Flag` is a flag."""

from collections.abc import Callable, Mapping
import dataclasses
import functools
import inspect
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from korder.domain import Domain, Flag
from korder.domains import DOMAINS

OptionsOf = Mapping[str, Any]
"""The options of each domain, by its name."""


def with_domain_flags(place: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the flags of all domains to a verb, before the parameter `place`; the verb gets their values as `options`."""

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(run)
        def wrapped(**given: Any) -> None:
            options = {domain.name: _options(domain, given) for domain in DOMAINS}
            names = {name for domain in DOMAINS for name in _flags(domain)}
            own = {name: value for name, value in given.items() if name not in names}
            run(**own, options=options)

        _sign(wrapped, place)
        return wrapped

    return decorate


def _sign(run: Callable[..., None], place: str) -> None:
    """Gives a verb the signature that typer reads."""
    own = inspect.signature(run, eval_str=True).parameters.values()
    parameters: list[inspect.Parameter] = []
    for each in own:
        if each.name == place:
            parameters += [
                _parameter(domain, name) for domain in DOMAINS for name in _flags(domain)
            ]
        if each.name != "options":
            parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}


def _flags(domain: Domain[Any]) -> dict[str, tuple[Any, Flag]]:
    """The types and flags of a domain's options, by field."""
    if domain.options is None:
        return {}
    hints = get_type_hints(type(domain.options), include_extras=True)
    return {
        name: (get_args(hint)[0], flag)
        for name, hint in hints.items()
        for flag in get_args(hint)[1:]
        if isinstance(flag, Flag)
    }


def _parameter(domain: Domain[Any], name: str) -> inspect.Parameter:
    kind, flag = _flags(domain)[name]
    default = getattr(domain.options, name)
    if get_origin(kind) is tuple:
        kind, default = GenericAlias(list, get_args(kind)[:1]) | None, None
    option = typer.Option(*([flag.name] if flag.name else []), help=flag.help)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def _options(domain: Domain[Any], given: Mapping[str, Any]) -> Any:
    if domain.options is None:
        return None
    changed = {
        name: tuple(given[name] or ()) if get_origin(kind) is tuple else given[name]
        for name, (kind, _) in _flags(domain).items()
    }
    return dataclasses.replace(domain.options, **changed)
