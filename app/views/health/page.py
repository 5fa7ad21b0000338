"""Can I believe these pages?"""

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from alerting.inputs import facts
from app.data import alert_store, late_history, present, queries
from app.data.context import current
from app.data.lake_tables import TABLE_BADGE_STYLES
from app.style.charts.base import plot_height
from app.style.charts.lines import Line, columns_chart, duration_unit, series_chart
from app.style.columns import DASH, Column
from app.style.format import clock, count, escape, listing, size
from app.ui import common_values, components, tables
from app.ui.time_axis import axis_from
from app.views.health import jobs as background_jobs
from app.views.health import view_model
from lake.errors import LakeError
from lake.schemas.current import BROKER_STATUS

NAMED_SECTIONS = 3
"""Those that take longest: with the others they are two lines of names in half a narrow window."""
_LEGEND_LINES = 2
"""Of their names: both charts begin at one height, and are equally high."""
FAILED_AT = Column("last failure", "time", unknown=DASH, width=90)
SAID = Column(
    "what was said",
    unknown="",
    help="By the newest attempt; where it says nothing, by the last one that failed.",
    width="large",
)


def show_told_apart(
    rows: pl.DataFrame,
    columns: Mapping[str, Column],
    *,
    always: Sequence[str],
    key: str,
    alt: str,
    noun: str,
    file_only: Mapping[str, Column] | None = None,
) -> None:
    """Show a table without the columns that are empty or the same for all: the file has these."""
    kept, same = common_values.told_apart(rows, columns, always)
    tables.show(
        rows,
        kept,
        view=view,
        key=key,
        alt=alt,
        noun=noun,
        in_file={**same, **(file_only or {})},
    )


view = current()
lake = queries.lake_state(view)
late = late_history.late_by(view)
collections: pl.DataFrame | None = None
try:
    collections = queries.collections(view)
except LakeError as error:
    components.headline("Whether collecting works is not known")
    components.show_broken(error)

if collections is not None and collections.is_empty():
    components.headline(
        "Nothing was collected in the last day",
        "The collectors do not run, or write to another lake: python -m collectors check.",
    )
elif collections is not None:
    sections, brokers = facts.section_rows(collections), BROKER_STATUS.empty
    with components.guarded():
        brokers = present.rows(view, BROKER_STATUS)
    unknown = view_model.unknown_disks(sections, brokers, view.zone, view.now)
    sections = view_model.with_unknown_disks(sections, unknown)
    components.headline(
        *map(escape, view_model.sentence(sections, view.now, view.interval_seconds, late, unknown))
    )
    processes = view_model.collectors(collections)
    if not processes.is_empty():
        newest, *before = processes.iter_rows(named=True)
        waiting = view_model.waiting(queries.waiting_collectors(view), processes)
        names = [escape(name) for name in waiting["collector"]]
        others = f"{listing(names)} stand by" if len(names) > 1 else f"{''.join(names)} stands by"
        text = f"Polled by **{escape(newest['collector'])}**; "
        text += f"{others}, to take over when it is gone." if names else "no other one stands by."
        if before:
            when = clock(before[0]["last_at"], view.zone, now=view.now)
            text += f" Until {when} {escape(before[0]['collector'])} did."
        st.caption(text)
    components.say_what_is_of_now(view)
    shown = view_model.with_last_failure(
        view_model.table_rows(sections, view.now, view.interval_seconds),
        collections,
        by="section",
        at="observed_at",
    )
    is_whole = set(shown["state"]) <= {"ok", "over"}
    with st.grid(5, min_column_width=124, gap="small"):
        for tile in view_model.tiles(shown, view.now, view.interval_seconds, late, lake):
            components.tile(tile.label, tile.value, delta=escape(tile.clause), colour=tile.colour)
    sections_title = f"{count(shown.height, 'section')}, all collected"
    with st.expander(sections_title) if is_whole else st.container():
        show_told_apart(
            shown,
            {
                "section": Column("section", width=190),
                "label": Column(
                    "state",
                    "status",
                    badge_styles=list(view_model.BADGE_STYLES.values()),
                    width=110,
                ),
                "age_seconds": Column("last success", "duration", unknown="never", help="Its age."),
                "duration_seconds": Column("took", "duration"),
                "rows": Column("rows", "count"),
                "interval_seconds": Column("every", "duration", unknown="once"),
                "failures": Column("failed, 24 h", "count"),
                "failed_at": FAILED_AT,
                "said": SAID,
                "skips": Column("skipped, 24 h", "count"),
            },
            always=("section", "label", "age_seconds", "duration_seconds", "rows"),
            key="health-sections",
            alt="Sections of the collectors with state, age, duration and error",
            noun="sections",
        )
    wrong = shown.filter(pl.col("error").is_not_null(), pl.col("state") != "over")
    for row in wrong.iter_rows(named=True):
        st.markdown(
            f":red[:material/sync_problem:] **{escape(row['section'])}**: "
            f"{escape(row['error'])}  \n"
            f":gray[:material/arrow_forward: {escape(view_model.what_to_do(row['error']))}]"
        )
    since = collections["observed_at"].min()
    axis = axis_from(view, since, part=0.5)  # type: ignore[arg-type]  # a time: Polars cannot say so
    # Up to the last whole minute: the figures then change once a minute, not at each refresh.
    ranged = collections.filter(pl.col("observed_at").is_between(axis.start, axis.end))
    high = 100 if is_whole else 150
    polls = view_model.polls(ranged.filter(pl.col("source") == queries.KAFKA))
    with st.expander("Polls over time") if is_whole and view.is_phone else st.container():
        left, right = st.columns(2, gap="medium")
        # First, as a further line of its names makes it higher.
        with (
            right,
            components.section(
                "How long sections take", unit="seconds", log_key="health-log"
            ) as log,
        ):
            took = view_model.durations(ranged)
            cut, peak = (None, None) if log else view_model.cap(took, view.zone, view.now)
            durations = series_chart(
                took,
                by="section",
                value="duration_seconds",
                axis=axis,
                palette=view.palette,
                step_seconds=1e9,
                of_moments=True,
                limit=NAMED_SECTIONS,
                own_colours=False,
                log=log,
                legend_lines=_LEGEND_LINES,
                height=high,
            )
            high = plot_height(durations)
            if cut is not None:
                durations.update_yaxes(range=[0, cut])
            components.chart(
                durations,
                key="health-durations",
                alt="Duration of each section's collection over time",
                note=escape(peak) if peak else None,
            )
        with (
            left,
            components.section(
                "Time between polls",
                unit=duration_unit(polls, ["gap_seconds"])[1],
                help_text="A steady line is good: no poll was late or left out.",
            ),
        ):
            components.chart(
                columns_chart(
                    polls,
                    [Line(column="gap_seconds", name="between polls")],
                    axis=axis,
                    palette=view.palette,
                    step_seconds=1e9,
                    of_moments=True,
                    durations=True,
                    legend_lines=_LEGEND_LINES,
                    height=high,
                ),
                key="health-cadence",
                alt="Seconds between polls over time",
            )

