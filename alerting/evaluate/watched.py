"""Whether the begin of a trouble was seen: the evaluation before knew that it was not so yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache

import polars as pl

from alerting.checks.model import Check
from alerting.checks.registry import CHECKS
from alerting.evaluate.observations import CheckedCluster
from alerting.inputs.frames import STALE_INTERVALS, Frames
from alerting.rules.lifecycle import GAP_SECONDS, Alerts, goes_on
from alerting.rules.model import Evaluation, Finding, evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What an evaluation looked at, for the one after it.

    Attributes:
        at: When, in Unix seconds.
        unknown: What it could not tell: an evaluation without findings.
    """

    at: float
    unknown: Evaluation


def watched(frames: Frames, seen: CheckedCluster) -> Watched:
    """Return what an evaluation looked at."""
    unread = (one for one in seen.observations if one.value is None and not one.is_read)
    return Watched(at=frames.now, unknown=evaluate((), unread, partial=seen.partial))


def with_begins(
    evaluation: Evaluation, alerts: Alerts, before: Watched | None, frames: Frames
) -> Evaluation:
    """Return an evaluation whose new findings say whether they may have begun before their date.

    Args:
        evaluation: The evaluation.
        alerts: The alerts so far: what goes on keeps what was said when it was first seen.
        before: What the evaluation before looked at; None: there was none.
        frames: The rows that were evaluated.
    """
    was_fine = _was_fine(before, frames)

    def dated(finding: Finding) -> Finding:
        alert = alerts.get(finding.fingerprint)
        if alert is not None and goes_on(alert, frames.sampled_at):
            return finding
        seen = finding.observation
        may_be_older = (seen.since is None or seen.began_before) and not was_fine(finding)
        return replace(finding, observation=replace(seen, began_before=may_be_older))

    return replace(evaluation, findings=tuple(map(dated, evaluation.findings)))


def _was_fine(before: Watched | None, frames: Frames) -> Callable[[Finding], bool]:
    """Return what tells whether the evaluation before saw the thing of a new finding to be fine.

    It did if it had rows of the thing, and its check could be told of it: else there would be an
    alert.
    """
    longest = max(GAP_SECONDS, STALE_INTERVALS * frames.interval_seconds)
    if before is None or frames.now - before.at > longest:
        return lambda finding: False

    @cache
    def things(check: str) -> frozenset[tuple[str, ...]]:
        return _things_until(CHECKS[check], frames, before.at)

    def was_fine(finding: Finding) -> bool:
        check, labels = finding.observation.check, finding.observation.labels
        thing = tuple(labels.get(label, "") for label in CHECKS[check].labels)
        return thing in things(check) and not before.unknown.is_unknown(check, labels, 0.0)

    return was_fine


def _things_until(check: Check, frames: Frames, at: float) -> frozenset[tuple[str, ...]]:
    """Return the things of a check of which there are rows up to a moment."""
    columns = check.columns
    table = next(one for one in check.sources if columns.keys() <= one.polars_schema.keys())
    names = [pl.col(one).cast(pl.String).fill_null("") for one in columns]
    rows = frames.rows(table).filter(pl.col("observed_at") <= datetime.fromtimestamp(at, UTC))
    # A check of the whole cluster has no names: its one thing is there if any row is.
    found = rows.select(pl.lit(value=True), *names).unique()
    return frozenset(row[1:] for row in found.iter_rows())
