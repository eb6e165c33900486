"""Configuration from files and from inside a pod."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.client import config
from kubeloop.client.config import Config
from kubeloop.client.errors import ConfigError

SERVER = "https://api.example:6443"
PEM = base64.b64encode(b"-----BEGIN").decode()

Load = Callable[..., Config]
Write = Callable[..., str]


def kubeconfig(
    cluster: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    name: str = "one",
) -> dict[str, Any]:
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
        "clusters": [{"name": name, "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": name, "user": {**(user or {})}}],
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(content: Any, name: str = "config") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return str(path)

    return to


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads in a world that has nothing but what a test puts into it."""

    def from_(path: str | None = None, context: str | None = None, **environment: str) -> Config:
        return config.load(
            path,
            context,
            environment=environment,
            home=tmp_path / "home",
            service_account=tmp_path / "account",
        )

    return from_


class TestWhatAFileSays:
    def test_the_least(self, write: Write, load: Load) -> None:
        path = write(kubeconfig())
        found = load(path)
        assert (found.server, found.namespace, found.proxy, found.compress) == (
            SERVER,
            "default",
            "",
            True,
        )
        assert found.source == f"{path} (context one)"

    def test_the_cluster(self, write: Write, load: Load) -> None:
        cluster = {
            "certificate-authority-data": PEM,
            "insecure-skip-tls-verify": True,
            "tls-server-name": "api.internal",
            "proxy-url": "http://proxy:3128",
            "disable-compression": True,
        }
        found = load(write(kubeconfig(cluster)))
        assert (found.tls.ca_data, found.tls.insecure) == (b"-----BEGIN", True)
        assert (found.tls.server_name, found.proxy, found.compress) == (
            "api.internal",
            "http://proxy:3128",
            False,
        )

    def test_the_user(self, write: Write, load: Load) -> None:
        user = {"token": "abc", "username": "ann", "password": "x"}
        keys = {"client-certificate-data": PEM, "client-key-data": PEM}
        found = load(write(kubeconfig(user={**user, **keys})))
        assert (found.user.token, found.user.username, found.user.password) == ("abc", "ann", "x")
        assert found.tls.cert_data == found.tls.key_data == b"-----BEGIN"

    def test_the_context(self, write: Write, load: Load) -> None:
        assert load(write(kubeconfig(context={"namespace": "shop"}))).namespace == "shop"

    def test_paths_start_at_the_file(self, tmp_path: Path, write: Write, load: Load) -> None:
        user = {"client-certificate": "tls.crt", "client-key": "/abs/key", "tokenFile": "../token"}
        found = load(write(kubeconfig({"certificate-authority": "pki/ca.crt"}, user), "sub/config"))
        base = tmp_path / "sub"
        assert found.tls.ca_file == str(base / "pki/ca.crt")
        assert found.tls.cert_file == str(base / "tls.crt")
        assert found.tls.key_file == "/abs/key"
        assert found.user.token_file == str(base / "../token")

    def test_a_plugin(self, tmp_path: Path, write: Write, load: Load) -> None:
        (tmp_path / "ca.crt").write_bytes(b"-----BEGIN")
        exec_ = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./bin/login",
            "args": ["--region", "north"],
            "env": [{"name": "A", "value": "1"}],
            "installHint": "install it",
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
        extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
        cluster = {"certificate-authority": "ca.crt", "extensions": [extension]}
        found = load(write(kubeconfig(cluster, {"exec": exec_}))).user.plugin
        assert found is not None
        assert found.command == str(tmp_path / "bin/login")
        assert (found.args, found.env) == (("--region", "north"), {"A": "1"})
        assert (found.install_hint, found.interactive_mode) == ("install it", "Never")
        assert found.cluster == {
            "server": SERVER,
            "certificate-authority-data": PEM,
            "config": {"audience": "x"},
        }

    def test_a_plugin_in_the_path_that_needs_to_know_nothing(
        self, write: Write, load: Load
    ) -> None:
        exec_ = {"apiVersion": "v", "command": "login", "args": None, "env": None}
        found = load(write(kubeconfig(user={"exec": exec_}))).user.plugin
        assert found is not None
        assert (found.command, found.cluster) == ("login", None)

    def test_a_context_without_a_user(self, write: Write, load: Load) -> None:
        assert load(write(kubeconfig(context={"user": ""}))).user.token == ""


