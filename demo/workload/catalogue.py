"""The demo's workload: a web shop. Each entry's behaviour is known; demo/README.md explains it.

Capacities are what one consumer can process per second. Advice on scaling can be checked
against them: nothing else in the project knows these figures.
"""

from __future__ import annotations

from demo.workload.model import Catalogue, DeadLetters, Group, Rate, Stream, Topic

ORDERS_DEAD = "orders.placed-dlt"
WAREHOUSE_DEAD = "warehouse_sink.dlq"
PARCELS = "parcels.weighed"
"""Read by the connectors of Kafka Connect, which a worker of its own runs."""

TOPICS = (
    Topic("orders.placed", 6),
    Topic("payments.authorised", 6),
    Topic("inventory.stock_changed", 3),
    Topic("web.page_views", 6, retention_seconds=6 * 3600),
    Topic("invoices.requested", 4, retention_seconds=6 * 3600),
    Topic("shipments.dispatched", 3, retention_seconds=6 * 3600),
    Topic("fraud.scores", 4),
    Topic("payments.captured", 4),
    Topic("ledger.entries", 4),
    # Kept for a minute only, in segments of ten seconds, so that retention acts all the time.
    Topic(
        "telemetry.readings",
        3,
        retention_seconds=60,
        config={"segment.ms": "10000", "segment.bytes": "1048576"},
    ),
    Topic(PARCELS, 2),
    Topic(ORDERS_DEAD, 6, retention_seconds=24 * 3600),
    Topic(WAREHOUSE_DEAD, 1, retention_seconds=24 * 3600),
)

STREAMS = (
    Stream("orders.placed", Rate(120), "customer-", seed_messages=900),
    # Starts shortly after the arrival rate has overtaken the capacity of payment-settlement
    # (2 consumers, 150 a second): 110 + 90 sin(2π 0.09) = 158 a second.
    Stream("payments.authorised", Rate(110, 90, 600, 0.09), "card-", seed_messages=300),
    Stream("inventory.stock_changed", Rate(45), "sku-", seed_messages=90),
    Stream("web.page_views", Rate(120), "visitor-", hot_key_share=0.8, seed_messages=1500),
    Stream("invoices.requested", Rate(30), "invoice-", seed_messages=120, poison_partition=2),
    Stream("shipments.dispatched", Rate(25), "parcel-", seed_messages=240),
    Stream("fraud.scores", Rate(45), "card-", seed_messages=90),
    Stream("payments.captured", Rate(30), "card-", seed_messages=60),
    Stream(PARCELS, Rate(10), "parcel-", seed_messages=20, broken_one_in=50),
    Stream("telemetry.readings", Rate(90), "sensor-", seed_messages=5760, seed_age_seconds=64.0),
)

GROUPS = (
    Group(
        "order-fulfilment",
        "orders.placed",
        members=3,
        capacity_per_second=100,
        dead_letters=DeadLetters(ORDERS_DEAD, one_in=150, style="spring"),
    ),
    Group(
        "connect-warehouse_sink",
        "orders.placed",
        members=1,
        capacity_per_second=400,
        commit_seconds=5.0,
        dead_letters=DeadLetters(WAREHOUSE_DEAD, one_in=400, style="connect"),
    ),
    Group("payment-settlement", "payments.authorised", members=2, capacity_per_second=75),
    Group("stock-projection", "inventory.stock_changed", members=5, capacity_per_second=80),
    Group("session-builder", "web.page_views", members=6, capacity_per_second=70),
    Group(
        "invoice-rendering",
        "invoices.requested",
        members=2,
        capacity_per_second=50,
        stuck_on_poison=True,
    ),
    Group(
        "shipment-notification",
        "shipments.dispatched",
        members=1,
        capacity_per_second=200,
        leaves_after=240,
    ),
    Group("fraud-scoring", "fraud.scores", members=2, capacity_per_second=60, protocol="consumer"),
    Group(
        "ledger-writer",
        "payments.captured",
        members=1,
        capacity_per_second=120,
        forwards_to="ledger.entries",
        read_committed=True,
        transactional=True,
    ),
    Group(
        "ledger-audit",
        "ledger.entries",
        members=1,
        capacity_per_second=120,
        read_committed=True,
        commit_seconds=5.0,
    ),
    # Nearly as fast as its stream, and a minute behind: retention is at its heels.
    Group("telemetry-archive", "telemetry.readings", members=1, capacity_per_second=88),
    Group(
        "orders-redrive",
        ORDERS_DEAD,
        members=1,
        capacity_per_second=20,
        delay_seconds=15.0,
        forwards_to="orders.placed",
    ),
)

CATALOGUE = Catalogue(
    topics=TOPICS,
    streams=STREAMS,
    groups=GROUPS,
    redrive_groups={ORDERS_DEAD: "orders-redrive"},
)
