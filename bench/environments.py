#!/usr/bin/env python3
"""Steps per second of `whimbrel.gym`: one flow, steps of 10 ms, Indigo's state and actions.

Needs the Python package: `make bench-python`. Prints steps per second of the wall clock, and per
second of processor time, summed over all cores, which other programs disturb less.
"""

import time

import numpy as np
from whimbrel import gym

#: Measured for about this long, seconds.
SECONDS = 5


def measure(number, paths):
    env = gym.FlowVectorEnv(number, paths=paths)
    env.reset(seed=1)
    random = np.random.default_rng(1)
    steps, begin, before = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < SECONDS:
        env.step(random.integers(0, 5, number))
        steps += number
    return steps / (time.perf_counter() - begin), steps / (time.process_time() - before)


for rate in (12, 100):
    paths = gym.RandomPath(rate=(rate, rate * 1.001), rtt=(40, 40.1), lossy=0)
    for number in (1, 64, 256):
        speed, efficiency = measure(number, paths)
        print(
            f"{rate:4} Mbit/s, {number:4} environments: {speed:9,.0f} steps a second, "
            f"{efficiency:9,.0f} a processor second", flush=True
        )
