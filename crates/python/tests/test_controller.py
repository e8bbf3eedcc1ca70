"""Algorithms written in Python."""

import pytest
import whimbrel

PATH = {"rate": "10 Mbit/s", "rtt": "20 ms", "loss": "0 %", "duration": "5 s", "seeds": 1}


class Fixed(whimbrel.Controller):
    """A constant window."""

    parameters = {"segments": 17}

    def on_ack(self, ack):
        self.cwnd = self.segments * self.mss

    def on_loss(self, loss):
        return "random"


def test_an_algorithm_in_python_is_in_the_table():
    # 1 BDP of 10 Mbit/s x 20 ms is 17 packets: one full window a round trip.
    t = whimbrel.compare(**PATH, controllers=[Fixed, "cubic"])
    goodput = dict(zip(t["controller"].to_pylist(), t["goodput_bps"].to_pylist()))
    assert goodput["fixed"] > 0.85 * goodput["cubic"]
    half = whimbrel.compare(**PATH, controllers="fixed?segments=8")["goodput_bps"][0].as_py()
    assert 0.4 < half / goodput["fixed"] < 0.6
    assert "fixed" in whimbrel.controllers()["name"].to_pylist()


def test_a_class_may_be_changed_and_registered_again():
    class Own(whimbrel.Controller):
        def on_ack(self, ack):
            self.cwnd = 4 * self.mss

    slow = whimbrel.compare(**PATH, controllers=Own)["goodput_bps"][0].as_py()
    Own.on_ack = lambda self, ack: setattr(self, "cwnd", 8 * self.mss)
    fast = whimbrel.compare(**PATH, controllers=Own)["goodput_bps"][0].as_py()
    assert fast > 1.5 * slow


def test_an_exception_of_an_algorithm_reaches_the_caller():
    class Broken(whimbrel.Controller):
        def on_ack(self, ack):
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        whimbrel.compare(**PATH, controllers=Broken)
    # It stays in the table, and `advise` tries all algorithms there.
    Broken.on_ack = lambda self, ack: None
    # The next call is not affected.
    whimbrel.compare(**PATH, controllers="cubic")


def test_a_name_of_the_table_cannot_be_taken():
    class Cubic(whimbrel.Controller):
        pass

    with pytest.raises(whimbrel.WhimbrelError, match="own algorithms"):
        whimbrel.register(Cubic)
    with pytest.raises(TypeError):
        whimbrel.register(int)
