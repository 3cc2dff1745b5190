"""
Numbers, with intervals
=======================

A regressor with the squared error, two quantiles, and intervals from held-out rows.
"""

# %%
# The noise grows from left to right, and one target in twenty is far off.
import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostRegressor

rng = np.random.default_rng(0)
x = rng.uniform(0.0, 10.0, 600)
y = np.sin(x) + 0.1 * x + rng.normal(scale=0.05 + 0.04 * x)
y[::20] += 4.0
grid = np.linspace(0.0, 10.0, 300)[:, None]

# %%
# The mean follows the targets that are far off; the median does not.
mean = FCGBoostRegressor(random_state=0).fit(x[:, None], y)
median = FCGBoostRegressor(loss="absolute_error", random_state=0).fit(x[:, None], y)
low, high = (
    FCGBoostRegressor(loss="quantile", quantile=level, random_state=0).fit(x[:, None], y)
    for level in (0.05, 0.9)
)
ends = mean.predict_interval(grid, alpha=0.1)

# %%
# Intervals around the mean are about as wide everywhere; quantiles follow the noise.
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9.0, 3.6), layout="constrained")
for ax in axes:
    ax.scatter(x, y, s=4, color="0.7")
    ax.set(xlabel="x", ylim=(-2.0, 9.5))
axes[0].plot(grid, mean.predict(grid), label="mean")
axes[0].fill_between(grid[:, 0], *ends.T, alpha=0.2, label="90 % interval")
axes[1].plot(grid, median.predict(grid), label="median")
axes[1].fill_between(
    grid[:, 0], low.predict(grid), high.predict(grid), alpha=0.2, label="quantiles 0.05 to 0.9"
)
for ax in axes:
    ax.legend(loc="upper left", frameon=False)

# The mean is above the median where targets are far off.
print(f"mean {mean.predict(grid).mean():.2f}, median {median.predict(grid).mean():.2f}")
assert mean.predict(grid).mean() > median.predict(grid).mean() + 0.05