class TestWhereItIsFound:
    def test_an_explicit_path_comes_first(self, write: Write, load: Load) -> None:
        path = write(kubeconfig(context={"namespace": "explicit"}))
        other = write(kubeconfig(), "other")
        assert load(path, KUBECONFIG=other, KUBERNETES_SERVICE_HOST="1").namespace == "explicit"

    def test_then_the_variable(self, write: Write, load: Load) -> None:
        path = write(kubeconfig(context={"namespace": "variable"}))
        assert load(KUBECONFIG=path, KUBERNETES_SERVICE_HOST="1").namespace == "variable"

    def test_then_the_pod(self, tmp_path: Path, write: Write, load: Load) -> None:
        write(kubeconfig(), "home/.kube/config")
        write("abc", "account/token")
        write("shop\n", "account/namespace")
        found = load(KUBERNETES_SERVICE_HOST="10.0.0.1", KUBERNETES_SERVICE_PORT="6443")
        assert (found.server, found.namespace) == ("https://10.0.0.1:6443", "shop")
        assert found.tls.ca_file == str(tmp_path / "account/ca.crt")
        assert found.user.token_file == str(tmp_path / "account/token")

    def test_an_address_of_version_six_gets_its_brackets(self, write: Write, load: Load) -> None:
        write("abc", "account/token")
        assert load(KUBERNETES_SERVICE_HOST="fd00::1").server == "https://[fd00::1]:443"

    def test_then_the_home_folder(self, write: Write, load: Load) -> None:
        write(kubeconfig(context={"namespace": "home"}), "home/.kube/config")
        assert load().namespace == "home"


class TestSeveralFiles:
    def test_the_first_to_name_something_wins(self, write: Write, load: Load) -> None:
        first = {
            "clusters": [{"name": "one", "cluster": {"server": "https://first"}}],
            "current-context": "",
        }
        second = kubeconfig({"server": "https://second"}, {"token": "two"})
        third = kubeconfig({"server": "https://third"}, name="three")
        paths = [write(first, "1"), "/no/such/file", "", write(second, "2"), write(third, "3")]
        found = load(KUBECONFIG=":".join(paths))
        assert (found.server, found.user.token) == ("https://first", "two")
        assert load(None, "three", KUBECONFIG=":".join(paths)).server == "https://third"

    def test_paths_start_at_the_file_they_stand_in(
        self, tmp_path: Path, write: Write, load: Load
    ) -> None:
        user = {"users": [{"name": "one", "user": {"tokenFile": "token"}}]}
        cluster = kubeconfig({"certificate-authority": "ca"})
        found = load(KUBECONFIG=f"{write(user, 'a/config')}:{write(cluster, 'b/config')}")
        assert found.user.token_file == str(tmp_path / "a/token")
        assert found.tls.ca_file == str(tmp_path / "b/ca")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param("a: [", "is not YAML: while parsing", id="not YAML"),
        pytest.param("just text", "is not a kubeconfig but a str", id="no kubeconfig"),
        pytest.param(
            "", r"has no current-context; choose one with --context \(known: none\)", id="empty"
        ),
        pytest.param({"clusters": {}, "users": 5}, "users is not a list", id="no list"),
        pytest.param({"users": [{"user": {}}]}, r"users\[0\] has no name", id="no name"),
        pytest.param(
            {"clusters": [{"name": "a", "cluster": "b"}]},
            r"clusters\[0\].cluster is not a mapping",
            id="no mapping",
        ),
        pytest.param(
            {**kubeconfig(), "current-context": "two"},
            r"has no context two; choose another \(known: one\)",
            id="a current context that is not there",
        ),
        pytest.param(
            kubeconfig(context={"cluster": "x"}),
            "names the cluster 'x', which is not there",
            id="no cluster",
        ),
        pytest.param(
            kubeconfig(context={"user": "x"}), "names the user 'x', who is not there", id="no user"
        ),
        pytest.param(kubeconfig({"server": ""}), "the server '' is not an http", id="no server"),
        pytest.param(
            kubeconfig({"server": "api.example"}),
            "'api.example' is not an http",
            id="half a server",
        ),
        pytest.param(
            kubeconfig(user={"token": 5}), r"Expected `str.*token", id="a number for a token"
        ),
        pytest.param(
            kubeconfig({"certificate-authority-data": "%"}), "is not base64", id="no base64"
        ),
        pytest.param(
            kubeconfig({"proxy-url": "socks5://p"}), "socks5://p is of a kind", id="another proxy"
        ),
        pytest.param(
            kubeconfig(user={"auth-provider": {"name": "x"}}), "use an exec plugin", id="old ways"
        ),
        pytest.param(
            kubeconfig(user={"exec": {"apiVersion": "v"}}),
            "missing required field `command`",
            id="no command",
        ),
        pytest.param(
            kubeconfig(
                {"certificate-authority": "none"},
                {"exec": {"apiVersion": "v", "command": "c", "provideClusterInfo": True}},
            ),
            "none cannot be read: No such file",
            id="an authority that cannot be told",
        ),
    ],
)
def test_mistakes_are_named_with_their_file(
    content: Any, complaint: str, write: Write, load: Load
) -> None:
    path = write(content)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_context_that_is_asked_for_must_be_there(write: Write, load: Load) -> None:
    with pytest.raises(ConfigError, match="no context two"):
        load(write(kubeconfig()), "two")


