"""What stands on a page that has nothing to show: how it came to that and what to do."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from app.data.context import View
from app.style.format import clock, duration, escape
from app.ui import components
from config.errors import ConfigError
from config.load import CONFIG_VARIABLE


def misconfigured(error: ConfigError) -> None:
    """Show the one clear line that the configuration's reader has written."""
    st.set_page_config(page_title="Headroom")
    st.title("Headroom is not configured yet", anchor=False)
    for line in str(error).splitlines():
        st.error(escape(line), icon=":material/settings_alert:")
    st.markdown(
        f"The environment variable `{CONFIG_VARIABLE}` names a YAML file; `config/example.yaml` "
        "documents each key. Five lines are enough:"
    )
    st.code(
        "clusters:\n"
        "  - name: production\n"
        "    bootstrap_servers: kafka-1:9092,kafka-2:9092\n"
        "lake:\n"
        "  uri: headroom-data/lake\n",
        language=None,
    )
    st.caption("The file is read again each time this page is loaded.")


def no_cluster() -> None:
    """Say that the viewer's roles see no cluster."""
    st.set_page_config(page_title="Headroom")
    st.title("No cluster is open to you", anchor=False)
    st.markdown("Your roles see none of the configured clusters.")


_STALE_POLLS, _STALE_SECONDS = 8.0, 120.0


def is_stale(view: View, at: datetime) -> bool:
    """Return whether the newest poll is too old to speak of the present."""
    patience = max(_STALE_SECONDS, _STALE_POLLS * view.interval_seconds)
    return (view.now - at).total_seconds() > patience


def stale(view: View, at: datetime) -> None:
    """Say that what the page shows was so when the newest poll came, and what to do."""
    ago = duration((view.now - at).total_seconds())
    st.error(
        f"**Nothing was collected for {ago}.** What this page says was so at "
        f"{clock(at, view.zone, now=view.now)}; what is so now is unknown. "
        "`python -m collectors check --config headroom.yaml` shows what can be reached; "
        "the page goes on by itself with the next poll.",
        icon=":material/history:",
    )


def no_samples(view: View) -> None:
    """Say that nobody has polled this cluster yet, and how to begin."""
    interval = duration(view.interval_seconds)
    st.title("Waiting for the first poll", anchor=False)
    st.markdown(
        f"The lake holds no sample of the cluster **{escape(view.cluster)}** yet. "
        f"Collectors write one every {interval}; this page shows it by itself."
    )
    with st.container(border=True):
        st.markdown(
            "**If nothing comes**  \n"
            "Collectors run beside the dashboard, as a process of their own. See what they reach:"
        )
        components.code("python -m collectors check --config headroom.yaml")
        st.markdown("and start them, if they are not running:")
        components.code("python -m collectors run --config headroom.yaml")
        st.caption(f"Both must use this lake: {view.settings.lake.uri}", wrap=True)


def not_evaluated(view: View) -> None:
    """Say that the first evaluation of this cluster is under way, and what it needs."""
    st.title("The first evaluation is under way", anchor=False)
    st.markdown(
        f"There are samples of the cluster **{escape(view.cluster)}**, and nobody has evaluated "
        f"them yet: what its groups do now is unknown. This page shows it by itself, and looks "
        f"again every {duration(view.settings.app.refresh_seconds)}."
    )
    with st.container(border=True):
        st.markdown(
            "**The alerting service evaluates each poll**  \n"
            "Where it does not run, the dashboard evaluates in the background and nobody is "
            "notified. This starts it:"
        )
        components.code("python -m alerting run --config headroom.yaml")
