"""Tables: Arrow columns that pyarrow, polars, pandas and DuckDB read without copies."""

from ._chart import chart
from ._optional import need


class Table:
    """A table of results.

    It has the Arrow PyCapsule interface: ``pyarrow.table(t)``, ``polars.DataFrame(t)`` and
    ``pandas.DataFrame.from_arrow(t)`` share its memory.

    Columns carry their unit at the end of their name: ``_bps`` bit/s, ``_bytes``, ``_s`` seconds,
    ``_ms`` milliseconds. ``meanings`` says what each one is.
    """

    def __init__(self, native):
        self._native = native

    def __arrow_c_stream__(self, requested_schema=None):
        return self._native.__arrow_c_stream__(requested_schema)

    def __len__(self):
        return len(self._native)

    @property
    def column_names(self):
        """Names of the columns, from left to right: a list of str."""
        return self._native.column_names

    @property
    def shape(self):
        """Number of rows and of columns."""
        return len(self), len(self.column_names)

    @property
    def meanings(self):
        """What each column means: a dict of name to text."""
        return self._native.meanings

    def to_arrow(self):
        """The same as a ``pyarrow.Table``, without a copy."""
        return need("pyarrow", "to_arrow()").table(self)

    def to_pandas(self):
        """The same as a ``pandas.DataFrame``, a row for each row."""
        need("pandas", "to_pandas()")
        return need("pyarrow", "to_pandas()").table(self).to_pandas()

    def to_polars(self):
        """The same as a ``polars.DataFrame``, without a copy."""
        return need("polars", "to_polars()").DataFrame(self)

    def to_parquet(self, path):
        """Writes the table as Parquet."""
        need("pyarrow.parquet", "to_parquet()").write_table(self.to_arrow(), path)

    def __getitem__(self, column):
        """The values of a column as a ``pyarrow.ChunkedArray``."""
        if column not in self.column_names:
            raise KeyError(f"{column!r} is not a column; the columns are {self.column_names}")
        return self.to_arrow()[column]

    def __repr__(self):
        rows, columns = self.shape
        names = ", ".join(self.column_names[:8]) + (", ..." if columns > 8 else "")
        return f"<whimbrel.Table: {rows} rows, {columns} columns: {names}>"

    def _repr_html_(self):
        try:
            return self.to_pandas()._repr_html_()
        except ImportError:
            return f"<pre>{self!r}</pre>".replace("<whimbrel", "&lt;whimbrel")


class Results(Table):
    """The runs of a scenario. As a table it is ``flows``: a row for each flow of each run.

    With one flow to a run, as ``compare`` has it by default, that is a row for each point of the
    sweep and seed, with ``controller``, ``seed``, ``goodput_bps`` and all else that was measured.
    """

    def __init__(self, tables, scenario):
        super().__init__(tables["flows"])
        self._tables = tables
        self.scenario = scenario

    def table(self, name):
        """Another table: runs, flows, paths, streams, links, destinations; of sampled runs also
        samples, link-samples, destination-samples, episodes. docs/reference/formats.md lists their
        columns."""
        if name not in self._tables:
            names = ", ".join(self._tables)
            timed = "sample" in name or name == "episodes"
            hint = "; set `sample` to have samples" if timed else ""
            raise KeyError(f"no table {name!r}; these results have {names}{hint}")
        return Table(self._tables[name])

    def chart(self, y="goodput_bps", x=None):
        """A figure for a notebook (needs Altair): `y` for each controller, over time if the runs
        were sampled and `x` is ``"time"``, over a swept key if there is one, else as bars. Marks
        are means over the seeds, with the standard deviation.

        Returns:
            altair.Chart
        """
        return chart(self, y, x)
