"""The tables that Spark derives from history: seasons, forecasts, changes, skew, capacity.

All but ``capacity_intervals`` hold the newest computation only, and are replaced as a whole;
``as_of`` is the end of the newest hour of history behind it. Rates are messages per second, lag is
messages, times are UTC. ``generated`` is true where any of the history behind a row was generated
and not measured, else null.
"""

from __future__ import annotations

from lake.schemas.model import DATE, Column, Table, Type, columns, required

# Whose series it is: subject is group, topic or cluster (name is then empty); metric is a column of
# its history table: arrival_per_second, consumption_per_second, lag_max.
_SERIES = required(cluster="string", subject="string", name="string", metric="string")


def _derived(name: str, named: tuple[Column, ...], *, key: tuple[str, ...], **types: Type) -> Table:
    return Table(
        name=name,
        layer="gold",
        columns=(*named, *columns(**types), *required(as_of="timestamp"), DATE),
        time="as_of",
        key=key,
    )


SEASONALITY = _derived(
    "seasonality",
    _SERIES,
    key=("cluster", "subject", "name", "metric", "hour_of_week"),
    hour_of_week="int",  # 0 is Monday 00:00 UTC; null in a row that says why there is none
    p05="double",  # quantiles of the hour over up to ten weeks, in the metric's unit
    p25="double",
    p50="double",
    p75="double",
    p95="double",
    samples="int",  # hours of history behind this hour of the week
    status="string",  # ok, too little history
    reason="string",
    generated="boolean",
)

FORECASTS = _derived(
    "forecasts",
    _SERIES,
    key=("cluster", "subject", "name", "metric", "grain_seconds", "window_start"),
    grain_seconds="int",
    window_start="timestamp",  # the hour that is forecast; null where there are no numbers
    median="double",
    low_80="double",  # 80 % of what comes should lie from here to high_80
    high_80="double",
    low_90="double",
    high_90="double",
    status="string",  # ok, too little history
    reason="string",
    method="string",  # a week ago, a day ago, profile and level
    # Of this method, over the last quarter of the hours that methods are compared over:
    held_back_hours="int",
    mae="double",  # mean absolute error, in the metric's unit
    mae_seasonal_naive="double",  # that of the value a week before
    coverage_80="double",  # share of what came that the interval held
    coverage_90="double",
    generated="boolean",
)

CHANGES = _derived(
    "changes",
    _SERIES,
    key=("cluster", "subject", "name", "metric", "changed_at"),
    kind="string",  # step, growth (also where it shrinks)
    changed_at="timestamp",  # the hour of a step, the day on which growth began
    before="double",  # median level before, in the metric's unit
    after="double",  # after it; of growth the level at the end
    ratio="double",  # after ÷ before; of growth the factor a week
    ratio_low="double",  # 90 % interval
    ratio_high="double",
    confidence="double",  # how sure it is that there was a change, 0 to 1
    generated="boolean",
)

SKEW = _derived(
    "skew",
    (
        *required(cluster="string"),
        Column("group", "string"),  # null: the topic's own traffic
        *required(topic="string"),
    ),
    key=("cluster", "group", "topic"),
    window_start="timestamp",
    window_seconds="double",
    partitions="int",
    messages="long",  # that came in this time, over the partitions that are known
    busiest_partition="int",
    busiest_ratio="double",  # its share of the messages
    even_ratio="double",  # the share of each if all were alike
    hot_partitions="list<int>",  # far above the others, hottest first
    unknown_reason="string",
    generated="boolean",
)

LAG_ANOMALIES = _derived(
    "lag_anomalies",
    required(cluster="string", group="string"),
    key=("cluster", "group", "window_start"),
    window_start="timestamp",  # the hour
    lag_max="long",
    usual="double",  # median of this hour of the week
    usual_high="double",  # its upper end, from the 75 % quantile
    score="double",  # (lag_max - usual) ÷ (usual_high - usual), the latter bounded below
    samples="int",  # hours of history behind what is usual
    generated="boolean",
)

CONTRIBUTORS = _derived(
    "contributors",
    required(cluster="string", topic="string"),
    key=("cluster", "span_seconds", "topic"),
    span_seconds="int",  # this long is compared with as long before: a day, a week
    rank="int",  # 1 changed most
    before_per_second="double",
    now_per_second="double",
    change_per_second="double",
    share_ratio="double",  # of the changes of all topics in the same direction
    hours_before="int",  # hours that are known of the time before
    hours_now="int",
    generated="boolean",
)

CAPACITY = _derived(
    "capacity",
    required(cluster="string", group="string"),
    key=("cluster", "group", "member"),
    member="string",  # null: what a member of the group can do
    status="string",  # identified, lower bound, unknown, conflict, blocked
    reason="string",
    per_second="double",  # messages per second of one member that never waits
    low="double",  # 90 % interval; of a lower bound the best sustained rate
    high="double",
    samples="int",  # intervals behind it
    episodes="int",
    limit_per_second="double",  # of the whole group, where it meets a limit downstream
    helpful_members="int",  # beyond which none helps
    variability_seconds="double",  # variance of the work done a second, in seconds
)

# By hour, from the samples; replaced hour by hour.
_HOUR = Column("hour", "int")

CAPACITY_INTERVALS = Table(
    name="capacity_intervals",
    layer="gold",
    columns=(
        *required(cluster="string", group="string", member="string", started_at="timestamp"),
        *columns(
            members="int",
            seconds="double",
            consumed="long",
            arrived="long",
            lag_start="long",
            lag_end="long",
            blocked="list<string>",  # the member's partitions that stood still in that hour
            grain_seconds="int",
        ),
        _HOUR,
        DATE,
    ),
    time="started_at",
    key=("cluster", "group", "member", "started_at"),
)
