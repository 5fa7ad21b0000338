"""Tokens by a function of the user's own: what it may do, and what is said of it."""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from collectors.errors import SecurityError, SettingsError
from collectors.kafka.protocol.librdkafka import validate
from collectors.kafka.protocol.sasl.callback import ask_callback, find_callback
from collectors.kafka.protocol.sasl.settings import TokenCallback
from collectors.kafka.protocol.sasl.tokens import Tokens
from config.settings import ClusterSettings

TOKEN = "CANARYtoken0123456789"  # noqa: S105 (a test's)
HOUR = 3600.0


def callback(function: Callable[[str], Any], config: str = "") -> TokenCallback:
    return TokenCallback(name="mine:token", function=function, config=config)


def in_an_hour() -> float:
    return time.time() + HOUR


def test_what_confluent_kafka_takes_is_understood() -> None:
    plain = ask_callback(callback(lambda config: (f"{config}.a-b_c~d+e/f==", in_an_hour()), "x"))
    assert plain.text == "x.a-b_c~d+e/f=="
    assert plain.life_seconds == pytest.approx(HOUR, abs=5)
    assert plain.extensions == {}
    full = ask_callback(
        callback(lambda _: (TOKEN, int(in_an_hour()), "me", {"logicalCluster": "lkc-1"}))
    )
    assert full.extensions == {"logicalCluster": "lkc-1"}
    assert ask_callback(callback(lambda _: (TOKEN, in_an_hour(), None, None))).extensions == {}


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        pytest.param(None, "returned NoneType", id="nothing"),
        pytest.param(TOKEN, "returned str", id="the token alone"),
        pytest.param({"token": TOKEN}, "returned dict", id="a mapping"),
        pytest.param((TOKEN,), "when it expires", id="no expiry"),
        pytest.param((TOKEN, 1.0, "me"), "when it expires", id="three values"),
        pytest.param((TOKEN.encode(), 1e9), "returned no token", id="bytes"),
        pytest.param(("", 1e9), "returned no token", id="empty"),
        pytest.param((f"{TOKEN}\n", 1e9), "returned no token", id="a line's end"),
        pytest.param((f"{TOKEN}\x01auth=x", 1e9), "returned no token", id="a separator"),
        pytest.param((f"{TOKEN}ä", 1e9), "returned no token", id="no ASCII"),
        pytest.param((TOKEN, "1e9"), "no time", id="expiry as text"),
        pytest.param((TOKEN, True), "no time", id="expiry as a truth value"),
        pytest.param((TOKEN, math.nan), "no time", id="not a number"),
        pytest.param((TOKEN, math.inf), "no time", id="for ever"),
        pytest.param((TOKEN, 1_800_000_000_000), "milliseconds", id="milliseconds"),
        pytest.param((TOKEN, 1_500_000_000), "expired", id="expired"),
        pytest.param((TOKEN, HOUR), "expired", id="a life instead of a time"),
        pytest.param((TOKEN, 1e9, "me", ["x"]), "extensions", id="extensions as a list"),
        pytest.param((TOKEN, 1e9, "me", {"auth": "x"}), "extensions", id="auth as an extension"),
        pytest.param((TOKEN, 1e9, "me", {"a": "\x01"}), "extensions", id="a separator in one"),
        pytest.param((TOKEN, 1e9, "me", {"a": 1}), "extensions", id="a number in one"),
    ],
)
def test_rubbish_is_one_line_without_the_token(returned: object, words: str) -> None:
    with pytest.raises(SecurityError) as caught:
        ask_callback(callback(lambda _: returned))
    said = str(caught.value)
    assert said.startswith("oauth_callback: mine:token ")
    assert words in said
    assert "\n" not in said
    assert TOKEN not in said


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, RecursionError])
def test_an_error_is_told_by_its_type_and_place(kind: type[BaseException]) -> None:
    def fail(_: str) -> tuple[str, float]:
        raise kind(TOKEN)

    with pytest.raises(SecurityError) as caught:
        Tokens(callback(fail)).current(10)
    line = fail.__code__.co_firstlineno + 1
    place = f"{kind.__name__} at line {line} of {Path(__file__).name}"
    assert str(caught.value) == f"oauth_callback: mine:token raised {place}"
    assert TOKEN not in "".join(traceback.format_exception(caught.value))


def test_one_token_serves_until_four_fifths_of_its_life() -> None:
    given: list[float] = []

    def short(_: str) -> tuple[str, float]:
        given.append(time.monotonic())
        return f"{TOKEN}{len(given)}", time.time() + 2.0

    tokens = Tokens(callback(short))
    seen = set()
    until = time.monotonic() + 3.0
    while time.monotonic() < until:
        seen.add(tokens.current(10).text)
        time.sleep(0.01)
    assert len(given) == len(seen) == 2
    assert given[1] - given[0] == pytest.approx(1.6, abs=0.3)
    tokens.forget()
    assert tokens.current(10).text == f"{TOKEN}3"


