"""Where the dashboard may listen, and what a login needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from app.__main__ import cli
from config.errors import ConfigError
from config.load import load

AUTH = {
    "metadata_url": "https://login.example.com/.well-known/openid-configuration",
    "client_id": "headroom",
    "client_secret": {"env": "CLIENT"},
    "cookie_secret": {"env": "COOKIE"},
    "url": "https://headroom.example.com/",
    "roles": [{"name": "all", "values": ["*"]}],
}


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENT", "the-client-secret")
    monkeypatch.setenv("COOKIE", "c" * 32)


def write(folder: Path, **app: object) -> Path:
    path = folder / "headroom.yaml"
    clusters = [{"name": "c", "bootstrap_servers": "localhost:1"}]
    path.write_text(yaml.safe_dump({"clusters": clusters, "app": app}))
    return path


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.com", ""])  # noqa: S104
def test_other_machines_are_not_served_without_a_login(tmp_path: Path, address: str) -> None:
    path = write(tmp_path, address=address)
    done = CliRunner().invoke(cli, ["--config", str(path)])
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert "app.allow_anonymous: true" in done.output
    assert load(write(tmp_path, address=address, auth=AUTH)).app.refusal(address) is None
    assert load(write(tmp_path, address=address, allow_anonymous=True)).app.refusal(address) is None


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "::1", "127.8.8.8"])
def test_this_machine_is_served(tmp_path: Path, address: str) -> None:
    settings = load(write(tmp_path, address=address)).app
    assert settings.refusal(address) is None
    assert not settings.is_open(address)


def test_without_an_address_streamlit_would_serve_everybody(tmp_path: Path) -> None:
    assert load(write(tmp_path)).app.refusal(None) is not None


def test_the_names_of_the_dashboard_are_known(tmp_path: Path) -> None:
    own = load(write(tmp_path, auth=AUTH, hosts=["inner"])).app
    assert {"localhost", "inner", "headroom.example.com"} <= set(own.allowed_hosts)
    assert own.auth is not None
    assert own.auth.streamlit()["redirect_uri"] == "https://headroom.example.com/oauth2callback"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"client_secret": "written"}, "environment or a file", id="secret"),
        pytest.param({"cookie_secret": {"env": "CLIENT"}}, "32 characters", id="short"),
        pytest.param({"url": "http://headroom.example.com"}, "https://", id="no TLS"),
        pytest.param({"url": "javascript:x"}, "https://host", id="no URL"),
        pytest.param({"metadata_url": "https://a:b@c/x"}, "no credentials", id="credentials"),
        pytest.param({"roles": []}, "at least 1", id="no role"),
        pytest.param({"scope": "email"}, "pattern", id="scope"),
        pytest.param(
            {"roles": [{"name": "a", "values": ["x"], "groups": {"include": ["("]}}]},
            "regular expression",
            id="pattern",
        ),
        pytest.param({"roles": [{"name": "a", "values": ["x"]}] * 2}, "two roles", id="twice"),
    ],
)
def test_a_login_that_cannot_work_is_refused(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load(write(tmp_path, auth={**AUTH, **changed}))
    assert "the-client-secret" not in str(caught.value)
