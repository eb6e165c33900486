"""Which server is called through which proxy."""

import pytest

from kubeloop.client import config

PROXIES = {"HTTPS_PROXY": "http://secure:1", "http_proxy": "plain:2"}


@pytest.mark.parametrize(
    ("server", "exempt", "chosen"),
    [
        pytest.param("https://api.example", "", "http://secure:1", id="by scheme"),
        pytest.param("http://api.example", "", "http://plain:2", id="a bare name is http"),
        pytest.param("https://localhost:6443", "", "", id="this machine"),
        pytest.param("https://127.0.0.5", "", "", id="this machine by address"),
        pytest.param("https://[::1]:6443", "", "", id="this machine by its other address"),
        pytest.param("https://api.example", "*", "", id="all are exempt"),
        pytest.param("https://api.example", "other, api.example", "", id="by name"),
        pytest.param("https://api.example", "EXAMPLE", "", id="by domain"),
        pytest.param("https://api.example", ".example", "", id="below a domain"),
        pytest.param(
            "https://api.example", "*.example", "", id="below a domain, as others write it"
        ),
        pytest.param("https://example", ".example", "http://secure:1", id="not the domain itself"),
        pytest.param("https://myexample", "example", "http://secure:1", id="not half a name"),
        pytest.param(
            "https://api.example:6443", "api.example:443", "http://secure:1", id="another port"
        ),
        pytest.param("https://api.example:443", "api.example:443", "", id="this port"),
        pytest.param("https://10.1.2.3", "10.0.0.0/8", "", id="by network"),
        pytest.param("https://11.1.2.3", "10.0.0.0/8", "http://secure:1", id="another network"),
        pytest.param("https://10.1.2.3:6443", "10.1.2.3:6443", "", id="by address and port"),
        pytest.param("https://10.1.2.3", "10.1.2.3", "", id="by address"),
    ],
)
def test_the_environment_names_a_proxy(server: str, exempt: str, chosen: str) -> None:
    assert config.from_environment(server, {**PROXIES, "no_proxy": exempt}) == chosen


def test_without_variables_there_is_none() -> None:
    assert config.from_environment("https://api.example", {}) == ""
