"""Brokers and replication, prepared for their page: pure functions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from alerting.inputs.broker_loss import one_more_loss
from app.style import theme
from app.style.columns import DASH
from app.style.format import count, exact, thin, with_lengths
from app.style.theme import BadgeStyle
from app.ui.brokers_up import IS_SILENT, BrokersUp
from app.ui.topic_list import REPLICATION
from lake.schemas.bronze import IS_INTERNAL_TOPIC
from lake.schemas.current import CLUSTER_STATUS

UP = BadgeStyle(
    word="up", symbol="✓", icon=":material/check:", colour="gray", meaning="The broker answers."
)
MISSING = BadgeStyle(
    word="missing",
    symbol="✖",
    icon=":material/cloud_off:",
    colour="red",
    meaning="The broker does not answer.",
)
CONTROLLER = BadgeStyle(
    word="controller",
    symbol="◆",
    icon=":material/star:",
    colour="gray",
    meaning="It leads the cluster's metadata.",
)
UNSURE = theme.UNSURE

KINDS = {
    "broker configuration": "Settings of brokers",
    "group configuration": "Settings of groups",
    "client quota": "Client quotas",
    "acl": "ACLs",
    "scram user": "SCRAM users",
}
"""What is listed of ``cluster_settings`` one by one, and its title."""

_OF_ONE_BROKER = re.compile(
    r"(^|\.)(listeners|broker\.id|node\.id|broker\.rack|log\.dirs?|port|host\.name|process\.roles)$"
    r"|^advertised\.|keystore|truststore"
)
"""Settings in which brokers differ on purpose."""

_KIND = ("topic", "label")
_LEFT = pl.col("in_sync_replicas").list.len().cast(pl.Int64) - 1
"""In-sync replicas where one is lost."""

_DEFAULT = " (default)"
_MANY = 3
"""Rows that are alike are said once from so many on."""
_REFUSES, _STOPS_NOTHING = "refuses acks=all on ", "stops nothing more"
"""What one more loss would do."""


def sentence(
    cluster: pl.DataFrame,
    brokers: pl.DataFrame,
    up: BrokersUp,
    *,
    leadership: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the page's headline, and the sentence below it: what it means for clients.

    Args:
        cluster: Rows of ``cluster_status``.
        brokers: Rows of ``broker_status``.
        up: Whether they are up.
        leadership: What ``leadership.clauses`` says.
    """
    fact = (
        cluster.row(0, named=True)
        if cluster.height
        else dict.fromkeys(CLUSTER_STATUS.polars_schema)
    )
    missing, title = fact["missing_brokers"], up.said
    if up.is_so and leadership:
        title, leadership = f"{title}, {leadership[0]}", leadership[1:]
    parts = []
    for number, word in (
        (fact["offline"], "without a leader: neither read nor written"),
        (fact["under_min_isr"], "below min ISR: producers with acks=all are refused"),
        (fact["under_replicated"], "under-replicated"),
    ):
        if number is None:
            parts.append(f"how many partitions are {word.split(':')[0]} is unknown")
        elif number:
            parts.append(f"{count(number, 'partition')} {word}")
    if not parts and up.is_now and not up.tells_of(fact["under_replicated"]):
        parts = ["whether all replicas are in sync is not known"]
    elif not parts:
        parts = ["every partition has a leader and all its replicas in sync"]
    elif fact["offline"] == 0 and fact["under_min_isr"] == 0:
        parts.append("none is offline or below min ISR: reads and writes go on")
    if missing or fact["under_replicated"]:
        parts += map(thin, one_more_loss(brokers))
    parts += leadership
    text = "; ".join(parts)
    if not up.is_now and fact["brokers"] is not None:
        text = f"when last read, {text}"
    elif up.why:
        text = f"{up.why}; {text}"
    return title, f"{text[0].upper()}{text[1:]}."


def badge_style(broker: Mapping[str, Any]) -> BadgeStyle:
    """Return how a row of ``with_names`` looks: one that does not answer may be up, or not."""
    if broker["is_alive"] is None or broker["is_silent"]:
        return UNSURE
    return UP if broker["is_alive"] else MISSING


