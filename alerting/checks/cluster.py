"""What checks see of brokers, replication and transactions: pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

import polars as pl

from alerting.checks.model import Check, CheckInput, CheckResult, check
from alerting.inputs.broker_loss import one_more_loss, with_losses, with_one_more_loss
from alerting.inputs.event_phrases import missing_broker
from alerting.inputs.facts import is_missing, since_when
from alerting.inputs.frames import unix
from alerting.inputs.quorum import decisive_brokers
from alerting.status.phrases import duration, plural, share, short
from lake.replication import with_replication
from lake.schemas.tables import BROKERS, GROUP_OFFSETS, LOG_DIRECTORIES, PARTITIONS


@check(
    unit="1",
    meaning="1 while a broker that was there is gone",
    labels=("broker",),
    sources=(BROKERS,),
    is_observed=True,
)
def broker_missing(given: CheckInput) -> Iterable[CheckResult]:
    """Return the brokers that are gone."""
    newest, rows = given.frames.newest(BROKERS), given.frames.rows(BROKERS)
    left = newest.filter(pl.col("is_alive").eq(True)).height
    gone = newest.filter(pl.col("is_alive").ne_missing(True)).sort("broker_id")
    if gone.is_empty():
        return
    losses = one_more_loss(with_losses(newest, given.partitions, decisive_brokers(given.frames)))
    for row in gone.iter_rows(named=True):
        number, is_alive = row["broker_id"], row["is_alive"]
        since = since_when(rows.filter(pl.col("broker_id") == number), is_missing)
        of_all = f"{left} of {plural(newest.height, 'broker')}"
        are_left = f"{of_all} {'is' if left == 1 else 'are'} left."
        yield CheckResult(
            labels=given.labels(broker=str(number)),
            value=None if is_alive is None else 1.0,
            what=missing_broker(number),
            detail=with_one_more_loss(are_left, losses),
            since=unix(since) or given.frames.now,
            began_before=since is None,
            cause="It crashed, was shut down, or lost its network.",
            step="Find out why it went and start it; restart no other before all is in sync.",
            page="brokers",
        )


@check(
    unit="1",
    meaning="1 while no controller is active",
    sources=(BROKERS,),
    is_observed=True,
)
def no_controller(given: CheckInput) -> Iterable[CheckResult]:
    """Return whether no controller is active."""
    controller = given.frames.newest(BROKERS)["is_controller"]
    if controller.is_empty() or controller.any():
        return
    yield CheckResult(
        labels=given.labels(),
        value=None if controller.null_count() else 1.0,
        what="No active controller",
        detail="No leader can be elected and no topic changed.",
        cause="The controllers' quorum has lost its majority.",
        step="Look at the controllers' quorum: more than half of the voters must run.",
        page="brokers",
    )


def _replication(
    name: str,
    *,
    meaning: str,
    column: str,
    words: str,
    detail: str,
    cause: str,
    step: Callable[[pl.DataFrame, CheckInput], str],
) -> Check:
    """Make the check of the partitions for which a column of their replication is true."""

    @check(
        name=name,
        unit="partitions",
        meaning=meaning,
        labels=("topic",),
        sources=(PARTITIONS,),
        is_observed=True,
    )
    def results(given: CheckInput) -> Iterable[CheckResult]:
        newest = given.partitions
        bad = newest.filter(pl.col(column))
        unknown = set(newest.filter(pl.col(column).is_null())["topic"])
        topics = bad["topic"].unique()
        history = with_replication(
            given.frames.rows(PARTITIONS).filter(pl.col("topic").is_in(topics.implode()))
        ).partition_by("topic", as_dict=True)
        for (topic,), rows in bad.group_by("topic", maintain_order=True):
            listed = ", ".join(str(number) for number in sorted(rows["partition"])[:8])
            more = "" if rows.height <= 8 else " …"
            since = since_when(history[topic,], pl.col(column))
            yield CheckResult(
                labels=given.labels(topic=str(topic)),
                value=float(rows.height),
                may_be_worse=topic in unknown,
                what=f"{plural(rows.height, 'partition')} of {topic} {words}",
                detail=f"{detail} Partitions {listed}{more}.",
                since=unix(since),
                cause=cause,
                step=step(rows, given),
                page="topic",
            )
        for topic in sorted(unknown.difference(topics)):
            yield CheckResult(labels=given.labels(topic=topic), value=None)

    return results


def _who_can_lead(offline: pl.DataFrame, given: CheckInput) -> str:
    directories = given.frames.newest(LOG_DIRECTORIES)
    return who_can_lead(offline, set(directories.filter("is_offline")["broker_id"]))


def who_can_lead(offline: pl.DataFrame, failed: AbstractSet[int] = frozenset()) -> str:
    """Return which brokers to start so that partitions have a leader again.

    Args:
        offline: Rows of ``partitions`` without a leader. A replica that is in sync or eligible
            holds all that was committed; any one of a partition's suffices.
        failed: Brokers that run without a log directory that failed.
    """
    of_each = [
        sorted({*(in_sync or ()), *(eligible or ())})
        for in_sync, eligible in offline.select(
            "in_sync_replicas", "eligible_leader_replicas"
        ).iter_rows()
    ]
    if not all(of_each):
        return "Start the brokers that hold their replicas."
    of_all = set(of_each[0]).intersection(*of_each)
    named = (of_all - failed or of_all) or set().union(*of_each)
    steps = []
    for verb, brokers in (
        ("start", named - failed),
        ("mount the failed log directory again, with its data, and restart", named & failed),
    ):
        noun = "broker" if of_all or len(brokers) == 1 else "the brokers"
        listed = (" or " if of_all else ", ").join(map(str, sorted(brokers)))
        steps += [f"{verb} {noun} {listed}"] if brokers else []
    text = ", and ".join(steps)
    return f"{text[0].upper()}{text[1:]} first: nothing that was committed is missing there."


partitions_offline = _replication(
    "partitions_offline",
    meaning="partitions without a leader",
    column="is_offline",
    words="offline",
    detail="Without a leader they can be neither read nor written.",
    cause="All their replicas, or all that were in sync, are gone.",
    step=_who_can_lead,
)
under_min_isr = _replication(
    "under_min_isr",
    meaning="partitions with fewer in-sync replicas than min.insync.replicas",
    column="is_under_min_isr",
    words="under min ISR",
    detail="Producers with acks=all are refused.",
    cause="A broker is gone or too slow to stay in sync.",
    step=lambda *_: "Bring the missing replicas back into sync.",
)
under_replicated = _replication(
    "under_replicated",
    meaning="partitions with fewer in-sync replicas than replicas",
    column="is_under_replicated",
    words="under-replicated",
    detail="Fewer copies are in sync than there should be.",
    cause="A broker is gone, was restarted, or is too slow to stay in sync.",
    step=lambda *_: "Look for a slow or restarted broker; wait for the replicas to catch up.",
)


@check(
    unit="ratio",
    meaning="partitions not led by their first replica, of all",
    sources=(PARTITIONS,),
)
def leader_imbalance(given: CheckInput) -> Iterable[CheckResult]:
    """Return how many partitions are not led by their preferred broker."""
    newest = given.partitions
    led = newest.filter(pl.col("leader").is_not_null() & pl.col("preferred_leader").is_not_null())
    moved = led.filter(pl.col("leader") != pl.col("preferred_leader"))
    away, ratio = moved.height, moved.height / led.height if led.height else None
    cause, step = _why_moved(moved, given.frames.newest(BROKERS).filter(is_missing)["broker_id"])
    if newest.is_empty():
        return
    yield CheckResult(
        labels=given.labels(),
        value=ratio,
        may_be_worse=newest["preferred_leader"].null_count() > 0,
        what=f"{plural(away, 'partition')} not led by their preferred broker",
        detail=f"That is {share(ratio or 0.0)} of all: some brokers do more than their share.",
        cause=cause,
        step=step,
        page="brokers",
    )


def _why_moved(moved: pl.DataFrame, missing: pl.Series) -> tuple[str, str]:
    """Return why partitions are not led by their preferred broker, and what to do about it."""
    gone = moved.filter(pl.col("preferred_leader").is_in(missing.implode())).height
    elect = "run kafka-leader-election.sh --election-type preferred --all-topic-partitions."
    if not gone:
        cause = "Brokers were restarted and leadership has not moved back."
        return cause, f"{elect[0].upper()}{elect[1:]}"
    of = "" if gone == moved.height else f" of {gone} of them"
    step = f"Start the missing broker first; once it is in sync, {elect}"
    return f"The preferred broker{of or ' of these partitions'} is missing.", step


@check(
    unit="ratio",
    meaning="free space of a broker's disks, of all",
    labels=("broker",),
    bad="below",
    sources=(BROKERS,),
)
def disk_free(given: CheckInput) -> Iterable[CheckResult]:
    """Return how much of each broker's disks is free; unknown of a broker that is missing."""
    for row in given.frames.newest(BROKERS).iter_rows(named=True):
        labels = given.labels(broker=str(row["broker_id"]))
        total, free = row["disk_total_bytes"], row["disk_free_bytes"]
        if row["is_alive"] is False or not total or free is None:
            yield CheckResult(labels=labels, value=None)
            continue
        yield CheckResult(
            labels=labels,
            value=free / total,
            what=f"The disks of broker {row['broker_id']} are {share(1 - free / total)} full",
            detail=f"{short(free)}B of {short(total)}B are free; a full disk stops the broker.",
            cause="More is written than retention deletes.",
            step="Shorten the retention of the largest topics, add disk, or move partitions away.",
            page="brokers",
        )


