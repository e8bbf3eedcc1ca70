#!/usr/bin/env python3
"""Steps per second of `whimbrel.gym`: one flow, steps of 10 ms, Indigo's state and actions.

Needs the Python package: `make bench-python`.
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
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        env.step(random.integers(0, 5, number))
        steps += number
    return steps / (time.perf_counter() - begin)


for rate in (12, 100):
    paths = gym.RandomPath(rate=(rate, rate * 1.001), rtt=(40, 40.1), lossy=0)
    for number in (1, 64, 256):
        speed = measure(number, paths)
        print(f"{rate:4} Mbit/s, {number:4} environments: {speed:9,.0f} steps a second")
