"""Environments in which congestion controllers learn, by Gymnasium's and PettingZoo's interfaces.

The simulator plays them, many at once on all cores. A step lasts ``step`` seconds (10 ms unless
set) of simulated time, in which the window is constant.

What an agent observes, does, and is rewarded for are classes of their own: `IndigoState`,
`IndigoActions`, `Power`. Write others with the same methods; they work on arrays, a row for each
agent, whose columns are ``FIELDS``. Indigo: F. Y. Yan et al., "Pantheon: the training ground for
Internet congestion-control research", USENIX ATC 2018, section 5.
"""

import numpy as np

try:
    import gymnasium
except ImportError:
    raise ImportError("whimbrel.gym needs gymnasium: pip install gymnasium") from None
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from ._whimbrel import NativeEpisodes

#: What an agent has seen in a step: names of the columns, each with its unit.
FIELDS = NativeEpisodes.fields()
_AT = {name: place for place, name in enumerate(FIELDS)}


class IndigoState:
    """Indigo's state: averages of queueing delay (in 200 ms), delivery and sending rate (in 200
    Mbit/s), the window (in 5000 packets), and the last action as one of five. Shape (9,)."""

    space = spaces.Box(-np.inf, np.inf, (9,), np.float32)

    def observe(self, seen, last):
        out = np.zeros((len(seen), 9), np.float32)
        out[:, 0] = seen[:, _AT["delay_ewma_ms"]] / 200
        out[:, 1] = seen[:, _AT["delivery_ewma_mbps"]] / 200
        out[:, 2] = seen[:, _AT["send_ewma_mbps"]] / 200
        out[:, 3] = seen[:, _AT["cwnd_packets"]] / 5000
        out[np.arange(len(seen)), 4 + last.astype(int)] = 1
        return out


class LogState(IndigoState):
    """Indigo's state with the logarithms of its four numbers, as the algorithm ``indigo`` of this
    project takes it: ln(1 + queueing delay in ms), ln(1 + rate in Mbit/s) of delivery and sending,
    ln(window in packets), and the last action as one of five. Shape (9,)."""

    def observe(self, seen, last):
        out = super().observe(seen, last)
        names = ["delay_ewma_ms", "delivery_ewma_mbps", "send_ewma_mbps"]
        out[:, :3] = np.log1p(seen[:, [_AT[name] for name in names]])
        out[:, 3] = np.log(np.maximum(seen[:, _AT["cwnd_packets"]], 1))
        return out


class IndigoActions:
    """Indigo's five changes of the window, packets: halve, -10, none, +10, double."""

    space = spaces.Discrete(5)
    #: The action that changes nothing.
    idle = 2

    def window(self, cwnd, action):
        ways = [cwnd / 2, cwnd - 10, cwnd, cwnd + 10, cwnd * 2]
        return np.clip(np.choose(np.asarray(action, int), ways), 2, 25_000)


class Factor:
    """A continuous action: the window times 2 to the power of the action, from -1 to 1. Shape (1,).
    """

    space = spaces.Box(-1, 1, (1,), np.float32)
    idle = 0.0

    def window(self, cwnd, action):
        exponent = np.clip(np.asarray(action, float).reshape(len(cwnd)), -1, 1)
        return np.clip(cwnd * 2**exponent, 2, 25_000)


class Power:
    """ln(throughput / 1 Mbit/s) - ln(RTT / minimum RTT) - `loss` times the fraction lost; a step
    without acknowledgments has -1."""

    def __init__(self, loss=10.0):
        self.loss = loss

    def reward(self, seen, seconds):
        acked, rtt = seen[:, _AT["acked_bytes"]], seen[:, _AT["rtt_ms"]]
        least = np.maximum(seen[:, _AT["min_rtt_ms"]], 1e-3)
        lost = seen[:, _AT["lost_bytes"]] / np.maximum(seen[:, _AT["sent_bytes"]], 1)
        rate = np.maximum(acked * 8e-6 / seconds, 1e-3)
        known = (acked > 0) & (rtt > 0)
        value = np.log(rate) - np.log(np.maximum(rtt, least) / least) - self.loss * lost
        return np.where(known, value, -1.0)