@check(
    unit="seconds",
    meaning="time until a broker's certificate expires",
    labels=("broker",),
    bad="below",
    sources=(BROKERS,),
)
def certificate_expiry(given: CheckInput) -> Iterable[CheckResult]:
    """Return how long each broker's certificate is valid; unknown where none is seen just now."""
    for row in given.frames.newest(BROKERS).iter_rows(named=True):
        labels = given.labels(broker=str(row["broker_id"]))
        expires_at = row["certificate_expires_at"]
        if row["is_alive"] is False or expires_at is None:
            yield CheckResult(labels=labels, value=None)
            continue
        left = expires_at.timestamp() - given.frames.now
        yield CheckResult(
            labels=labels,
            value=left,
            what=f"The certificate of broker {row['broker_id']} "
            + ("expires soon" if left > 0 else "has expired"),
            detail=f"It is valid until {expires_at:%Y-%m-%d %H:%M} UTC; clients that check it "
            "cannot connect after that.",
            cause="It was not renewed.",
            step="Renew it on the broker; Headroom sees a new one within the hour.",
            page="brokers",
        )


@check(
    unit="1",
    meaning="1 while a log directory has failed",
    labels=("broker", "path"),
    sources=(LOG_DIRECTORIES, BROKERS),
    is_observed=True,
)
def log_directory_offline(given: CheckInput) -> Iterable[CheckResult]:
    """Return the log directories that failed; unknown are those of a broker that does not tell."""
    directories = given.frames.newest(LOG_DIRECTORIES)
    for row in directories.drop_nulls("path").iter_rows(named=True):
        is_unknown = row["is_offline"] is None or (row["unknown_reason"] and not row["is_offline"])
        if not row["is_offline"] and not is_unknown:
            continue
        yield CheckResult(
            labels=given.labels(broker=str(row["broker_id"]), path=row["path"]),
            value=None if is_unknown else 1.0,
            what=f"A log directory of broker {row['broker_id']} is offline",
            detail=f"{row['path']}: its replicas cannot be read or written.",
            cause="The disk failed or was unmounted.",
            step="If a partition is offline, keep the disk: it may be the only copy. Else replace "
            "it and restart the broker.",
            page="brokers",
        )
    described = set(directories.drop_nulls("path")["broker_id"])
    known = {*directories["broker_id"], *given.frames.newest(BROKERS)["broker_id"]}
    for broker in sorted(known - described):
        labels = given.labels(broker=str(broker))
        yield CheckResult(labels=labels, value=None)


