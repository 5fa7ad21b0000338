"""Transactions that stay open: who holds back readers of committed records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka.protocol.admin import DescribeTransactionsRequest, ListTransactionsRequest

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.cluster.broker_reads import as_time
from collectors.kafka.cluster.setting_changes import cut
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import COORDINATOR_MOVES, TRANSACTION_NOT_FOUND, reason

OPEN_SECONDS = 60
"""Transactions that are open at least this long are listed."""

MOST_TRANSACTIONS = 1000
_UNFINISHED = ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"]
_TOPICS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A transaction that has been open for a while.

    Attributes:
        coordinator: The broker that keeps its state.
        state: ``Ongoing``; ``PrepareCommit`` and ``PrepareAbort`` while its end is written.
        started_at: When it began, by the clock of the coordinator.
        timeout_seconds: The coordinator aborts it after this time.
        topics: What it has written to, at most 100.
    """

    transactional_id: str
    producer_id: int
    coordinator: int
    state: str
    started_at: datetime | None
    timeout_seconds: float | None
    topics: list[str]


def read_transactions(
    wire: Wire, brokers: Iterable[int], deadline: Deadline
) -> tuple[list[Transaction], list[str]]:
    """Ask every coordinator for transactions that are open for more than a minute.

    Returns:
        The transactions that may be described, and what stayed unknown.

    Raises:
        UnsupportedError: The brokers are older than Kafka 3.8.
    """
    problems: list[str] = []
    asked: dict[int, list[str]] = {}
    listed = wire.each({broker: [_list_transactions()] for broker in brokers}, deadline)
    for broker, answers in listed.items():
        if isinstance(answers, UnsupportedError):
            raise answers
        if isinstance(answers, CollectorError):
            problems.append(str(answers))
            continue
        if code := answers[0].error_code:
            moves = "its transactions are being loaded or moved"
            problems.append(
                f"broker {broker}: {moves if code in COORDINATOR_MOVES else reason(code)}"
            )
            continue
        states = answers[0].transaction_states or ()
        ids = sorted({one.transactional_id for one in states if one.transactional_id})
        if len(ids) > MOST_TRANSACTIONS:
            problems.append(
                f"broker {broker}: {MOST_TRANSACTIONS} of {len(ids)} open transactions are read"
            )
        if ids:
            asked[broker] = ids[:MOST_TRANSACTIONS]
    requests = {broker: [_describe_transactions(ids)] for broker, ids in asked.items()}
    return _described(asked, wire.each(requests, deadline), problems), problems


def _described(
    asked: Mapping[int, Sequence[str]],
    answered: Mapping[int, list[Any] | CollectorError],
    problems: list[str],
) -> list[Transaction]:
    found = []
    for broker, answers in answered.items():
        if isinstance(answers, CollectorError):
            problems.append(str(answers))
            continue
        states = answers[0].transaction_states or ()
        silent = set(asked[broker]) - {state.transactional_id for state in states}
        unknown = {"it did not answer for some"} if silent else set()
        for state in states:
            if code := state.error_code:
                if code != TRANSACTION_NOT_FOUND:  # else it has ended
                    unknown.add(reason(code))
                continue
            timeout = state.transaction_timeout_ms
            found.append(
                Transaction(
                    transactional_id=cut(state.transactional_id),
                    producer_id=state.producer_id,
                    coordinator=broker,
                    state=cut(state.transaction_state),
                    started_at=as_time(state.transaction_start_time_ms),
                    timeout_seconds=None if timeout is None or timeout < 0 else timeout / 1000,
                    topics=sorted(cut(topic.topic) for topic in state.topics or ())[:_TOPICS],
                )
            )
        if unknown:
            told = "; ".join(sorted(unknown))
            problems.append(f"transactions of broker {broker} are unknown: {told}")
    return found


def _describe_transactions(ids: Sequence[str]) -> Any:
    return DescribeTransactionsRequest(transactional_ids=ids)


def _list_transactions() -> Any:
    return ListTransactionsRequest(
        state_filters=_UNFINISHED,
        producer_id_filters=[],
        duration_filter=OPEN_SECONDS * 1000,
        min_version=1,
    )
