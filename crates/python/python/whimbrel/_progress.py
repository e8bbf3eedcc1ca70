"""Progress bars: tqdm's, in a notebook or a terminal, if it is installed."""

import sys
import time

#: Shorter work shows no bar, seconds.
PATIENCE = 1.0


class Bar:
    """Called with name, done and total; a context manager that removes the bar."""

    def __init__(self, show=None):
        self._begin = time.monotonic()
        self._name = None
        self._bar = None
        self._tqdm = _tqdm(show)

    def __enter__(self):
        return self if self._tqdm else None

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    def __call__(self, name, done, total):
        if self._bar is None or name != self._name:
            if time.monotonic() - self._begin < PATIENCE:
                return
            if self._bar is not None:
                self._bar.close()
            pieces = name == "runs" and total == int(total)
            form = None if pieces else "{l_bar}{bar}| {elapsed}<{remaining}"
            self._bar = self._tqdm(total=total, desc=name, leave=False, bar_format=form)
            self._name = name
        self._bar.update(done - self._bar.n)


def _tqdm(show):
    """tqdm's class; None if no bar is to be shown. By default a notebook or a terminal has one."""
    if show is False or (show is None and not (_notebook() or sys.stderr.isatty())):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def _notebook():
    shell = sys.modules.get("IPython")
    shell = shell and shell.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