@check(
    unit="seconds",
    meaning="age of the oldest open transaction, behind which committed readers wait",
    labels=("topic",),
    sources=(GROUP_OFFSETS,),
)
def open_transaction(given: CheckInput) -> Iterable[CheckResult]:
    """Return the age of each topic's oldest open transaction."""
    held = pl.col("log_end") - pl.col("last_stable")
    topics = (
        given.frames.newest(GROUP_OFFSETS)
        .group_by("topic")
        .agg(
            pl.col("open_since").min(), held.max().alias("held"), held.null_count().alias("unread")
        )
        .filter(pl.col("open_since").is_not_null() | (pl.col("unread") > 0))
    )
    for topic, open_since, waiting, unread in topics.iter_rows():
        labels = given.labels(topic=topic)
        if open_since is None:
            yield CheckResult(labels=labels, value=None)
            continue
        age = max(0.0, given.frames.now - open_since.timestamp())
        yield CheckResult(
            labels=labels,
            value=age,
            may_be_worse=unread > 0,
            what=f"A transaction on {topic} has been open for {duration(age)}",
            detail=f"{plural(waiting or 0, 'message')} wait behind it: readers of committed "
            "records get none of them.",
            since=open_since.timestamp(),
            cause="A producer died inside a transaction, or holds one open.",
            step="Look at the topic's page for its id, or use kafka-transactions.sh find-hanging; "
            "abort it.",
            page="topic",
        )


CHECKS = (
    broker_missing,
    no_controller,
    partitions_offline,
    under_min_isr,
    under_replicated,
    leader_imbalance,
    disk_free,
    certificate_expiry,
    log_directory_offline,
    open_transaction,
)