def with_labels(partitions: pl.DataFrame) -> pl.DataFrame:
    """Add how each partition at risk looks, which replicas lack, and who can lead it again.

    The worst come first, and of these the topics that are not Kafka's own.
    """
    labels = {state: badge_style.label for state, badge_style in REPLICATION.items()}
    rank = pl.col("replication").replace_strict(list(labels), range(len(labels)), default=None)
    in_order = partitions.sort(
        rank, pl.col("topic").str.starts_with("__"), maintain_order=True, nulls_last=True
    )
    return in_order.with_columns(
        pl.concat_list(
            pl.col("replication").replace_strict(labels, default=labels["unknown"])
        ).alias("label"),
        pl.col("replicas").list.set_difference("in_sync_replicas").alias("lacking"),
        pl.when(pl.col("leader").is_null())
        .then(
            pl.concat_list(
                pl.col(name).fill_null([])
                for name in ("in_sync_replicas", "eligible_leader_replicas")
            )
            .list.unique()
            .list.sort()
        )
        .alias("can_lead"),
    )


def by_topic(partitions: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """Return one row a topic and kind of trouble, the worst first, and of these one's own topics.

    Args:
        partitions: Rows of ``with_labels``.
        topics: Rows of ``topic_status``.

    Returns:
        ``topic`` and ``label``; how many ``partitions`` are so ``of`` how many, and both as text
        in ``partitions_of``; the brokers that
        are ``lacking`` among their in-sync replicas; what the loss of ``one_more`` broker would
        do at most. Texts are null where nothing of it is known.
    """
    rows = partitions.select(
        "topic",
        pl.col("label").list.first(),
        *("leader", "in_sync_replicas", "lacking"),
        # One that is refused already is not refused once more.
        (_LEFT == 0).alias("offline"),
        ((_LEFT > 0) & (_LEFT + 1 == pl.col("min_in_sync_replicas"))).alias("refused"),
    )
    losses = (
        rows.filter(pl.col("leader").is_not_null())
        .explode("in_sync_replicas")
        .group_by(*_KIND, "in_sync_replicas")
        .agg(pl.col("offline", "refused").sum())
        .group_by(*_KIND)
        .agg(pl.col("offline", "refused").max())
    )
    found = rows.group_by(*_KIND, maintain_order=True).agg(
        pl.len().alias("partitions"),
        pl.col("lacking").explode().drop_nulls().unique().sort(),
        pl.col("lacking").is_null().any().alias("lacks_others"),
        (pl.col("offline").is_null() | pl.col("refused").is_null()).any().alias("stops_others"),
    )
    of_topics = topics.select("topic", "kind", pl.col("partitions").alias("of"))
    joined = (
        found.join(losses, on=list(_KIND), how="left", maintain_order="left")
        .join(of_topics, on="topic", how="left", maintain_order="left")
        .sort(
            pl.col("label").rle_id(),
            IS_INTERNAL_TOPIC | pl.col("topic").str.starts_with("__"),
            maintain_order=True,
        )
    )
    texts = [
        (_brokers(row["lacking"], row["lacks_others"]), _one_more_loss(row))
        for row in joined.iter_rows(named=True)
    ]
    schema = {"lacking": pl.String, "one_more": pl.String}
    return joined.select(
        "topic",
        pl.concat_list("label").alias("label"),
        "partitions",
        "of",
        pl.format(
            "{} of {}", "partitions", pl.col("of").cast(pl.String).fill_null("unknown")
        ).alias("partitions_of"),
    ).hstack(pl.DataFrame(texts, schema=schema, orient="row"))


def alike(rows: pl.DataFrame) -> str:
    """Say once what rows of ``by_topic`` have in common; nothing where they differ, or of few."""
    same = rows.select(
        pl.col("label").list.first(), "lacking", pl.col("one_more").str.replace(r"\d[\d\s]*$", "")
    )
    if rows.height < _MANY or same.n_unique() > 1:
        return ""
    label, lacking, one_more = same.row(0)
    words = {badge_style.label: state for state, badge_style in REPLICATION.items()}
    parts = [words[label]]
    if lacking not in (None, "none"):
        parts.append(f"not in sync on {lacking}")
    if one_more == _REFUSES:
        parts.append("one more loss refuses acks=all on partitions of each")
    elif one_more == _STOPS_NOTHING:
        parts.append("one more loss stops nothing more")
    partitions = count(int(rows["partitions"].sum()), "partition")
    return f"All {count(rows.height, 'topic')}, {partitions}: {'; '.join(parts)}."


def _brokers(ids: list[int], is_partly: bool) -> str | None:
    names = [*map(str, ids), *(["others unknown"] if is_partly and ids else [])]
    return ", ".join(names) or (None if is_partly else "none")


def _one_more_loss(row: dict[str, Any]) -> str | None:
    if row["label"] == REPLICATION["offline"].label:
        return DASH
    parts = [
        what.format(exact(row[column]))
        for column, what in (("offline", "takes {} offline"), ("refused", f"{_REFUSES}{{}}"))
        if row[column]
    ]
    if row["stops_others"]:
        return "; ".join([*parts, "others unknown"]) if parts else None
    return "; ".join(parts) or _STOPS_NOTHING


def with_names(brokers: pl.DataFrame) -> pl.DataFrame:
    """Add each broker's name, whether it is silent, and how many replicas follow on it.

    On a missing one none does.
    """
    followers = pl.col("replicas") - pl.col("leaders")
    return brokers.sort("broker_id").with_columns(
        pl.when(pl.col("is_alive").eq_missing(False))
        .then(0)
        .otherwise(followers)
        .alias("followers"),
        pl.format("broker {}", "broker_id").alias("name"),
        IS_SILENT.fill_null(value=False).alias("is_silent"),
        pl.when("ends_quorum_if_lost")
        .then(pl.lit("majority lost"))
        .when(pl.col("ends_quorum_if_lost").eq(False))
        .then(pl.lit("majority stays"))
        .alias("quorum"),
    )


def preferred_share(cluster: pl.DataFrame) -> str:
    """Return how many partitions are led by their preferred replica, in a sentence."""
    row = cluster.row(0, named=True) if cluster.height else {}
    led, partitions = row.get("preferred_led"), row.get("partitions")
    if led is None or partitions is None:
        return "Preferred leaders are unknown."
    return f"{exact(led)} of {count(partitions, 'partition')} led by their preferred replica."


def features(settings: pl.DataFrame) -> pl.DataFrame:
    """Return the cluster's features: their level, and the one that all brokers support."""
    rows = []
    for subject, values in _of_kind(settings, "feature"):
        level, supported = values.get("level"), values.get("supported")
        rows.append(
            {
                "feature": subject,
                "level": _number(level),
                "supported": _number(supported),
            }
        )
    schema = {"feature": pl.String, "level": pl.Int64, "supported": pl.Int64}
    return pl.DataFrame(rows, schema=schema)


def drift(settings: pl.DataFrame) -> pl.DataFrame:
    """Return the settings that differ between brokers, with the brokers that have each value.

    A value that somebody set is the same as one that is the default.
    """
    by_name: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for broker, values in _of_kind(settings, "broker configuration"):
        for name, value in values.items():
            if not _OF_ONE_BROKER.search(name):
                by_name[name][value.removesuffix(_DEFAULT)].append(broker)
    rows = [
        {
            "setting": name,
            "values": "; ".join(
                f"{_told(name, value)} on {', '.join(brokers)}" for value, brokers in values.items()
            ),
        }
        for name, values in sorted(by_name.items())
        if len(values) > 1
    ]
    return pl.DataFrame(rows, schema={"setting": pl.String, "values": pl.String})


def have_same_settings(settings: pl.DataFrame) -> bool:
    """Return whether settings of brokers were read, and none differs between them."""
    kind = "broker configuration"
    is_read = kind in settings["kind"] and unknown(settings, kind) is None
    return is_read and drift(settings).is_empty()


def _told(name: str, value: str) -> str:
    return with_lengths(f"{name}={value}").removeprefix(f"{name}=") or "empty"


def listed(settings: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return what was set of a kind: a row a subject, its settings as text."""
    rows = [
        {
            "subject": subject,
            "settings": ", ".join(
                with_lengths(f"{key}={value}") if value else key for key, value in each.items()
            ),
        }
        for subject, each in _of_kind(settings, kind)
    ]
    return pl.DataFrame(rows, schema={"subject": pl.String, "settings": pl.String})


def unknown(settings: pl.DataFrame, kind: str) -> str | None:
    """Return why a kind could not be read the last time; None where it could."""
    reasons = settings.filter(kind=kind)["unknown_reason"].drop_nulls().to_list()
    return reasons[0] if reasons else None


def without_entries(settings: pl.DataFrame) -> str:
    """Say of which kinds there is nothing: ``No client quotas, ACLs.``; nothing where of all."""
    read = settings["kind"].unique().to_list()
    none = [
        title if title.startswith(("ACL", "SCRAM")) else f"{title[0].lower()}{title[1:]}"
        for kind, title in KINDS.items()
        if kind in read and not unknown(settings, kind) and listed(settings, kind).is_empty()
    ]
    return f"No {', '.join(none)}." if none else ""


def _of_kind(settings: pl.DataFrame, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
    rows = settings.filter(pl.col("kind") == kind, pl.col("subject").is_not_null())
    for subject, entries in rows.select("subject", "settings").iter_rows():
        yield subject, {entry["key"]: entry["value"] or "" for entry in entries or ()}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
