"""The context of encrypted connections, made anew when a certificate or a key is replaced."""

from __future__ import annotations

import ssl
import threading

from collectors.errors import SettingsError
from collectors.kafka.protocol.properties import Tls
from collectors.source.file_marks import Marks, marks_of


class TlsContexts:
    """Gives the context for a new connection; for any number of threads.

    To make one takes up to a tenth of a second of processor time, since all authorities that the
    system trusts are read. So one serves until a file that it was made from has changed.
    """

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self._lock = threading.Lock()
        self._made: tuple[Marks, ssl.SSLContext] | None = None

    def current(self) -> ssl.SSLContext:
        """Return a context of the certificates and keys as they are now.

        While files are being replaced and do not fit one another, the last context that could be
        made serves on.

        Raises:
            SettingsError: A file cannot be used, and there is no context from before.
        """
        with self._lock:
            marks = marks_of(self._tls.files, trusts_the_system=self._tls.trusts_the_system)
            if self._made is None or self._made[0] != marks:
                try:
                    self._made = marks, self._tls.context()
                except SettingsError:
                    if self._made is None:
                        raise
            return self._made[1]
