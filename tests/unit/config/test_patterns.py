"""Patterns of others, and the texts that they meet, cannot hang a process.

Python's own engine would take years for each of these; the tests are ended after a minute.
"""

from __future__ import annotations

import polars as pl
import pytest

from alerting.rules.matchers import parse_matcher
from alerting.rules.model import matches
from app.style.format import escape
from collectors.connect.answers import read_connectors
from collectors.kafka.dead_letters.detection import find_dead_letters
from collectors.kafka.groups.model import SUBSCRIPTIONS_SCHEMA
from collectors.kafka.groups.subscriptions import TopicPatterns, with_subscriptions
from collectors.source.answer import Odd
from collectors.source.redaction import redact
from config.parts import Selection
from config.patterns import PatternError, check_pattern, matches_part, matches_whole
from config.scaling import ScalingSettings
from config.settings import DeadLetterSettings
from tests.unit.collectors.connect.fakeconnect import entry

pytestmark = pytest.mark.timeout(60)

NAME = "a" * 60 + "!"


def test_a_whole_text_or_a_part_of_it() -> None:
    assert matches_whole("pay.*|pa", "payments")
    assert not matches_whole("pay", "payments")
    assert matches_part("ment", "payments")
    assert not matches_part("^ment", "payments")
    assert matches_whole("ü.", "üß")
    assert matches_whole("a.b", "a\ud800b")
    assert not matches_whole("a.*", "a\nb")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        pytest.param("(?!batch-).*", r"look-ahead \(\(\?!\) is not in RE2", id="not followed"),
        pytest.param("a(?=b)", r"look-ahead \(\(\?=\) is not in RE2", id="followed"),
        pytest.param("(?<=a)b", r"look-behind .* is not in RE2", id="after"),
        pytest.param("(?<!a)b", r"look-behind .* is not in RE2", id="not after"),
        pytest.param(r"(a)\1", r"a back-reference \(\\1\) is not in RE2", id="the same again"),
        pytest.param("(?P<x>a)(?P=x)", "a named back-reference .* is not in RE2", id="by name"),
        pytest.param("(?>a)", "an atomic group .* is not in RE2", id="atomic"),
        pytest.param("(", r"missing \): \($", id="not closed"),
        pytest.param("[z-a]", "invalid character class range: z-a", id="no range"),
        pytest.param("a" * 1001, "more than 1,000 characters", id="long"),
        pytest.param(r"(\p{L}{1,20}-){20}", "too large", id="large"),
    ],
)
def test_what_cannot_be_used_is_said(pattern: str, said: str) -> None:
    with pytest.raises(PatternError, match=f"^not a regular expression: .*{said}"):
        check_pattern(pattern)


def test_nothing_is_written_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        check_pattern("(?=never seen before)")
    assert capfd.readouterr().err == ""


def test_what_members_subscribe_to() -> None:
    rows = pl.DataFrame({"group": ["g", "h"], "topic": ["x" * 249] * 2, "member_id": [None] * 2})
    asked = [("g", None, "^(([a-z.]|[a-z.][a-z.])+)+!"), ("h", None, "(?!x).*")]
    subscriptions = pl.DataFrame(asked, schema=SUBSCRIPTIONS_SCHEMA, orient="row")
    found = with_subscriptions(
        rows.cast({"member_id": pl.String}), subscriptions, ["x" * 249], TopicPatterns()
    )
    assert found["is_subscribed"].to_list() == [False, None]


def test_a_silence() -> None:
    labels = {"rule": "x" * 10_000}
    assert not parse_matcher(r"rule=~(\w|\w|\w|\w)+!").accepts(labels)
    assert parse_matcher(r"rule!~(\w|\w|\w|\w)+!").accepts(labels)


def test_a_silence_that_is_mostly_blanks() -> None:
    value = "x" + " " * 300_000 + "x"
    assert parse_matcher(f" group = {value} ").value == value


def test_a_silence_whose_pattern_cannot_be_used_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'group=~\(\?!a\)': not a regular expression: look-ahead"
    ):
        parse_matcher("group=~(?!a)")


def test_a_rule() -> None:
    assert not matches({"group": "(a+)+$"}, {"group": NAME})


def test_a_selection() -> None:
    assert not Selection(include=["(a+)+$"]).selects(NAME)
    assert Selection(exclude=["(a+)+$"]).selects(NAME)


def test_an_objective() -> None:
    settings = ScalingSettings.model_validate(
        {"objectives": [{"groups": "(a+)+$", "time_lag_seconds": 5}]}
    )
    assert settings.objective_seconds(NAME) == settings.time_lag_seconds
    assert settings.objective_seconds("a" * 60) == 5


def test_names_of_dead_letter_topics() -> None:
    settings = DeadLetterSettings(patterns=["^(a+)+$"], ignore=["^(a|a)+$"])
    assert find_dead_letters([NAME], settings, [], [], []) == {}


@pytest.mark.parametrize("word", ["token.", "api_key", "secret", "password-", "sig"])
def test_a_task_whose_trace_repeats_what_announces_a_secret(word: str) -> None:
    beginning, cause = "a.Bad: no such field ", "\nCaused by: a.Worse: password=hunter2 x"
    trace = beginning + word * (240_000 // len(word)) + cause
    (found,) = read_connectors({"c": entry("c", tasks={0: "FAILED"}, traces={0: trace})}, Odd())
    assert found.tasks is not None
    (task,) = found.tasks
    assert (task.error_class, task.cause_class) == ("a.Bad", "a.Worse")
    assert task.error == "a.Bad: no such field …"


def test_a_secret_that_a_cut_would_halve_is_left_out() -> None:
    secret = "abcdefgh " * 10_000
    text = f"a.Bad: {secret} was refused"
    answer = entry("c", tasks={0: "FAILED"}, traces={0: text}, db__password=secret)
    (found,) = read_connectors({"c": answer}, Odd())
    assert found.tasks is not None
    assert found.tasks[0].error == "a.Bad: *** was refused"


@pytest.mark.parametrize("unit", ["://", "key ", "key=", "://a "])
def test_what_ditto_says_of_a_connection(unit: str) -> None:
    said = redact(f"failed at tcp://me:hunter2@host {unit * 300_000}")
    assert said.startswith("failed at tcp://***@host ")


def test_a_group_that_is_called_thirty_thousand_blanks() -> None:
    for _ in range(50):
        assert len(escape(" " * 30_000)) < 1100


def test_of_a_long_name_and_what_is_said_of_it_both_ends_are_shown() -> None:
    shown = escape(f"payments{'x' * 30_000} stands still for 5 min")
    assert shown.startswith("payments")
    assert shown.endswith("stands still for 5 min")
    assert len(shown) < 1100
