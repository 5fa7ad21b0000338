"""Who is late?"""

import polars as pl
import streamlit as st

from alerting.samples import Status
from app import components, decisions, grouptable, pages, queries
from app.format import count, exact, listing, short
from app.groups import LATE, LOOKS
from app.view import current
from lake.errors import LakeError
from lake.tables import GROUP_OFFSETS, GROUPS

view = current()
try:
    statuses = decisions.group_statuses(view)
    groups = queries.newest(view, GROUPS)
except LakeError as error:
    components.headline("The groups cannot be shown")
    components.show_broken(error)
    st.stop()
if not statuses:
    components.headline("No consumer group is known")
    components.nothing(
        "The newest poll found no group with committed offsets. Groups appear here by themselves "
        "once they commit; Collection health shows whether they could be read."
    )
    st.stop()

components.headline(*grouptable.sentence(statuses))

members = None
with components.guarded():
    members = decisions.members(view)
trend = None
with components.guarded():
    trend = queries.group_history(view).frame
rows = grouptable.rows(statuses, groups, members, trend)

search, status_filter, kind_filter = st.columns([2, 3, 2], vertical_alignment="bottom")
with search:
    wanted = st.text_input(
        "Search", key="groups-search", placeholder="part of a group's name", icon=":material/search:"
    )
with status_filter:
    present = [status for status in LOOKS if status in set(rows["status"].to_list())]
    chosen = st.multiselect(
        "Status",
        present,
        format_func=lambda status: LOOKS[status].label,
        key="groups-status",
        placeholder="every status",
    )
with kind_filter:
    kinds = sorted(set(rows["kind"].drop_nulls().to_list()))
    kind = st.multiselect("Kind", kinds, key="groups-kind", placeholder="every kind")
