"""What ``whimbrel sim --engine ray`` starts.

Reads a job as a line of JSON from stdin, and prints events as lines of JSON, at least one each
second. Stops when stdin closes: the command has ended, or wants this process to end.
"""

import _thread
import json
import os
import pathlib
import sys
import threading
import time

#: Time to end the cluster after stdin has closed, seconds.
END = 15


def main():
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_until_closed, daemon=True).start()
    try:
        # Importing Ray takes long on a busy machine.
        say("alive")
        play(job)
        say("end")
    except KeyboardInterrupt:
        pass
    except ImportError as error:
        say({"missing": "ray" if "ray" in str(error) else str(error)})
    except Exception as error:
        say({"error": str(error) or type(error).__name__})
    finally:
        _shut_down()


def play(job):
    """Plays the parts of a job that are not there."""
    from . import Scenario, _whimbrel
    from . import ray as on_ray

    if job["source"] != _whimbrel.SOURCE:
        say("other_source")
        return
    scenario = Scenario.__new__(Scenario)
    scenario.__setstate__((job["text"], job["path"], job["settings"]))
    folder, size = pathlib.Path(job["folder"]), job["size"]
    kind = on_ray.WHOLE_RUNS
    if scenario._native.key(kind, size) != job["key"]:
        raise RuntimeError("a trace of the scenario has changed; try again")
    firsts = range(0, len(scenario), size)
    missing = [
        number
        for number, first in enumerate(firsts)
        if not on_ray._file(folder, kind, first).exists()
    ]
    before = len(scenario) - sum(min(size, len(scenario) - firsts[n]) for n in missing)

    def done(count):
        nonlocal before
        say({"done": count - before})
        before = count

    on_ray.start(job["address"], job["workers"], lambda: say("alive"))
    on_ray.play(
        scenario, folder, kind, job["key"], size, missing, done, lambda: say("alive")
    )


def say(event):
    """Prints an event."""
    try:
        print(json.dumps(event), flush=True)
    except OSError:
        # The command has ended; so will this process.
        _thread.interrupt_main()


def _until_closed():
    while sys.stdin.buffer.read(1 << 12):
        pass
    _thread.interrupt_main()
    time.sleep(END)
    os._exit(1)


def _shut_down():
    ray = sys.modules.get("ray")
    if ray and ray.is_initialized():
        ray.shutdown()
