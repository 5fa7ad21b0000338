"""The list of topics, shaped from rows made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from alerting.status.model import Status
from app.ui import topic_list
from app.ui.group_badges import BADGE_STYLES
from lake.schemas.current import GROUP_STATUS, READERS
from lake.schemas.tables import PARTITIONS
from tests.unit.app.views.made_rows import at, rows


def test_courses_of_topics_span_the_whole_time() -> None:
    past = pl.DataFrame(
        {"time": [at(60 * number) for number in range(360)], "topic": ["t"] * 360}
    ).with_columns(arrival_per_second=pl.int_range(pl.len()).cast(pl.Float64))
    (trend,) = topic_list.with_trends(pl.DataFrame({"topic": ["t"]}), past)["trend"].to_list()
    assert trend[0] == 0.0
    assert trend[-1] > 340
    assert len(trend) <= 40


def test_topics_that_lose_messages_are_named_with_who_did_not_read_them() -> None:
    def said(*lost: tuple[str, str]) -> str:
        given = [("fine", "a", "none"), ("soon", "a", "coming")]
        return topic_list.losses(
            rows(
                READERS,
                *(
                    {"topic": topic, "group": group, "loss": loss}
                    for topic, group, loss in (*given, *((*one, "lost") for one in lost))
                ),
            )
        )

    assert said() == ""
    assert said(("orders", "audit")) == "orders deletes messages before audit reads them"
    assert said(("orders", "audit"), ("clicks", "audit"), ("clicks", "bi")) == (
        "clicks and orders delete messages before audit and bi read them"
    )


def test_how_soon_retention_reaches_an_unread_message() -> None:
    def said(*readers: dict[str, object]) -> tuple[str, str]:
        return topic_list.reaches_unread(rows(READERS, *readers), at(0))

    far = {"loss": "coming", "data_loss_at": at(18_000)}
    assert said() == ("by age", "off")
    assert said({"loss": "none"}) == ("by age", "off")
    assert said(far) == ("unread: in 5 h", "off")
    assert said(far, {"loss": "coming", "data_loss_at": at(3_600)}) == ("unread: in 1 h", "red")
    assert said(far, {"loss": "lost"}) == ("deletes unread", "red")


def test_topics_that_the_headline_names_come_first() -> None:
    in_sync, few = (topic_list.REPLICATION[one].label for one in ("in sync", "under-replicated"))
    topics = pl.DataFrame(
        {
            "topic": ["busy", "orders", "clicks", "quiet"],
            "label": [[in_sync], [in_sync], [few], [few]],
        }
    )
    lost = [{"topic": name, "group": "audit", "loss": "lost"} for name in ("clicks", "orders")]
    coming = {"topic": "busy", "group": "billing", "loss": "coming"}
    sorted_topics = topic_list.losing_first(topics, rows(READERS, coming, *lost))
    assert sorted_topics["topic"].to_list() == ["orders", "clicks", "busy", "quiet"]
    assert topic_list.losing_first(topics, READERS.empty).equals(topics)
    assert topic_list.replication_of_all(topics) == ""
    assert topic_list.replication_of_all(topics.head(2)) == "Replication of all: in sync. "


def test_a_topic_has_the_worst_status_of_its_readers_and_none_where_nobody_reads() -> None:
    statuses = {
        "fine": Status.OK,
        "gone": Status.STOPPED,
        "slow": Status.FALLING_BEHIND,
        "audit": Status.STALLED,
    }
    groups = rows(
        GROUP_STATUS, *({"group": name, "status": one.value} for name, one in statuses.items())
    )
    reads = [
        ("orders", "fine", "none"),
        ("orders", "slow", "coming"),
        ("orders", "gone", "coming"),
        ("clicks", "fine", None),
        ("logs", "audit", "lost"),
        ("new", "unheard", "none"),
    ]
    readers = rows(
        READERS, *({"topic": topic, "group": name, "loss": loss} for topic, name, loss in reads)
    )
    topics = pl.DataFrame({"topic": ["orders", "clicks", "logs", "new", "unread"]})
    shown = topic_list.with_readers(topics, readers, groups)
    expected = (Status.STOPPED, Status.OK, Status.LOSING_DATA, Status.UNKNOWN)
    assert shown["topic"].equals(topics["topic"])
    assert shown["reading"].to_list() == [*([BADGE_STYLES[one].label] for one in expected), []]
    none = topic_list.with_readers(topics, READERS.empty, GROUP_STATUS.empty)
    assert none["reading"].to_list() == [[]] * 5


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param([], None, id="not tiered"),
        pytest.param([(7, 8)], "in remote storage alone: 9; not copied yet: 4", id="known"),
        pytest.param(
            [(None, 8)], "in remote storage alone: unknown; not copied yet: 4", id="disks unknown"
        ),
        pytest.param(
            [(None, None)],
            "in remote storage alone: unknown; not copied yet: unknown",
            id="a partition unknown",
        ),
    ],
)
def test_what_of_a_topic_lies_where_is_unknown_as_long_as_one_partition_does_not_tell(
    given: list[tuple[int | None, int | None]], sentence: str | None
) -> None:
    tiers = [(2, 8), *given] if given else [(None, None)]
    found = topic_list.tier_rows(
        rows(
            PARTITIONS,
            *(
                {
                    **{"topic": "t", "partition": number, "log_start": 0, "log_end": 10},
                    **{"local_log_start": local, "remote_log_end": remote},
                }
                for number, (local, remote) in enumerate(tiers)
            ),
        )
    )
    if sentence is None:
        assert found.is_empty()
    else:
        assert topic_list.tier_sentence(found) == f"Offsets {sentence}."
