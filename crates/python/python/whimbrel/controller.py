"""Algorithms written in Python.

A subclass of ``Controller`` decides the window of a flow. It is slow, because each acknowledgment
calls Python: good for trying an idea. docs/python.md shows how to go on in Rust.
"""

import inspect
import re

from . import _whimbrel
from ._errors import WhimbrelError
from ._whimbrel import Ack, Loss, Setup, Timeout

__all__ = ["Ack", "Controller", "Loss", "Setup", "Timeout", "register"]


class Controller:
    """The congestion control of one flow. Events change ``cwnd`` and ``pacing_rate``.

    Units: bytes, seconds, bit/s. Numeric class attributes named in ``parameters`` are parameters
    that the user may set as in ``"own?gain=2"``.

    Attributes:
        cwnd: congestion window, bytes; what is below one segment counts as one.
        pacing_rate: bit/s, or None for no pacing.
        mss: payload of a full segment, bytes.
    """

    #: The name of the algorithm; None for the name of the class, as in `my-own` for `MyOwn`.
    name = None
    #: Names of parameters with their defaults: a dict of str to float.
    parameters = {}

    def __init__(self, setup, **parameters):
        self.mss = setup.mss
        self.cwnd = setup.initial_window
        self.pacing_rate = None
        for name, value in parameters.items():
            setattr(self, name, value)

    def on_ack(self, ack):
        """Data was acknowledged (`Ack`)."""
        raise NotImplementedError("write on_ack(self, ack)")

    def on_loss(self, loss):
        """An episode of loss began (`Loss`). Return "random" or "congestion" if the algorithm
        judges losses, else None. By default the window is halved."""
        self.cwnd = max(self.cwnd / 2, 2 * self.mss)

    def on_timeout(self, timeout):
        """The retransmission timer fired (`Timeout`). By default one segment is left."""
        self.cwnd = self.mss


def register(cls):
    """Puts a subclass of `Controller` into the table; may be used as a decorator. Scenarios then
    find it by its name. `compare` and the like do this for classes that they are given.

    Raises:
        WhimbrelError: if the name is one of Whimbrel's own.
    """
    if not (inspect.isclass(cls) and issubclass(cls, Controller)):
        raise TypeError(f"{cls!r} is not a subclass of whimbrel.Controller")
    name = controller_name(cls)
    cls._parameter_names = list(cls.parameters)
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        source = f"class {cls.__name__}: ...\n"
    summary = (inspect.getdoc(cls) or cls.__name__).splitlines()[0]
    values = [(key, float(value)) for key, value in cls.parameters.items()]
    try:
        _whimbrel.register(cls, name, summary, values, source)
    except ValueError as error:
        raise WhimbrelError(str(error), key="name") from None
    return cls


def controller_name(cls):
    """The name of a subclass's algorithm."""
    return cls.name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()
