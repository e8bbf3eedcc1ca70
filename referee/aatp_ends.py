"""The near end of one run of aatp.py: starts commands at their times, stops them at their times,
and waits for all. It runs in the near namespace of `whimbrel link`.

The argument is a file with JSON: a list of {argv, start, stop, out, errors}. Times are seconds from
now; `stop` may be null, and is otherwise the time of a SIGINT. Exits with 1 if a command that was
not stopped failed."""

import json
import signal
import subprocess
import sys
import time

# A stopped command has this time to end.
PATIENCE = 10


def main():
    with open(sys.argv[1]) as file:
        orders = json.load(file)
    began = time.monotonic()
    waiting = sorted(orders, key=lambda order: order["start"])
    running, failed = [], []
    while waiting or running:
        now = time.monotonic() - began
        while waiting and waiting[0]["start"] <= now:
            order = waiting.pop(0)
            out, errors = open(order["out"], "w"), open(order["errors"], "w")
            process = subprocess.Popen(order["argv"], stdout=out, stderr=errors)
            running.append([process, order, False])
        for entry in list(running):
            process, order, stopped = entry
            if process.poll() is not None:
                running.remove(entry)
                if process.returncode and not stopped:
                    failed.append(order["argv"])
            elif order["stop"] is not None and now >= order["stop"]:
                if not stopped:
                    process.send_signal(signal.SIGINT)
                    entry[2] = True
                elif now >= order["stop"] + PATIENCE:
                    process.kill()
        time.sleep(0.01)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
