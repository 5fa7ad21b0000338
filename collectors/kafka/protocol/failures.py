"""What went wrong on a connection, in one line for the person who operates the cluster."""

from __future__ import annotations

import socket
import ssl

import kafka.errors as kafka_errors

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    OddAnswerError,
    ProtocolError,
    SecurityError,
    UnreachableError,
    UnsupportedError,
)


def translated(label: str, error: BaseException) -> BaseException:
    """Say what happened in one line; what is no failure of the broker stays as it is."""
    if isinstance(error, CollectorError) or not isinstance(error, Exception):
        return error
    if isinstance(error, TimeoutError | ssl.SSLWantReadError | ssl.SSLWantWriteError):
        return NoAnswerError(f"{label}: did not answer in time")
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = "renew it" if "expired" in error.verify_message else "check ssl.ca.location"
        return SecurityError(
            f"{label}: its certificate is not trusted ({error.verify_message}); {advice}"
        )
    if isinstance(error, ssl.SSLError):
        why = error.reason or str(error)
        if "ALERT" in why and "CERTIFICATE" in why:
            return SecurityError(
                f"{label}: refused this client's certificate ({why}); check "
                "ssl.certificate.location and ssl.key.location, and whether it has expired"
            )
        return SecurityError(
            f"{label}: no encrypted connection ({why}); does security.protocol fit the listener?"
        )
    if isinstance(error, socket.gaierror):
        return UnreachableError(f"{label}: the host name cannot be resolved")
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return UnreachableError(
            f"{label}: closed the connection; if it always does, check security.protocol"
        )
    if isinstance(error, OSError):
        return UnreachableError(f"{label}: {error.strerror or error}")
    if isinstance(error, kafka_errors.IncompatibleBrokerVersion):
        return UnsupportedError(f"{label}: {error}")
    if isinstance(error, kafka_errors.KafkaError):
        return ProtocolError(f"{label}: {error}")
    # Whatever a broken answer makes the decoder raise is the broker's failure, not ours.
    return OddAnswerError(f"{label}: answer not understood: {error!r}")
