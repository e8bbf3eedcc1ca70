#!/usr/bin/env python3
"""Draws scenario points at random from stated ranges, for `whimbrel rank --points DIR`.

    referee/draw_points.py DIR [SEED]

The points that an algorithm was developed on say little about the others. This draws points that
nobody has chosen: the same seed gives the same files. Ranges, all uniform in the logarithm unless
marked (=):

    rate           5 to 500 Mbit/s (A, E: up to 1 Gbit/s; F: 20 to 100)
    base RTT       10 to 600 ms (D: 10 to 200, G: 10 to 300)
    random loss    0.05 to 5 %
    buffer         0.1 to 8 BDP (D beside others: 0.25 to 4)
    other flows    1 to 10 of cubic, newreno or bbr (=)
    own flows      2 to 20, of at least 1 Mbit/s each, starting within 10 s (=)
    outages        2 to 4 of 0.3 to 6 s
    hand-overs     every 5 to 30 s to an RTT of 20 to 600 ms, or to 0.2 to 5 times the rate
    transfers      50 kB to 20 MB
"""
import math
import os
import random
import sys

COUNTS = {"A": 8, "B": 5, "C": 8, "D": 14, "E": 3, "F": 5, "G": 6}


class Draw:
    """Random numbers, and the points that they make."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)

    def log(self, low, high):
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def whole(self, low, high):
        return round(self.log(low, high))

    def write(self, name, point, links, flows, run):
        """One file: tables of strings that are TOML already."""
        lines = ["[point]"] + [f"{k} = {v}" for k, v in point.items()]
        for link, keys in links.items():
            lines += ["", f"[link.{link}]"] + [f"{k} = {v}" for k, v in keys.items()]
        for flow in flows:
            lines += ["", "[[flow]]"] + [f"{k} = {v}" for k, v in flow.items()]
        lines += ["", "[run]"] + [f"{k} = {v}" for k, v in run.items()]
        with open(os.path.join(self.folder, f"{name}.toml"), "w") as file:
            file.write("\n".join(lines) + "\n")

    def duration(self, rtt, least=40):
        """Long enough for 200 round trips."""
        return max(least, round(0.2 * rtt))


def text(value):
    return f'"{value}"'


def percent(fraction):
    return text(f"{100 * fraction:.3g} %")


def flow(name="t", **keys):
    return {"name": text(name), "route": '["L"]', **keys}


def link(rate, rtt, buffer, **keys):
    return {
        "rate": text(f"{rate} Mbit/s"),
        "delay": text(f"{rtt / 2:g} ms"),
        "queue": text(f"{buffer:.2g} bdp"),
        **keys,
    }


def fill(cls, claim, rtt, goal, queue, **more):
    return {
        "class": text(cls),
        "claim": text(claim),
        "flows": '["t"]',
        "score": text("fill"),
        "rtt": text(f"{rtt} ms"),
        "goal": f"{goal:.4g}",
        "queue": queue,
        **more,
    }


def run(seconds, **more):
    return {"duration": text(f"{seconds} s"), **more}


def random_loss(d, name):
    rate, rtt = d.whole(5, 1000), d.whole(10, 600)
    loss, buffer = d.log(0.0005, 0.05), d.log(0.1, 8)
    if d.random.random() < 0.3:
        # The same loss in bursts of ten packets.
        enter = loss / (10 * (1 - loss))
        kind = f'{{ gilbert-elliott = {{ p = {percent(enter)}, r = "10 %" }} }}'
    else:
        kind = percent(loss)
    claim = f"{100 * loss:.2g} % loss at {rate} Mbit/s and {rtt} ms, buffer {buffer:.2g} bdp."
    point = fill("A", claim, rtt, 0.95 if rtt <= 300 else 0.92, 0.25, lost=percent(loss))
    seconds = d.duration(rtt, 20 if rate > 200 else 40)
    d.write(name, point, {"L": link(rate, rtt, buffer, loss=kind)}, [flow()], run(seconds))


def fades(d, name):
    rate, rtt, count = d.whole(5, 200), d.whole(10, 600), d.random.randint(2, 4)
    seconds = d.duration(rtt, 60)
    span = seconds / (count + 1)
    begins = [span * (i + 0.5) + d.random.uniform(0, 0.2 * span) for i in range(count)]
    lasts = [d.log(0.3, 6) for _ in begins]
    outages = ", ".join(f'["{b:.2f} s", "{b + l:.2f} s"]' for b, l in zip(begins, lasts))
    # The path's mean capacity includes the outages. A fade may cost one second more.
    up = seconds - sum(lasts)
    claim = f"{count} fades of {min(lasts):.1f} to {max(lasts):.1f} s at {rate} Mbit/s and {rtt} ms."
    point = fill("B", claim, rtt, 0.95 * (1 - count / up), 1)
    loss = f"{{ outages = [{outages}] }}"
    d.write(name, point, {"L": link(rate, rtt, 1, loss=loss)}, [flow()], run(seconds))


def changes(d, name):
    rate, rtt, seconds = d.whole(5, 200), d.whole(20, 600), 90
    rates, rtts, at = [("0", rate)], [("0", rtt)], 0
    which = d.random.choice(["rtt", "rate", "both"])
    while True:
        at += d.log(5, 30)
        if at > seconds - 5:
            break
        if which != "rate":
            rtts.append((f"{at:.1f}", d.whole(20, 600)))
        if which != "rtt":
            new = min(200, max(2, round(rates[-1][1] * d.log(0.2, 5))))
            rates.append((f"{at:.1f}", new))
    steps = lambda all, unit: "[" + ", ".join(f'["{t} s", "{v:g} {unit}"]' for t, v in all) + "]"
    longest, fastest = max(v for _, v in rtts), max(v for _, v in rates)
    queue = max(50, round(fastest * 1e6 / 12000 * longest / 1e3 * d.log(0.2, 1.5)))
    keys = {
        "rate": steps(rates, "Mbit/s"),
        "delay": steps([(t, v / 2) for t, v in rtts], "ms"),
        "queue": text(f"{queue} packets"),
    }
    claim = f"{len(rtts) - 1} new RTTs and {len(rates) - 1} new rates in {seconds} s."
    point = fill("C", claim, longest, 0.95, 0.5, overflow='"1 %"')
    d.write(name, point, {"L": keys}, [flow()], run(seconds))


def beside(d, name):
    rtt, buffer = d.whole(10, 200), d.log(0.25, 4)
    own, others = d.random.randint(1, 3), d.random.randint(1, 10)
    rate = d.whole(max(5, 2 * (own + others)), 300)
    kind = d.random.choice(["cubic", "cubic", "newreno", "bbr"])
    claim = f"{own} beside {others} {kind} at {rate} Mbit/s and {rtt} ms, buffer {buffer:.2g} bdp."
    point = {
        "class": text("D"),
        "claim": text(claim),
        "flows": '["t"]',
        "score": text("share"),
        "rtt": text(f"{rtt} ms"),
    }
    start = '"0 s .. 2 s"'
    flows = [
        flow(count=own, start=start),
        flow("other", controller=text(kind), count=others, start=start),
    ]
    d.write(name, point, {"L": link(rate, rtt, buffer)}, flows, run(d.duration(rtt, 60)))


def own_kind(d, name):
    count, buffer = d.random.randint(2, 20), d.log(0.25, 8)
    rate = d.whole(max(5, count), 300)
    unequal, lossy = d.random.random() < 0.4, d.random.random() < 0.3
    rtt = d.whole(20, 200)
    loss = {"loss": percent(d.log(0.0005, 0.02))} if lossy else {}
    start = f'"0 s .. {d.whole(2, 10)} s"'
    point = {
        "class": text("D"),
        "score": text("own"),
        "rtt": text(f"{rtt} ms"),
        "goal": 0.95,
        "queue": 0.5,
    }
    if lossy:
        point["lost"] = loss["loss"]
    what = f"at {rate} Mbit/s, buffer {buffer:.2g} bdp{', random loss' if lossy else ''}."
    if unequal:
        count = min(count, 6)
        rtts = sorted(d.whole(20, 200) for _ in range(count))
        bytes_ = max(15000, round(rate * 1e6 / 8 * rtt / 1e3 * buffer))
        links = {"L": {"rate": text(f"{rate} Mbit/s"), "delay": '"0 ms"',
                       "queue": text(f"{bytes_} B"), **loss}}
        flows = []
        for i, r in enumerate(rtts):
            links[f"a{i}"] = {"delay": text(f"{r / 2:g} ms")}
            flows.append({"name": text(f"t{i}"), "route": f'["a{i}", "L"]', "start": start})
        names = ", ".join(text(f"t{i}") for i in range(count))
        claim = f"{count} flows with RTTs of {rtts[0]} to {rtts[-1]} ms {what}"
    else:
        links = {"L": link(rate, rtt, buffer, **loss)}
        flows, names = [flow(count=count, start=start)], '"t"'
        claim = f"{count} flows of {rtt} ms {what}"
    point = {**point, "claim": text(claim), "flows": f"[{names}]"}
    d.write(name, point, links, flows, run(90, sample='"100 ms"'))


def sharing(d, name):
    (beside if d.random.random() < 0.5 else own_kind)(d, name)


def corruption(d, name):
    rate, rtt, loss = d.whole(5, 1000), d.whole(10, 600), d.log(0.0005, 0.05)
    claim = f"{100 * loss:.2g} % corrupted at {rate} Mbit/s and {rtt} ms, reported by NACKs."
    point = fill("E", claim, rtt, 0.95, 0.25, lost=percent(loss))
    keys = link(rate, rtt, 1, loss=f"{{ corrupt = {percent(loss)} }}")
    seconds = d.duration(rtt, 20 if rate > 200 else 40)
    d.write(name, point, {"L": keys}, [flow()], run(seconds, nack='"on"'))


def noise(d, name):
    rtt = d.whole(10, 100)
    if d.random.random() < 0.5:
        rate = d.random.choice([65, 150, 300])
        lost = round(100 * d.log(0.005, 0.1), 1)
        wifi = f'{{ rate = "{rate} Mbit/s", frame_loss = "{lost} %" }}'
        links = {
            "W": {"wifi": wifi, "delay": '"2 ms"', "queue": '"300 packets"'},
            "B": {"delay": text(f"{rtt / 2:g} ms")},
        }
        point = fill("F", f"Wi-Fi at {rate} Mbit/s, {lost} % of frames lost.", rtt, 0.8, 0.5)
        d.write(name, point, links, [flow(route='["W", "B"]')], run(40))
        return
    rate, every, wait = d.whole(20, 100), d.random.choice([4, 16, 32]), d.whole(5, 25)
    loss = d.log(0.0005, 0.01)
    claim = f"An ACK for {every} packets or {wait} ms at {rate} Mbit/s and {rtt} ms."
    point = fill("F", claim, rtt, 0.9, 0.5, lost=percent(loss))
    keys = run(40, ack_every=every, ack_delay=text(f"{wait} ms"))
    d.write(name, point, {"L": link(rate, rtt, 1, loss=percent(loss))}, [flow()], keys)


def short(d, name):
    rate, rtt, size = d.whole(5, 500), d.whole(10, 300), d.whole(50, 20000)
    point = {
        "class": text("G"),
        "claim": text(f"{size} kB at {rate} Mbit/s and {rtt} ms."),
        "flows": '["t"]',
        "score": text("completion"),
        "rtt": text(f"{rtt} ms"),
        "goal": 1.05,
    }
    flows = [flow(size=text(f"{size} kB"))]
    if d.random.random() < 0.4:
        point["goal"] = 1.3
        flows[0]["start"] = '"10 s .. 12 s"'
        flows.append(flow("other", controller=text("cubic")))
    d.write(name, point, {"L": link(rate, rtt, d.log(0.5, 2))}, flows, run(90))


MAKERS = {
    "A": random_loss,
    "B": fades,
    "C": changes,
    "D": sharing,
    "E": corruption,
    "F": noise,
    "G": short,
}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 19
    os.makedirs(folder, exist_ok=True)
    draw = Draw(folder, seed)
    for cls, count in COUNTS.items():
        for i in range(1, count + 1):
            MAKERS[cls](draw, f"{cls.lower()}{i:02}")
    print(f"{sum(COUNTS.values())} points with seed {seed} in {folder}")


if __name__ == "__main__":
    main()
