"""Of what is nobody notified, until when, and who said so?"""

import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.lifecycle import active
from app.data import alert_actions, alert_store
from app.data.context import current
from app.style.columns import Column
from app.style.format import count, escape
from app.ui import alert_forms, alert_list, components, tables
from app.ui.symptoms import each_once

WEEKLY = (
    "What comes again each week is a maintenance window in the file of rules, see "
    "docs/operations.md: none is configured."
)

view = current()
now = view.now.timestamp()
try:
    store = alert_store.open_store(view)
    rules = alert_store.rules(view)
    silences = store.silences(now - 86400.0) if store else []
    firing = active(store.alerts().values()) if store else []
    problems = alert_store.problems(view, store, rules)
except AlertingError as error:
    components.headline("Silences cannot be shown")
    st.error(escape(str(error)), icon=":material/database_off:")
    st.stop()

windows = rules.maintenance
on = [one for one in silences if not one.problem and one.starts_at <= now < one.ends_at]
# As the page Alerts counts: also by windows, and by silences that the viewer does not see.
covered = each_once(alert for alert in firing if store and store.is_quiet(alert, windows, now))
components.headline(
    f"{count(len(on), 'silence')} on" if on else "No silence is on",
    f"{len(covered)} of {alert_forms.number_firing(firing)} "
    f"{'is' if len(covered) == 1 else 'are'} silenced. Evaluation goes on: a silence holds back "
    "notifications alone.",
)
components.show_left_out(problems)
if silences:
    tables.show(
        alert_list.silence_rows(silences, view.now),
        {
            "id": Column("id", "count", width=60),
            "state": Column("state", width=90),
            "matchers": Column("matches", width="large"),
            "left_seconds": Column("left", "duration"),
            "ends_at": Column("until", "time"),
            "author": Column("who", width=120),
            "comment": Column("why", width="large"),
        },
        view=view,
        key="silences",
        alt="Silences with what they match, until when, who and why",
        noun="silences",
    )
else:
    st.caption("No silence was on in the last day.")

if not view.viewer.operates:
    st.caption("Your roles show silences; operators make and end them.")
else:
    # Where no silence is on, it is what the page is for.
    with (
        st.expander("New silence")
        if on
        else components.section("New silence", help_text=None if windows else WEEKLY)
    ):
        form, said = st.columns([5, 3], gap="medium")
        preview = said.container(border=True, gap="xxsmall")
        with form:
            proposed = alert_forms.what_fires(firing)
            alert_forms.silence(view, firing, proposed, preview=preview)
    if to_end := [one for one in silences if one.ends_at > now]:
        with st.expander("End a silence"), st.form("end-silence", border=False):
            chosen = st.selectbox(
                "Silence",
                to_end,
                format_func=lambda one: f"{one.id}: {one}",
                # What is chosen stays so when others come and go.
                key="silence-to-end",
            )
            if st.form_submit_button("End it now") and chosen is not None:
                try:
                    alert_actions.end_silence(view, chosen)
                    st.rerun()
                except AlertingError as error:
                    st.error(escape(str(error)))

if windows:
    with components.section(
        "Maintenance windows", help_text="They come again each week; the file of rules has them."
    ):
        for window in windows:
            state = "on now" if window.is_on(now) else "off now"
            st.markdown(f"- **{escape(window.name)}**: {state}")
