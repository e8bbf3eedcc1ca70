"""Figures in a notebook, from the tables that the command's report draws."""

from ._optional import need

#: Columns of flows that have a nicer unit: title and factor.
NICE = {"_bps": ("Mbit/s", 1e-6), "_bytes": ("MB", 1e-6)}


def chart(results, y, x):
    altair = need("altair", "chart()")
    over_time = x == "time"
    frame = (results.table("samples") if over_time else results).to_pandas()
    if over_time:
        x, y = "at_s", "rate_bps" if y == "goodput_bps" else y
        frame = frame[frame["seed"] == frame["seed"].min()]
    if y not in frame.columns:
        raise KeyError(f"{y!r} is not a column; the columns are {list(frame.columns)}")
    title = y
    for ending, (unit, factor) in NICE.items():
        if y.endswith(ending):
            title = f"{y.removesuffix(ending).replace('_', ' ')}, {unit}"
            frame = frame.assign(**{y: frame[y] * factor})
    if x is None:
        x = _swept(results, frame)
    names = {"y": "y", "controller": "controller"}
    data = frame.rename(columns={y: "y", x: "x"} if x else {y: "y"})
    data = data[[c for c in ("x", "y", "controller", "flow", "seed") if c in data.columns]]
    color = altair.Color("controller:N")
    vertical = altair.Y("mean(y):Q", title=title)
    if over_time:
        # One for each flow of each run, and for each of its paths.
        line = frame["run"].astype(str) + " " + frame["flow"] + " " + frame["route"].fillna("")
        lines = altair.Chart(data.assign(line=line)).mark_line()
        return lines.encode(
            x=altair.X("x:Q", title="time, s"),
            y=altair.Y("y:Q", title=title),
            color=color,
            detail="line:N",
        ).properties(width=480)
    if x is None:
        base = altair.Chart(data).encode(x=altair.X("controller:N", sort="-y", title=None))
        bars = base.mark_bar().encode(y=vertical, color=color.legend(None))
    else:
        kind = "Q" if data["x"].dtype.kind in "if" else "N"
        base = altair.Chart(data).encode(x=altair.X(f"x:{kind}", title=x), color=color)
        bars = base.mark_line(point=True).encode(y=vertical)
    error = base.mark_errorbar(extent="stdev").encode(y=altair.Y("y:Q", title=title))
    return (bars + error).properties(width=480)


def _swept(results, frame):
    """The swept key with several values that is not the controller; in base units if it has any."""
    for key in results.scenario.swept:
        if key != "flow.controller" and frame[key].nunique() > 1:
            units = [name for name in frame.columns if name.startswith(f"{key}_")]
            return units[0] if units else key
    return None