@pytest.mark.parametrize("trouble", ["raises", "hangs"])
def test_while_the_next_token_is_late_the_old_one_serves_to_its_end(trouble: str) -> None:
    calls: list[float] = []
    go_on = threading.Event()

    def once(_: str) -> tuple[str, float]:
        calls.append(time.monotonic())
        if len(calls) > 1 and not go_on.is_set():
            if trouble == "raises":
                raise ValueError
            go_on.wait(60)
        return f"{TOKEN}{len(calls)}", time.time() + (6.0 if len(calls) == 1 else HOUR)

    tokens = Tokens(callback(once))
    assert tokens.current(10).text == f"{TOKEN}1"
    time.sleep(4.8 - (time.monotonic() - calls[0]) + 0.05)
    assert tokens.current(10).text == f"{TOKEN}1"
    assert len(calls) == 2
    assert tokens.delay is None
    time.sleep(max(0.0, 5.7 - (time.monotonic() - calls[0])) + 0.1)
    with pytest.raises(SecurityError, match=r"raised ValueError|gave no token within"):
        tokens.current(0.1)
    go_on.set()
    assert tokens.current(30).text.startswith(TOKEN)


def test_a_callback_that_hangs_is_called_once_and_serves_when_it_is_done() -> None:
    calls: list[str] = []
    go_on = threading.Event()

    def hang(_: str) -> tuple[str, float]:
        calls.append("call")
        go_on.wait(60)
        return TOKEN, in_an_hour()

    tokens = Tokens(callback(hang))
    begin = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(tokens.current, 1.2) for _ in range(8)]
        errors = {str(each.exception(30)) for each in waiting}
    assert time.monotonic() - begin < 5.0, "they wait side by side"
    assert errors == {"oauth_callback: mine:token gave no token within 1 s"}
    assert tokens.delay == "oauth_callback: mine:token has given no token yet"
    go_on.set()
    assert tokens.current(30).text == TOKEN
    assert tokens.delay is None
    assert calls == ["call"]


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        pytest.param("", "absent_module:token", "no module absent_module", id="no module"),
        pytest.param("import absent_package", "{}:token", "absent_package", id="its package"),
        pytest.param("", "{}:token", "has no function token", id="no function"),
        pytest.param("token = 'x'", "{}:token", "has no function token", id="no function but text"),
        pytest.param(
            f"\nraise ValueError({TOKEN!r})",
            "{}:token",
            "cannot be imported: ValueError at line 2 of ",
            id="raises",
        ),
        pytest.param("exit(1)", "{}:token", "cannot be imported: SystemExit", id="exits"),
        pytest.param("def", "{}:token", "cannot be imported: SyntaxError", id="no Python"),
    ],
)
def test_a_callback_that_cannot_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, name: str, words: str
) -> None:
    module = f"tokens_of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError) as caught:
        find_callback(name.format(module), "")
    assert str(caught.value).startswith("oauth_callback: ")
    assert words in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_settings_are_checked_without_asking_for_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokens_unasked.py").write_text(
        "def token(config):\n    raise AssertionError('asked')\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OAUTH_CONFIG", f"region={TOKEN}")
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.config": {"env": "OAUTH_CONFIG"},
    }

    def cluster(name: str) -> ClusterSettings:
        return ClusterSettings.model_validate(
            {
                "name": "cloud",
                "bootstrap_servers": "127.0.0.1:1",
                "properties": properties,
                "oauth_callback": name,
            }
        )

    sasl = validate(cluster("tokens_unasked:token")).sasl
    assert sasl is not None
    assert isinstance(sasl.oauth, TokenCallback)
    assert sasl.oauth.config == f"region={TOKEN}"
    assert TOKEN not in repr(sasl)
    with pytest.raises(SettingsError, match=r"^cluster cloud: oauth_callback: .* function other$"):
        validate(cluster("tokens_unasked:other"))
    for wrong in ("token", "a:b:c", "a.b", "../x:y", "a:b()"):
        with pytest.raises(ValueError, match="oauth_callback"):
            cluster(wrong)


def test_where_no_thread_could_be_started_the_next_connection_asks_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_thread(_: object) -> None:
        raise RuntimeError("can't start new thread")

    tokens = Tokens(callback(lambda _: (TOKEN, in_an_hour())))
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            tokens.current(0.2)
    assert tokens.current(10).text == TOKEN
