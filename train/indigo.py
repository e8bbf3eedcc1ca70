"""Trains Indigo's network by DAgger and writes its weights.

    python train/indigo.py --out crates/cc/data/indigo --curves train/indigo-curves.csv --stop 45

F. Y. Yan et al., "Pantheon: the training ground for Internet congestion-control research", USENIX
ATC 2018, section 5. The learner plays; at each of its states an expert, who knows the path, says
which of the five actions brings the window nearest to the one that the path needs; the network
learns the expert's answers at the learner's own states, of all rounds so far. In the first round
the expert plays (S. Ross, G. Gordon, D. Bagnell, "A Reduction of Imitation Learning and Structured
Prediction to No-Regret Online Learning", AISTATS 2011).

Needs the package whimbrel (docs/python.md) with gymnasium, and PyTorch; train/requirements.txt
pins them. It uses one processor. The same seed and the same versions give the same weights.

Prints a line for each round. Accuracy, utilization and delay are those of the learner's own play on
paths that it has not seen, before it learns from them.
"""

import argparse
import os
import pathlib
import time

# One thread: sums in another order would give other weights.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import torch
from torch import nn
from whimbrel.gym import FIELDS, FlowVectorEnv, IndigoActions, LogState

INPUTS, UNITS, ACTIONS = 9, 32, 5
HOLD = IndigoActions.idle
AT = {name: place for place, name in enumerate(FIELDS)}
STEP = 0.01
#: The expert's window is a little above the bandwidth-delay product: acknowledgments come for two
#: packets at a time, and a window without any queue looks the same to the learner as a smaller one.
MARGIN, MORE = 1.05, 3


class Paths:
    """One bottleneck: rate (Mbit/s) and RTT (ms) are drawn log-uniformly, the buffer (in BDP)
    log-uniformly; a third has random loss, and on a third the rate changes in the course."""

    def __init__(self, seconds, rate=(1, 200), rtt=(10, 400), queue=(0.3, 8), loss=(0, 0.05)):
        self.seconds, self.rate, self.rtt = seconds, rate, rtt
        self.queue, self.loss = queue, loss

    def draw(self, random, flows):
        def log(span):
            return float(np.exp(random.uniform(*np.log(span))))

        rtt, rates = log(self.rtt), [(0.0, log(self.rate))]
        if random.uniform() < 1 / 3:
            other = np.clip(rates[0][1] * log((0.2, 5)), *self.rate)
            rates.append((self.seconds * random.uniform(0.3, 0.7), float(other)))
        loss = random.uniform(*self.loss) if random.uniform() < 1 / 3 else 0.0
        packets = max(4, log(self.queue) * packets_of(rates[0][1], rtt))
        steps = ", ".join(f'["{at:.3f} s", "{rate:.4f} Mbit/s"]' for at, rate in rates)
        text = (
            f'[link.L]\nrate = [{steps}]\ndelay = "{rtt / 2:.4f} ms"\n'
            f'queue = "{packets:.0f} packets"\nloss = "{loss * 100:.4f} %"\n'
            f'[[flow]]\nname = "learner"\nroute = ["L"]\n[run]\nduration = "{self.seconds} s"\n'
        )
        return text, ["learner"], {"rates": rates, "rtt": rtt}


def packets_of(rate, rtt):
    """The bandwidth-delay product in packets of 1500 bytes."""
    return rate * rtt * 1e3 / 12_000


