"""The command `korder`: one file per verb, and one place where an error becomes a sentence and an exit code.

Only the verb that is asked for is imported: the embedded cluster alone takes a second, and `korder get` shall not pay for it.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
import sys
from typing import Annotated

import typer

from kubeloop.client.errors import KubeError
from kubeloop.net.http import NetError

_MODULES = {"simulate": "simulate.command"}
_BEFORE = (
    "up",
    "get",
    "watch",
    "apply",
    "describe",
    "delete",
)
_AFTER = (
    "explain",
    "kubectl",
    "simulate",
    "manager",
    "install",
    "uninstall",
    "manifests",
)
_OF_UP = ("pocketkube", "cel_expr_python")
"""Modules that only the extra `up` installs."""
_ALL_ARGUMENTS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": list[str](),
}


def show_version() -> None:
    """Print the version."""
    print(version("korder"))


def _version_asked(asked: bool) -> None:
    if asked:
        show_version()
        raise typer.Exit


def _options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version_asked, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Books capacity on Kubernetes. `korder up` starts a cluster to try it on."""


def command(asked: str) -> typer.Typer:
    """The command with the verb that is asked for, or with all verbs if it is none of them."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for verb, module in verbs(asked).items():
        run = _load(verb, module)
        untyped = verb == "kubectl" or run.__module__ == __name__
        app.command(verb, context_settings=_ALL_ARGUMENTS if untyped else None)(run)
    app.command("version")(show_version)
    return app


def verbs(asked: str = "") -> dict[str, str]:
    """The modules of the verb that is asked for, or of all verbs if it is none of them."""
    if asked in (*_BEFORE, *_AFTER):
        return {asked: _module(asked)}
    found = {verb: _module(verb) for verb in _BEFORE}
    for domain in import_module("korder.domains").DOMAINS:
        found |= domain.verbs
    found |= {verb: _module(verb) for verb in _AFTER}
    return {asked: found[asked]} if asked in found else found


def _load(verb: str, module: str) -> Callable[..., None]:
    """Imports a verb; one whose extra is not installed only says so."""
    try:
        run: Callable[..., None] = import_module(module).run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_UP:
            raise

        def run() -> None:
            """Not installed: needs `pip install 'korder[up]'`."""
            raise KubeError(
                f"`korder {verb}` needs the embedded cluster: run `pip install 'korder[up]'`"
            )

    return run


def _module(verb: str) -> str:
    return f"korder.cli.{_MODULES.get(verb, verb)}"


def run() -> None:
    """Runs the command line; what a user can cause ends in one sentence, never in a traceback."""
    try:
        command(sys.argv[1] if len(sys.argv) > 1 else "")(prog_name="korder")
    except OSError as error:
        stated = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"korder: {stated}", file=sys.stderr)
        sys.exit(1)
    except (KubeError, NetError) as error:
        print(f"korder: {error}", file=sys.stderr)
        sys.exit(1)
