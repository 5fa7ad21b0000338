"""A Kerberos realm of the test's own: MIT's KDC on a loopback port, its files in one folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from runtime.processes import free_ports
from tests.support import eventually

HOST = "127.0.0.1"
REALM = "HEADROOM.TEST"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def missing_programs() -> list[str]:
    """Return what is not installed of what a realm needs."""
    return [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]


class Realm:
    """A realm whose KDC can be stopped and started again.

    Attributes:
        config: The clients' ``krb5.conf``.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.config = folder / "krb5.conf"
        (self._port,) = free_ports(1, HOST)
        self.config.write_text(
            f"""[libdefaults]
 default_realm = {REALM}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {REALM} = {{
  kdc = {HOST}:{self._port}
 }}
[domain_realm]
 {HOST} = {REALM}
""",
            encoding="utf-8",
        )
        (folder / "kdc.conf").write_text(
            f"""[kdcdefaults]
 kdc_listen = {HOST}:{self._port}
 kdc_tcp_listen = {HOST}:{self._port}
[realms]
 {REALM} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/kadm5.acl
  max_life = 1h
 }}
[logging]
 kdc = FILE:{folder}/kdc.log
""",
            encoding="utf-8",
        )
        self._environment = {
            **os.environ,
            "PATH": _PATH,
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }
        self._kdc: subprocess.Popen[bytes] | None = None
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master-key")
        self.start()

    def start(self) -> None:
        self._kdc = subprocess.Popen(
            ["krb5kdc", "-n", "-r", REALM, "-P", str(self.folder / "kdc.pid")],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._answers, what="a KDC that answers")

    def stop(self) -> None:
        if self._kdc is not None:
            self._kdc.terminate()
            self._kdc.wait(20)
            self._kdc = None

    def keytab(self, principal: str, *options: str) -> Path:
        """Make a principal and return a file with its key."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        self.admin(f"addprinc -randkey {' '.join(options)} {principal}")
        self.admin(f"ktadd -k {path} {principal}")
        return path

    def admin(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def tickets(self) -> list[str]:
        """Return the lines of the KDC's log about tickets that it gave."""
        log = (self.folder / "kdc.log").read_text(encoding="utf-8")
        return [line for line in log.splitlines() if "ISSUE" in line]

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr

    def _answers(self) -> bool:
        assert self._kdc is not None
        assert self._kdc.poll() is None, "the KDC has ended"
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self._port)) == 0