def test_a_missing_file_is_named(tmp_path: Path, load: Load) -> None:
    with pytest.raises(ConfigError, match="no kubeconfig at /nowhere/a; give one"):
        load("/nowhere/a")
    with pytest.raises(ConfigError, match="/nowhere/a, /nowhere/b"):
        load(KUBECONFIG="/nowhere/a:/nowhere/b")
    with pytest.raises(ConfigError, match=str(tmp_path / "home/.kube/config")):
        load()


def test_a_folder_is_not_a_file(tmp_path: Path, load: Load) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(tmp_path))


def test_a_pod_without_a_token_is_reported_what_to_do(load: Load) -> None:
    with pytest.raises(ConfigError, match="let the pod mount its service account token"):
        load(KUBERNETES_SERVICE_HOST="10.0.0.1")


def test_a_proxy_of_the_environment_is_used(write: Write, load: Load) -> None:
    path = write(kubeconfig())
    assert load(path, HTTPS_PROXY="http://p:1").proxy == "http://p:1"
    assert load(path, HTTPS_PROXY="http://p:1", NO_PROXY=".example").proxy == ""


def test_secrets_are_not_shown(write: Write, load: Load) -> None:
    found = load(write(kubeconfig(user={"token": "s3cr3t"})))
    assert "s3cr3t" not in repr(found)


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        pytest.param({"server": "https://127.0.0.1:99999"}, {}, id="a port beyond all ports"),
        pytest.param({"server": "https://127.0.0.1:abc"}, {}, id="a port that is no number"),
        pytest.param({"server": "https://[::1"}, {}, id="half an address"),
        pytest.param({"server": "https://a", "proxy-url": "http://[x"}, {}, id="half a proxy"),
        pytest.param({"server": "https://a"}, {"as": "root"}, id="acting as somebody else"),
        pytest.param(
            {"server": "https://a", "extensions": "x"},
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "c",
                    "provideClusterInfo": True,
                }
            },
            id="extensions that are none",
        ),
    ],
)
def test_whatever_is_wrong_ends_in_one_sentence(
    tmp_path: Path, cluster: dict[str, object], user: dict[str, object]
) -> None:
    path = tmp_path / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
            }
        )
    )
    with pytest.raises(ConfigError, match=str(path)) as stated:
        config.load(str(path))
    assert "\n" not in str(stated.value)
