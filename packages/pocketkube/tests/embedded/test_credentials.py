"""The credentials of an embedded cluster: made once, kept privately, and good for kubectl."""

from base64 import b64decode
from datetime import UTC, datetime, timedelta
import hashlib
from pathlib import Path

import pytest
import yaml

from kubeloop.net import certificates
from pocketkube import credentials
from pocketkube.credentials import FILE, Unusable

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def chance(count: int) -> bytes:
    return hashlib.shake_256(b"test").digest(count)


def test_credentials_are_made_once_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    home = tmp_path / "new" / "data"
    made = credentials.keep(home, NOW)
    assert credentials.keep(home, NOW + timedelta(days=30)) == made
    assert [path.name for path in home.iterdir()] == [FILE]
    assert (home / FILE).stat().st_mode & 0o777 == 0o600


def test_another_cluster_has_others() -> None:
    one, other = credentials.make(NOW), credentials.make(NOW)
    assert one.admin_token != other.admin_token
    assert one.signing_key != other.signing_key


def test_the_same_chance_gives_the_same_token_and_key() -> None:
    one, other = credentials.make(NOW, chance), credentials.make(NOW, chance)
    assert (one.admin_token, one.signing_key) == (other.admin_token, other.signing_key)


def test_nothing_secret_is_shown() -> None:
    made = credentials.make(NOW)
    assert made.admin_token not in repr(made)
    assert "PRIVATE" not in repr(made)


def test_a_servers_certificate_is_of_the_authority() -> None:
    made = credentials.make(NOW)
    pair = made.serving(["127.0.0.1", "localhost"], NOW)
    assert certificates.issued_by(pair.certificate, made.authority.certificate)
    assert certificates.covers(pair.certificate, ["localhost", "127.0.0.1"])


def test_an_old_authority_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    old = credentials.keep(tmp_path, NOW)
    new = credentials.keep(tmp_path, NOW + timedelta(days=3000))
    assert new.authority != old.authority
    assert (new.admin_token, new.signing_key) == (old.admin_token, old.signing_key)
    assert credentials.keep(tmp_path, NOW + timedelta(days=3000)) == new


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff", b'{"adminToken": 1}', b"[" * 5000], ids=lambda c: repr(c)[:12]
)
def test_a_damaged_file_is_reported_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(Unusable, match="remove it to have new ones made"):
        credentials.keep(tmp_path, NOW)
    assert (tmp_path / FILE).read_bytes() == content


def test_keys_of_somebody_else_are_noticed(tmp_path: Path) -> None:
    ours = credentials.keep(tmp_path, NOW)
    key = credentials.make(NOW).authority.key.decode().replace("\n", "\\n")
    path = tmp_path / FILE
    own = ours.authority.key.decode().replace("\n", "\\n")
    path.write_text(path.read_text().replace(own, key))
    with pytest.raises(Unusable, match="another certificate"):
        credentials.keep(tmp_path, NOW)


def test_a_kubeconfig_names_server_authority_and_token(tmp_path: Path) -> None:
    made = credentials.make(NOW)
    path = tmp_path / "deep" / "kubeconfig"
    credentials.write_privately(path, credentials.kubeconfig(made, "https://127.0.0.1:6443"))
    read = yaml.safe_load(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert read["current-context"] == "korder"
    assert read["users"][0]["user"] == {"token": made.admin_token}
    cluster = read["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert b64decode(cluster["certificate-authority-data"]) == made.authority.certificate


def test_a_file_that_cannot_be_put_in_place_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "taken" / "by").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        credentials.write_privately(tmp_path / "taken", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
