"""Draws the learning curves: python train/curves.py train/indigo-curves.csv docs/indigo.svg"""

import csv
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "indigo", "font.size": 9})
import matplotlib.pyplot as plt

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))[1:]
rounds = [int(row["round"]) for row in rows]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
curves = {
    "accuracy": "decisions that are the expert's",
    "utilization": "utilization",
    "delay_rtts": "queueing delay, base RTTs",
}
for place, (column, label) in zip(axes, curves.items()):
    place.plot(rounds, [float(row[column]) for row in rows], color="#1f5fa8", linewidth=1.2)
    place.set(xlabel="round", title=label, ylim=(0, None))
    place.grid(linewidth=0.3)
    place.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[2], metadata={"Date": None})
