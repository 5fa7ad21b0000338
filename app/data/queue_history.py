"""What waited in queues of a RabbitMQ, over the chosen range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil

import polars as pl
import streamlit as st

from app.data.context import View
from app.data.history import QUEUE, TIME, History, fine_step, in_steps
from app.data.time_range import POINT_BUDGET
from lake.schemas.tables import QUEUES
from lake.storage.store import Lake

_SAMPLES_DRAWN = timedelta(days=1)
"""How far back samples are drawn of what has no history: of a thousand queues that are polled every
15 s, reading a day takes 0.5 s of the processor, and a week 3 s."""


def of_queues(view: View, queues: Sequence[tuple[str, str]], poll_seconds: float) -> History:
    """Return what waited in some queues of a RabbitMQ; see ``app.data.history.QUEUE``.

    There is no history of queues: these are their samples, read once a step.

    Args:
        view: The frame of the page, the RabbitMQ as its cluster.
        queues: Virtual host and name of each.
        poll_seconds: The cadence of the samples.

    Raises:
        LakeError: The samples cannot be read.
    """
    end = view.until.replace(second=0, microsecond=0)
    start = max(view.start, view.until - _SAMPLES_DRAWN)
    step = max(fine_step(poll_seconds), 60 * ceil((end - start) / timedelta(minutes=POINT_BUDGET)))
    first, last = (int(one.timestamp() // step) for one in (start, end))
    wanted = tuple(sorted(queues))
    frame = _in_queues(view.cache_key, view.cluster, wanted, step, first, last, end, view.lake)
    found = History(frame=frame, step_seconds=step)
    is_whole = found.first is not None and found.first < start + timedelta(seconds=step)
    if is_whole and view.range.length > _SAMPLES_DRAWN:
        return replace(found, note="Samples of a day are drawn: queues have no history.")
    return found


@st.cache_data(ttl=300, max_entries=32, show_spinner=False)
def _in_queues(
    uri: str,
    rabbitmq: str,
    queues: tuple[tuple[str, str], ...],
    step: int,
    first: int,
    last: int,
    _end: datetime,
    _lake: Lake,
) -> pl.DataFrame:
    keys = ("vhost", "queue")
    rows = _lake.read(
        QUEUES,
        pl.col("queue").is_in([queue for _, queue in queues]),
        since=datetime.fromtimestamp(first * step, UTC),
        until=_end,
        cluster=rabbitmq,
        columns=["observed_at", *keys, *(measure.gold for measure in QUEUE)],
    )
    wanted = pl.DataFrame(queues, schema=dict.fromkeys(keys, pl.String), orient="row")
    of_these = rows.rename({"observed_at": TIME}).join(wanted, on=keys, how="semi")
    return in_steps(of_these, keys, QUEUE, step)