class Policy(nn.Module):
    """The network, whose inputs are standardized; `exported` has that in its weights."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(INPUTS, UNITS), nn.Linear(UNITS, ACTIONS)
        self.mean, self.scale = torch.zeros(INPUTS), torch.ones(INPUTS)
        with torch.no_grad():
            # The memory is open at first.
            self.lstm.bias_ih_l0[UNITS : 2 * UNITS] = 1

    def standardize(self, inputs):
        """Takes the scales of the inputs that are numbers from the first round."""
        self.mean[:4] = inputs[:, :4].mean(0)
        self.scale[:4] = inputs[:, :4].std(0)

    def forward(self, x, memory=None):
        h, memory = self.lstm((x - self.mean) / self.scale, memory)
        return self.head(h), memory

    def exported(self):
        """Wx (inputs x gates), Wh (units x gates), b, Wy (units x actions), by; gates in PyTorch's
        order: input, forget, cell, output. 32 bits each."""
        wx = self.lstm.weight_ih_l0.T.double() / self.scale[:, None]
        b = self.lstm.bias_ih_l0.double() + self.lstm.bias_hh_l0 - self.mean.double() @ wx
        all = [wx, self.lstm.weight_hh_l0.T, b, self.head.weight.T, self.head.bias]
        return [one.detach().numpy().astype("<f4") for one in all]


def read(file):
    """The weights of a file, in the order of `Policy.exported`."""
    numbers = np.fromfile(file, "<f4")
    gates = 4 * UNITS
    shapes = [(INPUTS, gates), (UNITS, gates), (gates,), (UNITS, ACTIONS), (ACTIONS,)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(numbers, ends), shapes)]


def plain(weights):
    """PyTorch's own layers with exported weights."""
    wx, wh, b, wy, by = (torch.from_numpy(one.copy()) for one in weights)
    lstm, head = nn.LSTM(INPUTS, UNITS), nn.Linear(UNITS, ACTIONS)
    lstm.load_state_dict(
        {"weight_ih_l0": wx.T, "weight_hh_l0": wh.T, "bias_ih_l0": b, "bias_hh_l0": 0 * b}
    )
    head.load_state_dict({"weight": wy.T, "bias": by})
    return lstm, head


def expert(cwnd, best):
    """The action after which the window is nearest to the best one, in proportion; of equal ones
    the one that changes nothing."""
    actions = IndigoActions()
    after = np.stack([actions.window(cwnd, np.full(len(cwnd), a)) for a in range(ACTIONS)])
    error = np.abs(np.log(after / best))
    error[HOLD] -= 1e-9
    return error.argmin(0)


def best_windows(known, steps):
    """The expert's window of each path at each step: (steps, paths)."""
    best = np.empty((steps, len(known)))
    for column, path in enumerate(known):
        for at, rate in path["rates"]:
            best[int(at / STEP) :, column] = MARGIN * packets_of(rate, path["rtt"]) + MORE
    return best


def play(env, policy, steps, by_expert):
    """Plays an episode on each path. Like the algorithm, it acts only after acknowledgments, and
    halves its window at a timeout.

    Returns a list of (inputs, answers of the expert) with a row for each decision, and the
    learner's accuracy, utilization, and queueing delay in base RTTs."""
    env.reset()
    n, state = env.num_envs, LogState()
    best = best_windows(env.known, steps)
    last, memory = np.full(n, HOLD), (torch.zeros(1, n, UNITS), torch.zeros(1, n, UNITS))
    inputs, answers, acting = [], [], []
    right, acked, delay = 0, 0.0, 0.0
    for step in range(steps):
        seen = env.seen
        acts = seen[:, AT["acked_bytes"]] > 0
        x = state.observe(seen, last)
        answer = expert(seen[:, AT["cwnd_packets"]], best[step])
        with torch.no_grad():
            scores, after = policy(torch.from_numpy(x)[None], memory)
        keep = torch.from_numpy(acts)[None, :, None]
        memory = tuple(torch.where(keep, new, old) for new, old in zip(after, memory))
        own = scores[0].numpy().argmax(1)
        right += (own == answer)[acts].sum()
        last = np.where(acts, answer if by_expert else own, last)
        inputs.append(x)
        answers.append(answer)
        acting.append(acts)
        timeouts = seen[:, AT["timeouts"]] > 0
        env.step(np.where(acts, last, np.where(timeouts, 0, HOLD)))
        acked = acked + env.seen[:, AT["acked_bytes"]]
        delay = delay + env.seen[:, AT["delay_ewma_ms"]]
    inputs, answers, acting = np.stack(inputs), np.stack(answers), np.stack(acting)
    played = []
    for i in range(n):
        rows = acting[:, i]
        if rows.any():
            row = torch.from_numpy(inputs[rows, i]), torch.from_numpy(answers[rows, i])
            played.append(row)
    seconds = steps * STEP
    capacity = np.array([mean_rate(path["rates"], seconds) for path in env.known])
    used = acked * 8e-6 / seconds / capacity * 1500 / 1448
    rtts = np.array([path["rtt"] for path in env.known])
    return played, right / acting.sum(), used.mean(), (delay / steps / rtts).mean()


