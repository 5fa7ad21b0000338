"""Who has which role, what it shows, and what it allows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from alerting.rules.matchers import Acknowledgement, Silence, parse_matcher
from app.data import alert_actions as actions
from app.data.alert_actions import may_silence
from app.data.alert_store import sees_labels
from app.data.context import View
from app.data.viewer import Viewer, is_over, viewer_of
from config.app import AuthSettings, RoleSettings
from config.parts import Selection
from tests.alert_of import alert

HOUR = 3600.0
LABELS = {"cluster": "production", "group": "abc"}
ALERT = alert(labels=LABELS, what="abc stopped", page="group")
ACKNOWLEDGED = Acknowledgement(alert=ALERT.id, author="ana", comment="", at=HOUR)
SILENCE = Silence(
    id=1,
    matchers=tuple(parse_matcher(f"{label}={value}") for label, value in LABELS.items()),
    starts_at=0.0,
    ends_at=HOUR,
    author="ana",
    comment="deploy",
    created_at=0.0,
)


def auth(**changed: object) -> AuthSettings:
    roles = (
        RoleSettings(name="ops", values=["sre", "admins"], operator=True),
        RoleSettings(name="team", values=["team"], groups=Selection(include=["a.*"])),
    )
    return AuthSettings.model_construct(
        **{
            "claim": "groups",
            "name_claim": "email",
            "session_hours": 1.0,
            "roles": roles,
            **changed,
        }
    )


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        pytest.param({"groups": ["sre"]}, ["ops"], id="list"),
        pytest.param({"groups": "team"}, ["team"], id="text"),
        pytest.param({"groups": ["x", "team", "admins"]}, ["ops", "team"], id="several"),
        pytest.param({"groups": ["SRE", "sre "]}, [], id="nearly"),
        pytest.param({"groups": {"sre": True}}, [], id="mapping"),
        pytest.param({"groups": [["sre"], 1, None]}, [], id="no texts"),
        pytest.param({"groups": "sre,team"}, [], id="joined"),
        pytest.param({}, [], id="none"),
    ],
)
def test_roles_come_from_the_claim(claims: dict[str, object], roles: list[str]) -> None:
    found = viewer_of({"email": "ana@example.com", **claims}, auth())
    assert [role.name for role in found.roles or ()] == roles
    assert found.name == "ana@example.com"


def test_a_claim_may_lie_inside_others() -> None:
    claims = {"sub": "1", "realm_access": {"roles": ["sre"]}}
    found = viewer_of(claims, auth(claim="realm_access.roles"))
    assert found.operates and found.name == "1"


def test_whoever_has_no_name_has_no_role() -> None:
    assert viewer_of({"groups": ["sre"]}, auth()).roles == ()


def test_everyone_may_have_a_role() -> None:
    everyone = auth(roles=(RoleSettings(name="guest", values=["*"]),))
    assert viewer_of({"sub": "x"}, everyone).roles


@pytest.mark.parametrize(
    ("issued", "over"),
    [
        pytest.param(10 * HOUR, False, id="now"),
        pytest.param(9.5 * HOUR, False, id="lately"),
        pytest.param(8.5 * HOUR, True, id="long ago"),
        pytest.param(11 * HOUR, True, id="future"),
        pytest.param(None, True, id="unknown"),
        pytest.param("36000", True, id="text"),
    ],
)
def test_a_session_ends(issued: object, over: bool) -> None:
    assert is_over({"iat": issued}, auth(), 10 * HOUR) is over


def team(*, operator: bool = True) -> Viewer:
    role = RoleSettings(
        name="team",
        values=["x"],
        operator=operator,
        clusters=Selection(include=["production"]),
        groups=Selection(include=["a.*"]),
        topics=Selection(include=["t"]),
    )
    return Viewer(name="n", roles=(role,))


@pytest.mark.parametrize(
    ("matchers", "allowed"),
    [
        pytest.param(["cluster=production", "group=abc"], True, id="theirs"),
        pytest.param(["cluster=production", "topic=t", "rule=~.*"], True, id="topic"),
        pytest.param(["cluster=production", "group=abc", "topic=other"], False, id="other topic"),
        pytest.param(["cluster=production", "group=~a.*"], False, id="pattern"),
        pytest.param(["cluster=production", "group!=b"], False, id="not"),
        pytest.param(["group=abc"], False, id="every cluster"),
        pytest.param(["cluster=test", "group=abc"], False, id="other cluster"),
        pytest.param(["cluster=production"], False, id="whole cluster"),
        pytest.param(["rule=~.*"], False, id="all"),
    ],
)
def test_a_team_silences_what_is_theirs(matchers: list[str], allowed: bool) -> None:
    parsed = [parse_matcher(text) for text in matchers]
    assert may_silence(team(), parsed) is allowed
    assert not may_silence(team(operator=False), parsed)
    assert may_silence(Viewer(), parsed)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(
            lambda view: actions.silence(view, ["group=abc"], seconds=60, said="x", comment="y"),
            id="silence",
        ),
        pytest.param(lambda view: actions.end_silence(view, SILENCE), id="end"),
        pytest.param(
            lambda view: actions.acknowledge(view, ALERT, said="x", comment="y"), id="acknowledge"
        ),
        pytest.param(
            lambda view: actions.take_back(view, ALERT, ACKNOWLEDGED, said="x"), id="take back"
        ),
        pytest.param(
            lambda view: actions.mark_deploy(view, "1.4", group="abc", topic=None, said="x"),
            id="mark",
        ),
    ],
)
def test_a_viewer_who_asks_past_the_page_is_refused(act: Callable[[View], object]) -> None:
    """Nothing is looked up or written before: this view has neither settings nor a lake."""
    seen = SimpleNamespace(viewer=team(operator=False), cluster="production")
    with pytest.raises(actions.NotAllowedError):
        act(cast(View, seen))


def test_a_role_that_shows_does_not_widen_one_that_operates() -> None:
    everything = RoleSettings(name="all", values=["y"])
    both = Viewer(name="n", roles=((team().roles or ())[0], everything))
    labels = {"cluster": "production", "group": "other"}
    assert sees_labels(both, labels)
    assert not sees_labels(both, labels, operating=True)


def test_viewers_who_see_the_same_share_caches_and_no_others() -> None:
    assert team().key == team(operator=False).key
    assert team().key != Viewer().key
    other = RoleSettings(name="team", values=["x"], groups=Selection(include=["b.*"]))
    assert Viewer(roles=(other,)).key != team().key
