"""A messy table to begin with: customers of an internet provider, and who leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from fcgboost.datasets.simulation import RandomState, check_samples, check_share

if TYPE_CHECKING:
    import pandas as pd

_TODAY = np.datetime64("2025-06-30")
_TOWNS = [
    "Ashford",
    "Bramley",
    "Carden",
    "Dunmore",
    "Eastwick",
    "Fairley",
    "Glenside",
    "Harwood",
    "Ilsham",
    "Kelby",
    "Larkhill",
    "Marlow",
    "Norbury",
    "Oakham",
    "Penrose",
    "Redhill",
]
_PLANS = ("basic", "plus", "family", "business")
_PRICES = np.array([19.0, 34.0, 49.0, 79.0])
_PAYMENTS = ("direct debit", "card", "invoice")
_COMPLAINTS = ("billing error", "slow connection", "outage", "price too high")
_ODD = ("unknown", "n/a?", "approx. {}", "{} approx", "see file")
_ODD_DATES = ("unknown", "n/a?", "last week", "see file")
_GAPS = {"last_contact": 0.05, "town": 0.02, "age": 0.06, "income": 0.1}
_FLIPPED = 0.03


def make_customers(
    n_samples: int = 2000, *, odd_cells: float = 0.03, random_state: RandomState = 0
) -> pd.DataFrame:
    """Make a messy table of customers, some of whom have churned.

    It has an id, dates, categories, numbers, gaps, and stray text among numbers and dates. Churn
    depends on the price for the income, on calls *together with* a complaint, on the time since
    the signup, on plan and payment together, on age and on the town. Three per cent of the labels
    are flipped.

    Parameters
    ----------
    n_samples : int, default=2000
    odd_cells : float, default=0.03
        The share of the filled cells of every column of numbers, and of `last_contact`, that hold
        a text such as "unknown" or "12 approx" instead. With 0 the numbers are numeric columns.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    DataFrame of shape (n_samples, 12)
        The target is the column `churned`, "yes" or "no".

    Examples
    --------
    >>> customers = make_customers(500, odd_cells=0.0)
    >>> customers.shape
    (500, 12)
    >>> sorted(customers["churned"].unique())
    ['no', 'yes']
    """
    import pandas as pd

    check_samples(n_samples)
    check_share("odd_cells", odd_cells)
    random = check_random_state(random_state)
    n = int(n_samples)
    tenure = np.minimum(random.exponential(700.0, n), 3650.0).astype(int)
    silence = np.minimum(random.exponential(120.0, n).astype(int), tenure)
    plan = random.choice(4, n, p=(0.4, 0.3, 0.2, 0.1))
    payment = random.choice(3, n, p=(0.5, 0.3, 0.2))
    town = np.minimum(random.geometric(0.09, n) - 1, len(_TOWNS) - 1)
    age = np.clip(random.normal(46.0, 15.0, n), 18.0, 90.0).round()
    income = np.exp(random.normal(10.4, 0.45, n) + 0.15 * (plan == 3)).round(-1)
    fee = (_PRICES[plan] * random.uniform(0.85, 1.3, n)).round(2)
    calls = random.poisson(np.where(random.uniform(size=n) < 0.3, 5.0, 1.0))
    has_complaint = random.uniform(size=n) < np.where(calls > 2, 0.55, 0.15)
    complaint = random.choice(4, n)
    burden = 12.0 * fee / income
    score = (
        -2.5
        + 3.2 * np.tanh(80.0 * (burden - 0.018))
        + has_complaint * (0.9 * np.minimum(calls, 6) - 1.5 + 1.5 * (complaint == 3))
        + 2.6 * np.exp(-tenure / 250.0)
        + 2.2 * ((payment == 2) & (plan < 2))
        - 1.8 * ((payment == 0) & (tenure > 900))
        + 1.4 * (age < 30) + 0.05 * np.maximum(age - 68.0, 0.0)
        + 1.3 * np.sin(2.4 * town)
        + 0.9 * (silence > 200) * (plan > 0)
    )  # fmt: skip
    has_churned = random.logistic(size=n) < 4.0 * score
    has_churned ^= random.uniform(size=n) < _FLIPPED
    table = pd.DataFrame(
        {
            "customer_id": [f"C{number}" for number in 100_000 + random.permutation(n)],
            "signup_date": (_TODAY - tenure).astype(str),
            "last_contact": (_TODAY - silence).astype(str),
            "town": np.array(_TOWNS)[town],
            "plan": np.array(_PLANS)[plan],
            "payment": np.array(_PAYMENTS)[payment],
            "age": age,
            "income": income,
            "monthly_fee": fee,
            "calls": calls,
            "complaint": np.where(has_complaint, np.array(_COMPLAINTS)[complaint], None),
            "churned": np.where(has_churned, "yes", "no"),
        }
    )
    for name, share in _GAPS.items():
        table[name] = table[name].mask(random.uniform(size=n) < share)
    for name in ("age", "income", "monthly_fee", "calls", "last_contact") if odd_cells else ():
        is_date = name == "last_contact"
        texts = table[name].map(str if is_date else "{:.10g}".format, na_action="ignore")
        rows = np.flatnonzero(texts.notna())
        rows = random.choice(rows, round(odd_cells * len(rows)), replace=False)
        odd = random.choice(_ODD_DATES if is_date else _ODD, len(rows))
        pairs = zip(odd, texts.iloc[rows], strict=True)
        texts.iloc[rows] = [text.format(old) for text, old in pairs]
        table[name] = texts
    return table
