"""Times scipy on the tasks of bench_test.go. Least of several repeats, in seconds.

From the root of the repository: python -m venv v && v/bin/pip install scipy && v/bin/python stats/testdata/peers.py
"""

import csv
import time

import numpy as np
import scipy
from scipy import stats


def least(f, repeats):
    best = float("inf")
    for _ in range(repeats):
        t = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - t)
    return best


def mean_difference(x, y, axis):
    return np.mean(x - y, axis=axis)


rng = np.random.default_rng(20)
d = rng.integers(-15, 16, 20).astype(float)
x, y = rng.integers(0, 102, 20).astype(float), rng.integers(0, 102, 20).astype(float)
sets = [rng.integers(0, 10 + 3 * i, 20).astype(float) for i in range(26)]


def pairs():
    for i in range(26):
        for j in range(i):
            stats.wilcoxon(sets[i] - sets[j])


tasks = [
    ("signed rank, n = 20 with ties, default (normal)", lambda: stats.wilcoxon(d), 200),
    ("signed rank, n = 20 with ties, 9999 random sign flips", lambda: stats.wilcoxon(d, method=stats.PermutationMethod(n_resamples=9999, rng=rng)), 3),
    ("325 pairs of 26 x 20, default (normal)", pairs, 5),
    ("BCa of a mean, n = 20, 9999 resamples", lambda: stats.bootstrap((x,), np.mean, n_resamples=9999, rng=rng), 10),
    ("sign-flip test of a mean difference, n = 20, 9999 resamples", lambda: stats.permutation_test((x, y), mean_difference, permutation_type="samples", vectorized=True, n_resamples=9999, rng=rng), 10),
    ("Kaplan-Meier, n = 40", lambda: stats.ecdf(stats.CensoredData(uncensored=x, right=y)).sf.confidence_interval(), 50),
    ("studentized range tail, k = 26", lambda: stats.studentized_range.sf(5.3, 26, np.inf), 10),
]
print("scipy", scipy.__version__, "numpy", np.__version__)
for name, f, repeats in tasks:
    print(f"{least(f, repeats):.2e}  {name}")

# What scipy's default finds in the 325 pairs of the manual's example.
turns = {}
with open("cmd/stint/testdata/manual/paper.csv") as f:
    for row in csv.DictReader(f):
        if "detailed" in row["config"]:
            turns.setdefault(row["config"], {})[row["scenario"]] = int(row["turns_passed"])
names = sorted(turns)
p = []
for i, a in enumerate(names):
    for b in names[:i]:
        d = np.array([turns[a][s] - turns[b][s] for s in sorted(turns[a])])
        p.append(stats.wilcoxon(d).pvalue if d.any() else 1.0)
adjusted = np.maximum.accumulate(np.minimum(1, np.sort(p) * np.arange(len(p), 0, -1)))
print(f"paper.csv: {int((adjusted <= 0.05).sum())} of {len(p)} pairs significant after Holm: scipy, its default")
