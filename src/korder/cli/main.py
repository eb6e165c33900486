"""The command `korder`: one file per verb, and one place where an error becomes a sentence and an exit code."""

from importlib.metadata import version
import sys
from typing import Annotated

import typer

from korder.cli import apply, delete, describe, get, install, kubectl, manager, manifests, up
from korder.kube.errors import KubeError
from korder.net.http import NetError

app = typer.Typer(
    name="korder",
    help="Books capacity on Kubernetes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("up")(up.run)
app.command("get")(get.run)
app.command("watch")(get.watch)
app.command("apply")(apply.run)
app.command("describe")(describe.run)
app.command("delete")(delete.run)
app.command(
    "kubectl",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)(kubectl.run)
app.command("manager")(manager.run)
app.command("install")(install.run)
app.command("manifests")(manifests.run)


@app.command("version")
def show_version() -> None:
    """Print the version."""
    print(version("korder"))


def _version_asked(asked: bool) -> None:
    if asked:
        show_version()
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version_asked, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Books capacity on Kubernetes."""


def main() -> None:
    """Runs the command line; what a user can cause ends in one sentence, never in a traceback."""
    try:
        app()
    except (KubeError, NetError, OSError) as error:
        print(f"korder: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
