"""The list of topics, shaped from rows made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from alerting.status.model import Status
from app.ui import topic_list
from app.ui.group_badges import BADGE_STYLES
from lake.schemas.current import READERS
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


def test_topics_that_the_headline_names_come_first_and_say_so() -> None:
    in_sync, few = (topic_list.REPLICATION[one].label for one in ("in sync", "under-replicated"))
    topics = pl.DataFrame(
        {
            "topic": ["busy", "orders", "clicks", "quiet"],
            "slowest_group": ["billing", None, "audit", None],
            "label": [[in_sync], [in_sync], [few], [few]],
        }
    )
    lost = [{"topic": name, "group": "audit", "loss": "lost"} for name in ("clicks", "orders")]
    coming = {"topic": "busy", "group": "billing", "loss": "coming"}
    loses = BADGE_STYLES[Status.LOSING_DATA].label
    assert topic_list.losing_first(topics, rows(READERS, coming, *lost)).rows() == [
        ("orders", None, [in_sync], [loses]),
        ("clicks", "audit", [few], [loses]),
        ("busy", "billing", [in_sync], []),
        ("quiet", None, [few], []),
    ]
    none = topic_list.losing_first(topics, READERS.empty)
    assert none.drop("reading").equals(topics)
    assert none["reading"].to_list() == [[]] * 4, "what is the same of all has no column"
    assert topic_list.replication_of_all(topics) == ""
    assert topic_list.replication_of_all(topics.head(2)) == "Replication of all: in sync. "


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