class RandomPath:
    """Episodes drawn at random: one bottleneck, whose rate (Mbit/s) and RTT (ms) are drawn
    log-uniformly, the buffer in BDP uniformly, and random loss, with probability `lossy`,
    uniformly."""

    def __init__(
        self, rate=(1, 200), rtt=(10, 200), queue=(0.5, 4), loss=(0, 0.03), lossy=0.3, seconds=20
    ):
        self.rate, self.rtt, self.queue, self.loss = rate, rtt, queue, loss
        self.lossy, self.seconds = lossy, seconds

    def draw(self, random, flows):
        """The text of a scenario, the names of the learning flows, and what an oracle knows."""
        rate, rtt = (np.exp(random.uniform(*np.log(span))) for span in (self.rate, self.rtt))
        queue = random.uniform(*self.queue)
        loss = random.uniform(*self.loss) if random.uniform() < self.lossy else 0.0
        text = (
            f'[link.L]\nrate = "{rate:.4f} Mbit/s"\ndelay = "{rtt / 2:.4f} ms"\n'
            f'queue = "{queue:.3f} bdp"\nloss = "{loss * 100:.4f} %"\n'
            f'[[flow]]\nname = "learner"\ncount = {flows}\nroute = ["L"]\n'
            f'[run]\nduration = "{self.seconds} s"\n'
        )
        known = {"rate_mbps": rate, "rtt_ms": rtt, "bdp_packets": rate * rtt * 1e3 / 12_000}
        return text, ["learner"], known


class Matrix:
    """Episodes from the matrix of ``whimbrel rank``: its points with as many tested flows as the
    environment has, drawn uniformly. `folder` is experiments/matrix, or one of your own."""

    def __init__(self, folder, classes=None):
        import pathlib
        import re

        self.points = {1: []}
        for file in sorted(pathlib.Path(folder).rglob("*.toml")):
            text = file.read_text(encoding="utf-8")
            letter = re.search(r'^class\s*=\s*"(\w)"', text, re.M)
            names = re.search(r"^flows\s*=\s*\[(.*?)\]", text, re.M)
            if not (letter and names) or (classes and letter[1] not in classes):
                continue
            names = re.findall(r'"([^"]+)"', names[1])
            if len(names) == 1 and not re.search(r"^(count|kind)\s*=", text, re.M):
                self.points[1].append((text, str(file), names))
        if not self.points[1]:
            raise ValueError(f"no points with one learning flow in {folder}")

    def draw(self, random, flows):
        points = self.points.get(flows)
        if not points:
            raise ValueError("the matrix has points with one learning flow")
        text, path, names = points[random.integers(len(points))]
        return text, names, {"path": path}


class _Play:
    """What the environments share."""

    def __init__(self, episodes, flows, paths, state, actions, reward, step):
        self.native = NativeEpisodes(episodes, flows, step)
        self.episodes, self.flows, self.seconds = episodes, flows, step
        self.paths = paths or RandomPath()
        self.state = state or IndigoState()
        self.actions = actions or IndigoActions()
        self.reward = reward or Power()
        self.random = np.random.default_rng()
        self.last = np.full(episodes * flows, self.actions.idle, float)
        self.seen = np.zeros((episodes * flows, len(FIELDS)))
        self.known = [{}] * episodes

    def begin(self, place):
        text, names, known = self.paths.draw(self.random, self.flows)
        path = known.get("path", "episode")
        # The simulator's seeds have 63 bits.
        seed = int(self.random.integers(1 << 62))
        self.native.begin(place, text, path, names, seed)
        own = slice(place * self.flows, (place + 1) * self.flows)
        self.last[own] = self.actions.idle
        self.seen[own] = 0
        self.seen[own, _AT["cwnd_packets"]] = 10
        self.known[place] = known

    def observe(self):
        return self.state.observe(self.seen, self.last)

    def step(self, action, quiet=()):
        window = self.actions.window(self.seen[:, _AT["cwnd_packets"]], action)
        self.last = np.array(action, float).reshape(len(self.seen))
        for place in quiet:
            window[place * self.flows : (place + 1) * self.flows] = -1
        seen, over = self.native.step(np.ascontiguousarray(window, float).tobytes())
        self.seen = np.frombuffer(seen).reshape(-1, len(FIELDS)).copy()
        return self.reward.reward(self.seen, self.seconds), np.array(over)