def mean_rate(rates, seconds):
    """The average of a rate that changes at given times."""
    ends = [at for at, _ in rates[1:]] + [seconds]
    return sum(rate * (end - at) for (at, rate), end in zip(rates, ends)) / seconds


def learn(policy, optimizer, rounds, random, batches, size):
    """Gradient steps on sequences of all rounds, half of them of the newest four. Returns the mean
    loss."""
    total = 0.0
    for _ in range(batches):
        newest = max(0, len(rounds) - 4)
        chosen = []
        for i in range(size):
            one = rounds[random.integers(newest if i % 2 else 0, len(rounds))]
            chosen.append(one[random.integers(len(one))])
        x = nn.utils.rnn.pad_sequence([inputs for inputs, _ in chosen])
        y = nn.utils.rnn.pad_sequence([answers for _, answers in chosen], padding_value=-1)
        scores, _ = policy(x)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / batches


def vectors(weights, inputs):
    """Inputs of a sequence and PyTorch's scores, a line for each step: for a test."""
    lstm, head = plain(weights)
    with torch.no_grad():
        scores = head(lstm(inputs[:, None])[0])[:, 0]
    rows = torch.cat([inputs, scores], 1).tolist()
    return "".join(" ".join(f"{value:.9g}" for value in row) + "\n" for row in rows)


def main():
    parser = argparse.ArgumentParser(description="Trains Indigo's network.")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder")
    parser.add_argument("--curves", type=pathlib.Path, required=True, help="a CSV file")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--stop", type=int, default=10**9, help="stop early, after so many rounds")
    parser.add_argument("--paths", type=int, default=48, help="paths of one round")
    parser.add_argument("--batches", type=int, default=40, help="gradient steps of one round")
    parser.add_argument("--seconds", type=float, default=8, help="of one path")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    random = np.random.default_rng(args.seed)
    policy, steps = Policy(), round(args.seconds / STEP)
    optimizer = torch.optim.Adam(policy.parameters())
    env = FlowVectorEnv(args.paths, paths=Paths(args.seconds + 1))
    env.reset(seed=args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    begun, rounds, vector = time.monotonic(), [], None
    lines = ["round,sequences,loss,accuracy,utilization,delay_rtts,seconds"]
    for number in range(min(args.rounds, args.stop)):
        played, accuracy, used, delay = play(env, policy, steps, by_expert=number == 0)
        rounds.append(played)
        if number == 0:
            policy.standardize(torch.cat([inputs for inputs, _ in played]))
        vector = max((inputs for inputs, _ in played), key=len)[:200]
        # Half a cosine, from 3e-3 to 3e-5.
        part = number / max(1, args.rounds - 1)
        for group in optimizer.param_groups:
            group["lr"] = 3e-5 + (3e-3 - 3e-5) * (1 + np.cos(np.pi * part)) / 2
        loss = learn(policy, optimizer, rounds, random, args.batches, 32)
        sequences = sum(len(one) for one in rounds)
        lines.append(
            f"{number},{sequences},{loss:.4f},{accuracy:.4f},{used:.4f},{delay:.4f},"
            f"{time.monotonic() - begun:.0f}"
        )
        print(lines[-1], flush=True)
        weights = policy.exported()
        (args.out / "weights.f32").write_bytes(b"".join(one.tobytes() for one in weights))
        (args.out / "vectors.txt").write_text(vectors(weights, vector))
        args.curves.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
