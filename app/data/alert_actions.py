"""What operators do: acknowledge, silence, mark a deploy. Whether they may is asked here alone."""

from __future__ import annotations

import time
from collections.abc import Sequence

from alerting.errors import AlertingError
from alerting.notify.requests import Request
from alerting.notify.shared_state import ask
from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import Acknowledgement, Matcher, Silence, parse_matcher
from app.data import alert_store, queries
from app.data.context import View, utc_now
from app.data.viewer import Viewer
from lake.deploy_marks import DeployMark, deploy_mark, write


class NotAllowedError(AlertingError):
    """The viewer's roles do not allow it."""


def author(view: View, said: str) -> str:
    """Return who acts: the one who is logged in, whatever was said; without login who they say."""
    return said if view.viewer.roles is None else (view.viewer.name or "")


def acknowledge(view: View, alert: Alert, *, said: str, comment: str) -> None:
    """Note that somebody looks after an alert.

    Raises:
        NotAllowedError: The viewer may not.
        ValueError: There is no author.
        AlertingError: It cannot be written.
    """
    if not alert_store.sees_labels(view.viewer, alert.labels, operating=True):
        raise NotAllowedError("your roles do not allow to acknowledge this alert")
    _ask(
        view,
        Request(
            kind="acknowledge",
            at=time.time(),
            alert=alert.id,
            author=author(view, said),
            comment=comment,
        ),
    )


def take_back(view: View, alert: Alert, one: Acknowledgement, *, said: str) -> None:
    """Take back that somebody looks after an alert, whoever said so.

    Raises:
        NotAllowedError: The viewer may not.
        ValueError: There is no author.
        AlertingError: It holds no more, or it cannot be written.
    """
    if not alert_store.sees_labels(view.viewer, alert.labels, operating=True):
        raise NotAllowedError("your roles do not allow to take this back")
    request = Request(
        kind="take back",
        at=time.time(),
        alert=one.alert,
        acknowledged_at=one.at,
        author=author(view, said),
    )
    if not _ask(view, request):
        raise AlertingError("it was taken back already, or somebody else looks after it now")


def silence(view: View, matchers: Sequence[str], *, seconds: float, said: str, comment: str) -> int:
    """Make a silence that begins now, and return its number.

    Raises:
        NotAllowedError: The viewer may not.
        ValueError: It cannot be made like this.
        AlertingError: It cannot be written.
    """
    parsed = [parse_matcher(text) for text in matchers]
    if not may_silence(view.viewer, parsed):
        raise NotAllowedError(
            "your roles allow silences with cluster=NAME, and group=NAME or topic=NAME, "
            "of what you operate"
            if view.viewer.operates
            else "your roles do not allow to silence"
        )
    now = time.time()
    return _ask(
        view,
        Request(
            kind="silence",
            at=now,
            matchers=tuple(matchers),
            starts_at=now,
            ends_at=now + seconds,
            author=author(view, said),
            comment=comment,
        ),
    )


def end_silence(view: View, one: Silence) -> None:
    """End a silence now.

    Raises:
        NotAllowedError: The viewer may not.
        AlertingError: It cannot be written.
    """
    if not may_silence(view.viewer, one.matchers):
        raise NotAllowedError("your roles do not allow to end this silence")
    _ask(view, Request(kind="end", at=time.time(), number=one.id))


def mark_deploy(
    view: View, text: str, *, group: str | None, topic: str | None, said: str
) -> DeployMark:
    """Mark that something was deployed now, in the cluster that is shown.

    Raises:
        NotAllowedError: The viewer may not.
        ValueError: It cannot be a mark.
        LakeError: It cannot be written.
    """
    labels = {"cluster": view.cluster, "group": group, "topic": topic}
    known = {label: value for label, value in labels.items() if value is not None}
    if not alert_store.sees_labels(view.viewer, known, operating=True):
        raise NotAllowedError("your roles allow marks of a group or a topic that you operate")
    made = deploy_mark(
        text,
        clusters=[view.cluster],
        now=utc_now(),
        group=group,
        topic=topic,
        author=author(view, said),
    )
    write(view.lake, made)
    queries.forget()
    return made


def _ask(view: View, request: Request) -> int:
    found = ask(view.settings, request)
    alert_store.forget()
    return found


def may_silence(viewer: Viewer, matchers: Sequence[Matcher]) -> bool:
    """Return whether a silence reaches nothing beyond what somebody operates."""
    exact = {one.label: one.value for one in matchers if one.operator == "="}
    return alert_store.sees_labels(viewer, exact, operating=True)