class FlowEnv(gymnasium.Env):
    """One flow that learns (`gymnasium.Env`).

    Args:
        paths: where episodes come from: `RandomPath` (default) or `Matrix`.
        state, actions, reward: `IndigoState`, `IndigoActions`, `Power`, or others.
        step: seconds of simulated time.

    Episodes end when their run does (``terminated``). ``info`` of `reset` is what an oracle knows:
    ``rate_mbps``, ``rtt_ms``, ``bdp_packets``; of `step` it is what was seen, by ``FIELDS``.
    """

    metadata = {"render_modes": []}

    def __init__(self, paths=None, state=None, actions=None, reward=None, step=0.01):
        self._play = _Play(1, 1, paths, state, actions, reward, step)
        self.observation_space = self._play.state.space
        self.action_space = self._play.actions.space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self._play.random = np.random.default_rng(seed)
        self._play.begin(0)
        return self._play.observe()[0], dict(self._play.known[0])

    def step(self, action):
        reward, over = self._play.step(np.atleast_1d(action))
        info = dict(zip(FIELDS, self._play.seen[0].tolist()))
        return self._play.observe()[0], float(reward[0]), bool(over[0]), False, info


class FlowVectorEnv(gymnasium.vector.VectorEnv):
    """Many independent flows that learn, stepped on all cores (`gymnasium.vector.VectorEnv`).

    An episode that is over begins anew at the next step, whose action is ignored and whose
    reward is 0: it plays the first step with the initial window (``AutoresetMode.NEXT_STEP``). Arguments as `FlowEnv`; observations have shape (num_envs, ...).
    """

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs, paths=None, state=None, actions=None, reward=None, step=0.01
    ):
        self._play = _Play(num_envs, 1, paths, state, actions, reward, step)
        self.num_envs = num_envs
        self.single_observation_space = self._play.state.space
        self.single_action_space = self._play.actions.space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, bool)

    @property
    def known(self):
        """What an oracle knows of each episode: a list of dicts."""
        return self._play.known

    @property
    def seen(self):
        """What each agent has seen in the last step: (num_envs, len(FIELDS)), 64-bit floats."""
        return self._play.seen

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._play.random = np.random.default_rng(seed)
        for place in range(self.num_envs):
            self._play.begin(place)
        self._over[:] = False
        return self._play.observe(), {}

    def step(self, actions):
        actions = np.array(actions)
        again = np.flatnonzero(self._over)
        for place in again:
            self._play.begin(place)
        actions[again] = self._play.actions.idle
        reward, over = self._play.step(actions, again)
        reward[again] = 0.0
        self._over = over
        return self._play.observe(), reward, over, np.zeros_like(over), {}


def parallel_env(flows=2, paths=None, state=None, actions=None, reward=None, step=0.01):
    """Several flows that learn on one bottleneck: a `pettingzoo.ParallelEnv`. Agents are named
    ``flow_0``, ``flow_1``, ...; arguments as `FlowEnv`. All agents end together."""
    try:
        from pettingzoo import ParallelEnv
    except ImportError:
        raise ImportError("parallel_env needs pettingzoo: pip install pettingzoo") from None

    class FlowsEnv(ParallelEnv):
        metadata = {"name": "whimbrel_flows"}

        def __init__(self):
            self._play = _Play(1, flows, paths, state, actions, reward, step)
            self.possible_agents = [f"flow_{i}" for i in range(flows)]
            self.agents = []

        def observation_space(self, agent):
            return self._play.state.space

        def action_space(self, agent):
            return self._play.actions.space

        def _each(self, values):
            return dict(zip(self.possible_agents, values))

        def reset(self, seed=None, options=None):
            if seed is not None:
                self._play.random = np.random.default_rng(seed)
            self._play.begin(0)
            self.agents = list(self.possible_agents)
            return self._each(self._play.observe()), self._each([{} for _ in self.agents])

        def step(self, actions):
            chosen = [actions[agent] for agent in self.possible_agents]
            rewards, over = self._play.step(np.array(chosen))
            if over[0]:
                self.agents = []
            over = bool(over[0])
            return (
                self._each(self._play.observe()),
                self._each(rewards.tolist()),
                self._each([over] * flows),
                self._each([False] * flows),
                self._each([{} for _ in range(flows)]),
            )

    return FlowsEnv()
