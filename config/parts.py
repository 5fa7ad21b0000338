"""What every part of the settings is made of."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Annotated, ClassVar, Self
from zlib import crc32

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from config.patterns import check_pattern, matches_whole
from config.secret import Password, Token, keep_hidden

Pattern = Annotated[str, AfterValidator(check_pattern)]
"""A regular expression in RE2's syntax."""

LONGEST_INTERVAL_SECONDS = 240.0
"""Between two polls, or two evaluations. Alerts, statuses and pages take what is older than five
minutes for gone: a pending alert begins anew, and a status is unknown."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""What a cluster or another source is called."""


class Section(BaseModel):
    """A part of the settings: an unknown key is an error, and no value is shown in one."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True
    )


class Selection(Section):
    """Which names are watched: those that match ``include`` and none of ``exclude``."""

    include: list[Pattern] = Field(default=[".*"], description="regular expressions, any matches")
    exclude: list[Pattern] = Field(default=[], description="regular expressions, none matches")

    def selects(self, name: str) -> bool:
        """Return whether ``name`` is watched; an expression must match the whole name."""
        return any(matches_whole(pattern, name) for pattern in self.include) and not any(
            matches_whole(pattern, name) for pattern in self.exclude
        )


class GroupSelection(Selection):
    """Which groups are watched, or which part of them."""

    shard: str | None = Field(
        default=None,
        pattern=r"^[1-9]\d{0,2}/[1-9]\d{0,2}$",
        description="1/4: the first of four parts of the groups, by a hash of their names",
    )

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        part, parts = self._part
        if part > parts:
            raise ValueError(f"shard: there is no part {part} of {parts}")
        return self

    @property
    def _part(self) -> tuple[int, int]:
        part, _, parts = (self.shard or "1/1").partition("/")
        return int(part), int(parts)

    def selects(self, name: str) -> bool:
        """Return whether the group is watched."""
        part, parts = self._part
        # A checksum that is the same on every machine and in every version of Python.
        is_ours = crc32(name.encode("utf-8", "surrogatepass")) % parts == part - 1
        return is_ours and super().selects(name)


class CredentialSettings(Section):
    """How we show who we are to an HTTP server, and how it does to us."""

    username: str | None = Field(default=None, description="with password: HTTP basic")
    password: Password | None = None
    token: Token | None = Field(default=None, description="sent as a bearer token")
    ca_file: Path | None = Field(default=None, description="certificates to trust (PEM)")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together")
        if self.token is not None and self.username is not None:
            raise ValueError("either a token, or username and password")
        if self.username is not None and self.password is not None:
            pair = f"{self.username}:{self.password.get_secret_value()}"
            keep_hidden(b64encode(pair.encode()).decode())  # HTTP basic
        return self
