"""What every part of the settings is made of."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from config.patterns import check_pattern, matches_whole

Pattern = Annotated[str, AfterValidator(check_pattern)]
"""A regular expression in RE2's syntax."""

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
        """Tell whether ``name`` is watched; an expression must match the whole name."""
        return any(matches_whole(pattern, name) for pattern in self.include) and not any(
            matches_whole(pattern, name) for pattern in self.exclude
        )
