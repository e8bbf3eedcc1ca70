"""Environments."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env

from whimbrel import gym


def test_one_flow_passes_gymnasiums_own_check():
    check_env(gym.FlowEnv(), skip_render_check=True)


def test_an_episode_repeats_by_its_seed_and_ends():
    def play():
        env = gym.FlowEnv(paths=gym.RandomPath(seconds=2), actions=gym.Factor())
        env.reset(seed=5)
        rewards, over = [], False
        while not over:
            _, reward, over, _, info = env.step([0.1])
            rewards.append(reward)
        return rewards, info

    (rewards, info), again = play(), play()
    assert rewards == again[0] and len(rewards) == 200
    assert info["cwnd_packets"] > 10


def test_the_window_of_the_oracle_fills_the_path():
    paths = gym.RandomPath(rate=(20, 20.001), rtt=(40, 40.001), lossy=0, seconds=4)
    env = gym.FlowEnv(paths=paths)
    _, known = env.reset(seed=1)
    # 20 Mbit/s x 40 ms in packets of 1500 bytes.
    assert known["bdp_packets"] == pytest.approx(66.7, abs=0.1)
    acked = []
    for _ in range(400):
        cwnd = env._play.seen[0][gym.FIELDS.index("cwnd_packets")]
        info = env.step(3 if cwnd < 70 else 2)[4]
        acked.append(info["acked_bytes"])
    assert sum(acked[200:]) * 8e-6 / 2 == pytest.approx(20 * 1448 / 1500, rel=0.03)
    assert info["rtt_ms"] < 60


def test_many_flows_are_independent_of_their_number():
    def first(number):
        env = gym.FlowVectorEnv(number, paths=gym.RandomPath(seconds=1))
        env.reset(seed=3)
        for _ in range(50):
            env.step(np.full(number, 3))
        return env.seen[0].copy()

    # The first episode of both is drawn first.
    assert (first(1) == first(8)).all()


def test_a_vector_begins_ended_episodes_anew():
    env = gym.FlowVectorEnv(3, paths=gym.RandomPath(rtt=(10, 11), seconds=0.5))
    env.reset(seed=1)
    overs = [env.step(np.full(3, 2))[2].all() for _ in range(102)]
    assert [i for i, over in enumerate(overs) if over] == [49, 99]


def test_the_step_that_begins_an_episode_has_no_reward():
    env = gym.FlowVectorEnv(2, paths=gym.RandomPath(rtt=(10, 11), seconds=0.5))
    env.reset(seed=1)
    rewards = [env.step(np.full(2, 3))[1] for _ in range(60)]
    # The 50th step ends both episodes, and the next one begins others.
    assert (rewards[50] == 0).all()
    assert (rewards[49] != 0).all() and (rewards[59] != 0).all()


def test_several_learners_share_a_path():
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import parallel_api_test

    parallel_api_test(gym.parallel_env(3, paths=gym.RandomPath(seconds=1)), num_cycles=50)


def test_episodes_from_the_matrix(pytestconfig):
    folder = pytestconfig.rootpath.parents[1] / "experiments" / "matrix"
    env = gym.FlowEnv(paths=gym.Matrix(folder, classes="A"))
    for seed in range(3):
        observation, known = env.reset(seed=seed)
        assert known["path"].endswith(".toml") and observation.shape == (9,)
        env.step(3)
