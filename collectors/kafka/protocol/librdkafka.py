"""A cluster's properties, checked by librdkafka, whose names they have.

All reading goes through ``broker_requests``. What librdkafka's calls do while a broker is silent, a
leader moves or a record is odd, and what they cost, stands read by read in docs/sources.md, "Which
client reads what".
"""

from __future__ import annotations

import logging

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from collectors.errors import SettingsError
from collectors.kafka.protocol.properties import ConnectionSettings, connection_settings
from collectors.kafka.protocol.sasl.callback import find_callback
from collectors.kafka.protocol.sasl.kerberos import library
from config.settings import ClusterSettings

# What librdkafka logs about connections is said once, in words, by the batched client.
_quiet = logging.getLogger("collectors.librdkafka")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False

# Only names and values are checked: without an address librdkafka connects to nothing, and without
# this method it fetches no token. An ``oauth_callback`` is not handed to it: its client would wait
# for a token before it is there.
_OFFLINE = {"sasl.oauthbearer.method": "default"}


def validate(settings: ClusterSettings) -> ConnectionSettings:
    """Check a cluster's properties with both clients, without connecting.

    Raises:
        SettingsError: They cannot work; the text names the cluster and the property.
    """
    properties = settings.librdkafka()
    callback = None
    if settings.oauth_callback is not None:
        try:
            config = properties.get("sasl.oauthbearer.config", "")
            callback = find_callback(settings.oauth_callback, config)
        except SettingsError as error:
            raise SettingsError(f"cluster {settings.name}: {error}") from None
    try:
        understood = connection_settings(properties, callback)
        if understood.tls is not None:
            understood.tls.context()
        if understood.sasl is not None and understood.sasl.kerberos is not None:
            library()
            properties.pop("sasl.mechanisms", None)
            properties["sasl.mechanism"] = "OAUTHBEARER"  # it is built without Kerberos
        del properties["bootstrap.servers"]
        AdminClient({**properties, **_OFFLINE}, logger=_quiet)
    except SettingsError as error:
        raise SettingsError(f"cluster {settings.name}: properties: {error}") from None
    except KafkaException as error:
        raise SettingsError(f"cluster {settings.name}: properties: {error.args[0].str()}") from None
    return understood
