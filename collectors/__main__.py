"""``python -m collectors``."""

from __future__ import annotations

from collectors.memory import use_little


def main() -> None:
    """Run a command."""
    use_little()
    # Not above: Polars reads once how much memory it may keep.
    from collectors.commands import app

    app(prog_name="python -m collectors")


if __name__ == "__main__":
    main()
