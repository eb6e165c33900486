"""`korder up`: a cluster in this process, with korder at work in it, until Ctrl-C."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
import random
import shlex
import signal
from typing import Annotated

import typer

from korder.cli import logs, loops
from korder.cli.lockfile import alone_in
from korder.cli.paths import EMBEDDED, chosen_kubeconfig, data_folder, kubeconfig_of_embedded
from korder.domains import DOMAINS
from korder.install import crds
from korder.install.objects import Admission, admission_objects, domain_objects
from korder.install_config import NAMESPACE, PRODUCT, Site
from kubeloop.client.errors import ConfigError, KubeError
from kubeloop.net.ports import is_free
from kubeloop.runtime.clock import SystemClock, age_of_process
from kubeloop.runtime.manager import Manager
from pocketkube import credentials, fleet
from pocketkube.apiserver import storage
from pocketkube.cluster import STATE, Actor, Cluster, Options, running
from pocketkube.credentials import write_privately
from pocketkube.fleet import BadShape

PORT = "port"
"""The file with the port of the last run: whoever has the kubeconfig open finds the cluster again."""


class Part(StrEnum):
    """Parts of a cluster that other programs can take over."""

    SCHEDULER = Actor.SCHEDULER
    CONTROLLERS = Actor.CONTROLLERS
    NODES = Actor.NODES
    KORDER = "korder"


def _shape(text: str) -> str:
    try:
        fleet.shape_of(text)
    except BadShape as error:
        raise typer.BadParameter(str(error)) from None
    return text


def run(  # noqa: PLR0913, PLR0917  the options of the verb
    nodes: Annotated[
        int,
        typer.Option(
            min=0,
            max=10_000,
            metavar="NUMBER",
            help="How many nodes; the last of several has GPUs.",
        ),
    ] = 5,
    node_shape: Annotated[
        str,
        typer.Option(
            callback=_shape,
            metavar="RESOURCES",
            help="What each of the other nodes has, such as cpu=16,memory=64Gi,pods=200.",
        ),
    ] = "cpu=8,memory=32Gi",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            metavar="NUMBER",
            help="Where to listen on 127.0.0.1; 0 for the port of the last time, or any.",
        ),
    ] = 0,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where state, credentials and kubeconfig are kept; ~/.local/share/korder if not given.",
        ),
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Keep nothing but the credentials.")
    ] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Begin with an empty cluster.")] = False,
    without: Annotated[
        list[Part] | None,
        typer.Option(help="Leave this part to somebody else; can be said several times."),
    ] = None,
    log_format: Annotated[
        logs.LogFormat, typer.Option(help="How log lines look.")
    ] = logs.LogFormat.TEXT,
) -> None:
    """Run a small Kubernetes in this process, until Ctrl-C."""
    logs.configure(log_format, quiet=True)
    folder = (data_dir or data_folder()).absolute()
    left_out = set(without or ())
    options = Options(
        folder=folder,
        memory=memory,
        port=port,
        machines=fleet.fleet(nodes, fleet.shape_of(node_shape)),
        without=frozenset(Actor(part) for part in left_out - {Part.KORDER}),
        identity="korder-up",
        component=PRODUCT,
        namespace=NAMESPACE,
        definitions=crds.all_crds(),
        objects=(*domain_objects(Site()), *admission_objects(Site(), Admission.POLICY)),
        parts=() if Part.KORDER in left_out else (_add_domains,),
        user=Site().manager_user,
    )
    with asyncio.Runner(loop_factory=loops.fastest()) as runner:
        try:
            runner.run(_up(options, folder, reset=reset))
        except (storage.Unusable, credentials.Unusable) as error:
            raise KubeError(str(error)) from error
        except asyncio.CancelledError:
            raise typer.Exit(130) from None


def _add_domains(manager: Manager) -> None:
    """What korder itself runs."""
    for domain in DOMAINS:
        domain.with_usual_options(manager, SystemClock())


async def _up(options: Options, folder: Path, *, reset: bool) -> None:
    stop, starting = asyncio.Event(), asyncio.current_task()
    _at_signals(starting.cancel if starting else stop.set)
    async with alone_in(folder):
        if reset:
            _forget(folder)
        options = replace(options, port=options.port or _last_port(folder))
        async with running(options, clock=SystemClock(), rng=random.Random()) as cluster:
            _at_signals(stop.set)
            config = kubeconfig_of_embedded(folder)
            write_privately(config, cluster.kubeconfig())
            (folder / PORT).write_text(cluster.server.rpartition(":")[2])
            _tell(cluster, options, config)
            await stop.wait()
    print("stopped", flush=True)


def _at_signals(act: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, act)


def _forget(folder: Path) -> None:
    """Removes what is stored, be it damaged or from another version: a reset is the way out."""
    for file in folder.glob(f"{STATE}*"):
        file.unlink()


def _last_port(folder: Path) -> int:
    """The port of the last run, if it can be had again; 0 otherwise."""
    try:
        port = int((folder / PORT).read_text())
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 65_536 and is_free(port) else 0


def _tell(cluster: Cluster, options: Options, config: Path) -> None:
    count = len(options.machines)
    kept = "nothing is kept" if options.memory else "state is kept"
    print(
        f"korder {version('korder')}: a cluster of {count} node{'s' if count != 1 else ''} at {cluster.server}\n"
        f"  kubeconfig  {config}\n"
        f"  try         {_first_command(config)}\n"
        f"  kubectl     export KUBECONFIG={shlex.quote(str(config))}\n"
        f"ready in {age_of_process():.1f} s. Ctrl-C stops it, {kept}.",
        flush=True,
    )


def _first_command(config: Path) -> str:
    """A command that shows the nodes of this cluster, whatever other clusters this person has."""
    try:
        meant = chosen_kubeconfig(None)
    except ConfigError:
        meant = ""
    if meant == str(config):
        return "korder get nodes"
    word = EMBEDDED if config == kubeconfig_of_embedded() else shlex.quote(str(config))
    return f"korder get nodes --kubeconfig {word}"