try:
    store = alert_store.open_store(view)
    problems = alert_store.problems(view, store, alert_store.rules(view))
except AlertingError as error:
    problems = [str(error)]
if problems:
    with components.section("Alerting"):
        components.show_left_out(problems)
elif view.viewer.sees_all:  # others are not shown all of it
    st.caption("Alerting reads all rules, silences and stored alerts.")

with components.section(
    "History", help_text="The background jobs that turn samples into minutes, hours and days."
):
    jobs = queries.jobs(view)
    if late is not None and view.viewer.sees_all:
        said, step = background_jobs.late_history(jobs, late, view.now)
        st.markdown(
            f":red[:material/sync_problem:] **history**: {said}  \n"
            f":gray[:material/arrow_forward: {step}]"
        )
    if not view.viewer.sees_all:
        components.nothing("The jobs work for all teams: who sees everything sees their runs.")
    elif jobs.is_empty():
        components.nothing(
            "No run of the history jobs was recorded in the last day: until there is one, the "
            "charts show the samples of the last minutes. python -m spark_metrics run starts them.",
            icon=":material/hourglass:",
        )
    else:
        show_told_apart(
            view_model.with_last_failure(
                background_jobs.job_rows(jobs, late, view.now), jobs, by="job", at="started_at"
            ),
            {
                "does": Column(
                    "job",
                    width=180,
                    help="In the commands of spark_metrics, in this order: "
                    + ", ".join(jobs["job"].unique().sort()),
                ),
                "label": Column(
                    "state",
                    "status",
                    badge_styles=list(background_jobs.JOB_BADGE_STYLES.values()),
                    width=110,
                ),
                "started_at": Column("last run", "time"),
                "due_at": Column(
                    "due",
                    "time",
                    unknown=DASH,
                    help="When the next hour has ended: forecasts and advice are worked out once "
                    "for each. The others go on all the time.",
                ),
                "took_seconds": Column("took", "duration"),
                "delay_seconds": Column(
                    "behind",
                    "duration",
                    unknown=DASH,
                    help="Age of the newest sample in the history then; of late history, now. Of "
                    "what is worked out hourly, how long it is overdue.",
                ),
                "rows_read": Column("samples read", "count"),
                "late_rows": Column("too late", "count", help="They wait for a backfill."),
                "runs": Column("runs, 24 h", "count"),
                "failures": Column("failed, 24 h", "count"),
                "failed_at": FAILED_AT,
                "said": SAID,
            },
            always=("does", "label", "started_at", "took_seconds", "delay_seconds"),
            key="health-jobs",
            alt="Background jobs with state, last run and delay",
            noun="jobs",
            file_only={"job": Column("name")},
        )

with components.section(
    "The lake", help_text="Files and bytes of the newest version of each table."
):
    is_readable = lake["error"].null_count() == lake.height
    lake_title = f"{count(lake.height, 'table')}, {size(float(lake['size_bytes'].sum()))}"
    with st.expander(lake_title) if is_readable else st.container():
        tables.show(
            lake,
            {
                "table": Column("table", width=190),
                "layer": Column("layer"),
                "label": Column(
                    "state", "status", badge_styles=list(TABLE_BADGE_STYLES.values()), width=130
                ),
                "age_seconds": Column("last written", "duration", unknown=DASH),
                "files": Column("files", "count", unknown=DASH),
                "size_bytes": Column("size", "size", unknown=DASH),
                "error": Column("why", unknown="", width="large"),
            },
            view=view,
            key="health-lake",
            alt="Tables of the lake with their state, age, files and size",
            noun="tables",
        )

with st.expander("Versions"):
    packages = ("streamlit", "plotly", "polars", "deltalake")
    lines = [f"- {package} {version(package)}" for package in packages]
    st.markdown("\n".join([*lines, f"- Python {sys.version.split()[0]}"]))
