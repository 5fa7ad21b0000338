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
    Topic(name="orders.placed", partitions=6),
    Topic(name="payments.authorised", partitions=6),
    Topic(name="inventory.stock_changed", partitions=3),
    Topic(name="web.page_views", partitions=6, retention_seconds=6 * 3600),
    Topic(name="invoices.requested", partitions=4, retention_seconds=6 * 3600),
    Topic(name="shipments.dispatched", partitions=3, retention_seconds=6 * 3600),
    Topic(name="fraud.scores", partitions=4),
    Topic(name="payments.captured", partitions=4),
    Topic(name="ledger.entries", partitions=4),
    # Kept for a minute only, in segments of ten seconds, so that retention acts all the time.
    Topic(
        name="telemetry.readings",
        partitions=3,
        retention_seconds=60,
        config={"segment.ms": "10000", "segment.bytes": "1048576"},
    ),
    Topic(name=PARCELS, partitions=2),
    Topic(name=ORDERS_DEAD, partitions=6, retention_seconds=24 * 3600),
    Topic(name=WAREHOUSE_DEAD, partitions=1, retention_seconds=24 * 3600),
)

STREAMS = (
    Stream(topic="orders.placed", rate=Rate(mean=120), key_prefix="customer-", seed_messages=900),
    # Starts shortly after the arrival rate has overtaken the capacity of payment-settlement
    # (2 consumers, 150 a second): 110 + 90 sin(2π 0.09) = 158 a second.
    Stream(
        topic="payments.authorised",
        rate=Rate(mean=110, swing=90, day_seconds=600, start_of_day=0.09),
        key_prefix="card-",
        seed_messages=300,
    ),
    Stream(
        topic="inventory.stock_changed", rate=Rate(mean=45), key_prefix="sku-", seed_messages=90
    ),
    Stream(
        topic="web.page_views",
        rate=Rate(mean=120),
        key_prefix="visitor-",
        hot_key_share=0.8,
        seed_messages=1500,
    ),
    Stream(
        topic="invoices.requested",
        rate=Rate(mean=30),
        key_prefix="invoice-",
        seed_messages=120,
        poison_partition=2,
    ),
    Stream(
        topic="shipments.dispatched", rate=Rate(mean=25), key_prefix="parcel-", seed_messages=240
    ),
    Stream(topic="fraud.scores", rate=Rate(mean=45), key_prefix="card-", seed_messages=90),
    Stream(topic="payments.captured", rate=Rate(mean=30), key_prefix="card-", seed_messages=60),
    Stream(
        topic=PARCELS, rate=Rate(mean=10), key_prefix="parcel-", seed_messages=20, broken_one_in=50
    ),
    Stream(
        topic="telemetry.readings",
        rate=Rate(mean=90),
        key_prefix="sensor-",
        seed_messages=5760,
        seed_age_seconds=64.0,
    ),
)

GROUPS = (
    Group(
        name="order-fulfilment",
        topic="orders.placed",
        members=3,
        capacity_per_second=100,
        dead_letters=DeadLetters(topic=ORDERS_DEAD, one_in=150, style="spring"),
    ),
    Group(
        name="connect-warehouse_sink",
        topic="orders.placed",
        members=1,
        capacity_per_second=400,
        commit_seconds=5.0,
        dead_letters=DeadLetters(topic=WAREHOUSE_DEAD, one_in=400, style="connect"),
    ),
    Group(
        name="payment-settlement", topic="payments.authorised", members=2, capacity_per_second=75
    ),
    Group(
        name="stock-projection", topic="inventory.stock_changed", members=5, capacity_per_second=80
    ),
    Group(name="session-builder", topic="web.page_views", members=6, capacity_per_second=70),
    Group(
        name="invoice-rendering",
        topic="invoices.requested",
        members=2,
        capacity_per_second=50,
        stuck_on_poison=True,
    ),
    Group(
        name="shipment-notification",
        topic="shipments.dispatched",
        members=1,
        capacity_per_second=200,
        leaves_after=240,
    ),
    Group(
        name="fraud-scoring",
        topic="fraud.scores",
        members=2,
        capacity_per_second=60,
        protocol="consumer",
    ),
    Group(
        name="ledger-writer",
        topic="payments.captured",
        members=1,
        capacity_per_second=120,
        forwards_to="ledger.entries",
        read_committed=True,
        transactional=True,
    ),
    Group(
        name="ledger-audit",
        topic="ledger.entries",
        members=1,
        capacity_per_second=120,
        read_committed=True,
        commit_seconds=5.0,
    ),
    # Nearly as fast as its stream, and a minute behind: retention is at its heels.
    Group(name="telemetry-archive", topic="telemetry.readings", members=1, capacity_per_second=88),
    Group(
        name="orders-redrive",
        topic=ORDERS_DEAD,
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
