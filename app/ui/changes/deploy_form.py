"""The form by which operators mark a deploy."""

from __future__ import annotations

import streamlit as st

from alerting.errors import AlertingError
from app.data import alert_actions
from app.data.context import View
from app.style.format import escape
from app.ui import components
from lake.errors import LakeError


def draw(view: View) -> None:
    """Draw the form for those who may use it."""
    if not view.viewer.operates:
        return
    with (
        st.popover("Mark a deploy", icon=":material/rocket_launch:"),
        st.form("deploy", border=False),
    ):
        text = st.text_input("What was deployed", placeholder="orders 1.4.2")
        group = st.text_input("Consumer group", placeholder="none in particular")
        topic = st.text_input("Topic", placeholder="none in particular")
        said = components.author(view, "Who")
        if st.form_submit_button("Mark it now"):
            try:
                made = alert_actions.mark_deploy(
                    view, text, group=group or None, topic=topic or None, said=said
                )
                st.success(f"Marked: {escape(made.text)}. Charts show it at the next refresh.")
            except (ValueError, AlertingError, LakeError) as error:
                st.error(escape(str(error)))
