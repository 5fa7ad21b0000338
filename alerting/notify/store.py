"""The alert store: alerts, silences, acknowledgements and the outbox, in one SQLite file.

An evaluation's alerts, and the messages that follow from it, are written in one transaction: a
process that is killed at any moment has either written all of it or nothing. A message that was
sent, but not yet marked so, is sent again with the same idempotency key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from alerting.notify.json_codec import (
    alert_from_json,
    alert_to_dict,
    fact_from_json,
    notification_from_json,
    notified_from_json,
    notified_to_json,
)
from alerting.notify.notifications import Notification, Notified
from alerting.notify.outbox import Delivery, DeliveryState, TargetHealth, add_to_outbox
from alerting.notify.store_file import StoreFile
from alerting.notify.store_schema import FORGET
from alerting.notify.stored_rows import (
    RowReader,
    acknowledgement_of,
    silence_of,
    silence_to_json,
    taken_back_of,
)
from alerting.rules.lifecycle import LAST_MOMENT, Alert, State
from alerting.rules.matchers import Acknowledgement, Silence, TakenBack

MOST_ALERTS = 1000
"""Most alerts of a time that are read at once: the newest."""


class AlertStore(StoreFile):
    """What the file holds."""

    def __init__(self, path: Path, *, copy: bytes | None = None) -> None:
        """Open the store; the file is made where there is none."""
        super().__init__(path, copy=copy)
        self._reader = RowReader()

    def unreadable(self, since: float) -> list[str]:
        """Return which rows were left out since a moment as they cannot be read, a line each."""
        return self._reader.unreadable(since)

    # Alerts -------------------------------------------------------------------------------------

    def alerts(self, cluster: str | None = None) -> dict[str, Alert]:
        """Return the alerts that live, and those resolved not long ago, by fingerprint."""
        rows = self._rows(
            "SELECT id, body FROM alerts WHERE is_current = 1 AND (? IS NULL OR cluster = ?)",
            cluster,
            cluster,
        )
        return {alert.fingerprint: alert for alert in self._alerts(rows)}

    def _alerts(self, rows: Iterable[tuple[Any, ...]]) -> list[Alert]:
        found = [self._reader.read(f"alert {id_}", alert_from_json, body) for id_, body in rows]
        return [alert for alert in found if alert is not None]

    def alert(self, id_: str) -> Alert | None:
        """Return an alert by its identity; None where there is none, or it cannot be read."""
        found = self._alerts(self._rows("SELECT id, body FROM alerts WHERE id = ?", id_))
        return found[0] if found else None

    def history(
        self,
        since: float,
        cluster: str | None = None,
        limit: int = MOST_ALERTS,
        until: float = LAST_MOMENT,
        is_over: bool = False,
        never_fired: bool = False,
    ) -> list[Alert]:
        """Return the alerts that fired between two moments, the newest first.

        With ``is_over`` those alone that are over, with ``never_fired`` symptoms of others that
        were over before they fired.
        """
        rows = self._rows(
            "SELECT id, body FROM alerts WHERE state != 'pending' AND (? IS NULL OR cluster = ?) "
            "AND (resolved_at >= ? OR (resolved_at IS NULL AND NOT ?)) AND started_at <= ? "
            "AND (fired_at IS NULL) = ? ORDER BY started_at DESC LIMIT ?",
            cluster,
            cluster,
            since,
            is_over,
            until,
            never_fired,
            limit,
        )
        return self._alerts(rows)

    def notified(self, cluster: str) -> dict[str, Notified]:
        """Return what was notified of a cluster's groups of alerts."""
        rows = self._rows("SELECT name, body FROM notified WHERE cluster = ?", cluster)
        found = {
            name: self._reader.read(f"what was notified of {name}", notified_from_json, body)
            for name, body in rows
        }
        return {name: notified for name, notified in found.items() if notified is not None}

    def save(
        self,
        cluster: str,
        alerts: Mapping[str, Alert],
        notified: Mapping[str, Notified],
        notifications: Sequence[tuple[Notification, Sequence[str]]],
        now: float,
    ) -> None:
        """Write one evaluation of one cluster, with the messages that follow from it.

        Alerts are all those of the cluster; a message whose key is known is not queued again.
        """
        kept = {alert.id for alert in alerts.values()}
        with self._transaction() as connection:
            before = connection.execute(
                "SELECT id, state FROM alerts WHERE cluster = ? AND is_current = 1", (cluster,)
            ).fetchall()
            for id_, state in before:
                if id_ not in kept:
                    query = (
                        "DELETE FROM alerts WHERE id = :id"
                        if state == State.PENDING
                        else "UPDATE alerts SET is_current = 0, "
                        "resolved_at = coalesce(resolved_at, :now) WHERE id = :id"
                    )
                    connection.execute(query, {"id": id_, "now": now})
            connection.executemany(
                "INSERT INTO alerts (id, fingerprint, cluster, state, started_at, fired_at, "
                "resolved_at, is_current, body) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?) "
                "ON CONFLICT (id) DO UPDATE SET state = excluded.state, "
                "fired_at = excluded.fired_at, resolved_at = excluded.resolved_at, "
                "is_current = 1, body = excluded.body",
                [
                    (
                        alert.id,
                        alert.fingerprint,
                        cluster,
                        alert.state.value,
                        alert.started_at,
                        alert.fired_at,
                        alert.resolved_at,
                        json.dumps(alert_to_dict(alert)),
                    )
                    for alert in alerts.values()
                ],
            )
            connection.execute("DELETE FROM notified WHERE cluster = ?", (cluster,))
            connection.executemany(
                "INSERT OR REPLACE INTO notified (name, cluster, body) VALUES (?, ?, ?)",
                [(name, cluster, notified_to_json(one)) for name, one in notified.items()],
            )
            for notification, targets in notifications:
                add_to_outbox(connection, notification, targets, now)

    def forget(self, before: float) -> None:
        """Delete history that ended before a moment."""
        with self._transaction() as connection:
            for statement in FORGET:
                connection.execute(statement, (before,))

    # Outbox -------------------------------------------------------------------------------------

    def queue(self, notification: Notification, targets: Sequence[str], now: float) -> None:
        """Put one message into the outbox."""
        with self._transaction() as connection:
            add_to_outbox(connection, notification, targets, now)

    def due(self, target: str, now: float) -> Delivery | None:
        """Return the oldest message that a target is to get, where its time has come.

        Messages about one group of alerts are sent in order. Those about other groups do not wait
        for a message that the target does not take.
        """
        rows = self._rows(
            "SELECT number, queued_at, next_at, attempts, alert_group, body "
            "FROM deliveries d JOIN notifications n ON n.key = d.key "
            "WHERE target = ? AND state = 'queued' ORDER BY number LIMIT 200",
            target,
        )
        waiting: set[str] = set()
        for number, queued_at, next_at, attempts, group, body in rows:
            if next_at > now or group in waiting:
                waiting.add(group)
                continue
            notification = self._reader.read(f"message {number}", notification_from_json, body)
            if notification is not None:
                return Delivery(
                    number=number,
                    target=target,
                    notification=notification,
                    queued_at=queued_at,
                    attempts=attempts,
                )
            self._finish(number, DeliveryState.FAILED, "it cannot be read", now, attempts)
        return None

    def sent(self, delivery: Delivery, answer: str, now: float) -> None:
        """Mark a message as taken by its target."""
        self._finish(delivery.number, DeliveryState.SENT, answer, now, delivery.attempts + 1)

    def failed(self, delivery: Delivery, answer: str, now: float) -> None:
        """Give a message up."""
        self._finish(delivery.number, DeliveryState.FAILED, answer, now, delivery.attempts + 1)

    def again(self, delivery: Delivery, answer: str, next_at: float) -> None:
        """Try a message again later."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET attempts = attempts + 1, answer = ?, next_at = ? "
                "WHERE number = ?",
                (answer, next_at, delivery.number),
            )

    def _finish(
        self, number: int, state: DeliveryState, answer: str, now: float, attempts: int
    ) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE deliveries SET state = ?, answer = ?, finished_at = ?, attempts = ? "
                "WHERE number = ?",
                (state.value, answer, now, attempts, number),
            )

    def sent_since(self, target: str, since: float) -> list[float]:
        """Return when a target took messages since a moment, the oldest first."""
        rows = self._rows(
            "SELECT finished_at FROM deliveries WHERE target = ? AND state = 'sent' "
            "AND finished_at >= ? ORDER BY finished_at",
            target,
            since,
        )
        return [at for (at,) in rows]

    def has_open(self, group: str) -> bool:
        """Return whether a message about a group of alerts still waits for one of its targets."""
        rows = self._rows(
            "SELECT 1 FROM deliveries d JOIN notifications n ON n.key = d.key "
            "WHERE state = 'queued' AND alert_group = ? LIMIT 1",
            group,
        )
        return bool(rows)

    def health(self) -> list[TargetHealth]:
        """Return how delivery to each target goes, of all messages that are still kept."""
        rows = self._rows(
            "SELECT target, sum(state = 'sent'), sum(state = 'queued'), sum(state = 'failed'), "
            "max(CASE state WHEN 'sent' THEN finished_at END), "
            "min(CASE state WHEN 'queued' THEN queued_at END), "
            "max(CASE state WHEN 'queued' THEN attempts END), "
            "(SELECT answer FROM deliveries x WHERE x.target = d.target AND attempts > 0 "
            " ORDER BY state = 'queued' DESC, number DESC LIMIT 1) "
            "FROM deliveries d GROUP BY target ORDER BY target"
        )
        names = [one.name for one in fields(TargetHealth)]
        return [TargetHealth(**dict(zip(names, row, strict=True))) for row in rows]

    # Silences and acknowledgements --------------------------------------------------------------

    def silences(self, since: float = 0.0) -> list[Silence]:
        """Return the silences that end after a moment, the newest first.

        One that cannot be read is among them with its problem: it can be ended.
        """
        rows = self._rows(
            "SELECT id, matchers, starts_at, ends_at, author, comment, created_at FROM silences "
            "WHERE ends_at > ? ORDER BY id DESC",
            since,
        )
        return [silence_of(row) for row in rows]

    def silence(
        self,
        matchers: Iterable[str],
        *,
        starts_at: float,
        ends_at: float,
        author: str,
        comment: str,
        now: float,
        number: int | None = None,
    ) -> int:
        """Make a silence and return its number; of one whose number is known nothing changes.

        Raises:
            ValueError: A matcher is none, there is none, or it ends before it starts.
        """
        texts = silence_to_json(
            matchers, starts_at=starts_at, ends_at=ends_at, author=author, comment=comment, now=now
        )
        with self._transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO silences "
                "(id, matchers, starts_at, ends_at, author, comment, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                (number, texts, starts_at, ends_at, author.strip(), comment.strip(), now),
            )
            return number or int(cursor.lastrowid or 0)

    def end_silence(self, number: int, now: float) -> bool:
        """End a silence now; tell whether it was still to come or on."""
        with self._transaction() as connection:
            cursor = connection.execute(
                "UPDATE silences SET ends_at = max(?, 0), starts_at = min(starts_at, ?) "
                "WHERE id = ? AND ends_at > ?",
                (now, now, number, now),
            )
            return cursor.rowcount > 0

    def acknowledge(self, alert: str, *, author: str, comment: str, now: float) -> None:
        """Note that somebody looks after an alert.

        Raises:
            ValueError: There is no author.
        """
        if not author.strip():
            raise ValueError("an acknowledgement needs an author")
        with self._transaction() as connection:
            # One that was taken back does not come again when it is asked for once more.
            connection.execute(
                "INSERT INTO acknowledgements (alert, author, comment, at) SELECT ?1, ?2, ?3, ?4 "
                "WHERE NOT EXISTS (SELECT 1 FROM taken_back WHERE alert = ?1 AND at = ?4) "
                "ON CONFLICT (alert) DO UPDATE SET author = excluded.author, "
                "comment = excluded.comment, at = excluded.at",
                (alert, author.strip(), comment.strip(), now),
            )

    def take_back(self, alert: str, *, acknowledged_at: float, author: str, now: float) -> bool:
        """Take an acknowledgement back; tell whether it held until now.

        One of another moment stays: it is somebody else's, or was made anew.

        Raises:
            ValueError: There is no author.
        """
        if not author.strip():
            raise ValueError("it must be known who takes an acknowledgement back")
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO taken_back (alert, author, comment, at, taken_by, taken_at) "
                "SELECT alert, author, comment, at, ?, ? FROM acknowledgements "
                "WHERE alert = ? AND at = ?",
                (author.strip(), now, alert, acknowledged_at),
            )
            cursor = connection.execute(
                "DELETE FROM acknowledgements WHERE alert = ? AND at = ?", (alert, acknowledged_at)
            )
            return cursor.rowcount > 0

    def acknowledgements(self) -> dict[str, Acknowledgement]:
        """Return who looks after which alert, by its id."""
        rows = self._rows("SELECT alert, author, comment, at FROM acknowledgements")
        return {row[0]: acknowledgement_of(row) for row in rows}

    def taken_back(self) -> list[TakenBack]:
        """Return the acknowledgements that were taken back, the oldest first."""
        rows = self._rows(
            "SELECT alert, author, comment, at, taken_by, taken_at FROM taken_back "
            "ORDER BY taken_at, alert"
        )
        return [taken_back_of(row) for row in rows]

    # Facts on the service -----------------------------------------------------------------------

    def note(self, name: str, body: Mapping[str, object]) -> None:
        """Keep a fact on the service, for the dashboard."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO facts (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
                "body = excluded.body",
                (name, json.dumps(body)),
            )

    def noted(self, name: str) -> dict[str, object] | None:
        """Return a fact on the service; None where there is none."""
        rows = self._rows("SELECT body FROM facts WHERE name = ?", name)
        return self._reader.read(f"fact {name}", fact_from_json, rows[0][0]) if rows else None
