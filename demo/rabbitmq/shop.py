"""A shop's queues in RabbitMQ with known faults: ``python -m demo.rabbitmq.shop --help``.

Everything goes through the management API, which can publish, take, acknowledge and reject. So no
client library is needed, and no queue shows a consumer.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from typing import Annotated

import typer

from demo.errors import DemoError
from demo.rabbitmq.node import RabbitApi, VirtualHost

VIRTUAL_HOST = "shop"
SEEDED_INVOICES = 150
"""Invoices that wait from the start."""
REJECTED_EVERY = 10
"""Seconds between two messages that cannot be processed, on average."""
RETRY_SECONDS = 15

_ROUND_SECONDS = 1.0
_AGAIN_SECONDS = 2.0
_READY_SECONDS = 90.0

LOG = logging.getLogger("demo.rabbitmq")


def declare(shop: VirtualHost) -> None:
    """Make exchanges, queues, bindings and policies; what exists stays as it is."""
    shop.create()
    shop.exchange("failed", "fanout")
    shop.exchange("failed.by.kind", "topic")
    shop.bind("failed", "failed.by.kind", exchange=True)
    # A target comes before the queue that names it, which else would drop its dead letters.
    shop.queue("invoices.dead")
    shop.bind("failed.by.kind", "invoices.dead", "invoices.#")
    shop.queue("invoices", queue_type="quorum", dead_letter_exchange="failed")
    shop.queue(
        "mails.wait",
        dead_letter_exchange="",
        dead_letter_routing_key="mails",
        message_ttl=RETRY_SECONDS * 1000,
    )
    shop.queue("mails", dead_letter_exchange="", dead_letter_routing_key="mails.wait")
    # The exchange was renamed, the policy was not: what is rejected is dropped.
    shop.policy("parcels", "^parcels$", dead_letter_exchange="parcels.failed")
    shop.queue("parcels")
    shop.queue("audit", queue_type="stream", max_age="1h")


class Shop:
    """Publishes and takes what a second brings."""

    def __init__(self, shop: VirtualHost) -> None:
        self._shop = shop
        self._second = 0

    def seed(self) -> None:
        """Let invoices wait, unless they do already."""
        if not self._shop.depths().get("invoices"):
            for number in range(SEEDED_INVOICES):
                self._publish("invoices", f"invoice {number}")

    def step(self) -> None:
        """Live through one second: invoices grow by one in two seconds, the others do not."""
        second = self._second
        self._second += 1
        for name in ("invoices", "invoices", "mails", "parcels", "audit"):
            self._publish(name, f"{name} of second {second}")
        fails = second % REJECTED_EVERY == 0
        self._shop.take("invoices", 1, reject=fails)
        if second % 2:
            self._shop.take("invoices", 1)
        self._shop.take("mails", 1, reject=second % 3 == 0)
        self._shop.take("mails", 1)
        self._shop.take("parcels", 1, reject=fails)
        self._shop.take("parcels", 1)

    def _publish(self, queue: str, payload: str) -> None:
        self._shop.publish(queue, payload, timestamp=int(time.time()))


def main(
    url: Annotated[str, typer.Option(help="address of the management API")],
) -> None:
    """Work in the shop until SIGTERM or Ctrl-C."""
    logging.basicConfig(
        stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    shop = RabbitApi(url).virtual_host(VIRTUAL_HOST)
    since = time.monotonic()
    while not ended.is_set():
        try:
            declare(shop)
            work = Shop(shop)
            work.seed()
            LOG.info("the shop works")
            while not ended.wait(_ROUND_SECONDS):
                work.step()
                since = time.monotonic()
        except DemoError as error:
            if time.monotonic() - since > _READY_SECONDS:
                LOG.error("%s", error)
                sys.exit(1)
            LOG.warning("%s", error)
            ended.wait(_AGAIN_SECONDS)


if __name__ == "__main__":
    typer.run(main)
