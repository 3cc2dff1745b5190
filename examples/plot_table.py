"""
A table with text, dates and missing values
===========================================

The classifier takes rows as they are: it learns what each column holds, and remembers it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import FeatureInfluenceDisplay

# %%
# Made-up customers. Who stays depends on the plan, on how long ago they joined, and on whether
# they told their age: a missing value can be news.
rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(
    {
        "plan": rng.choice(["basic", "plus", "family", "trial"], size=n, p=[0.5, 0.3, 0.15, 0.05]),
        "city": rng.choice([f"town {i}" for i in range(60)], size=n),
        "joined": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, n), unit="D"),
        "age": rng.normal(45, 15, n).round().clip(18, 90),
        "visits": rng.poisson(6, n),
    }
)
table.loc[rng.uniform(size=n) < 0.25, "age"] = np.nan
days = (table["joined"] - table["joined"].min()).dt.days
worth = (table["plan"] == "family") * 2.0 - (table["plan"] == "trial") * 3.0
worth += (1000 - days) / 400 - table["age"].isna() * 1.5 + 0.2 * (table["visits"] - 6)
stays = np.where(worth + rng.logistic(size=n) > 0, "stays", "leaves")
print(table.head(4).to_string())

# %%
# For ramps numbers stay numbers; a date becomes a number of days, with its month and weekday; a
# text becomes a 0/1 column for each value, or, of many values, how often each class has it; a
# missing number becomes the median, and one more column marks it.
train, test, y_train, y_test = train_test_split(table, stays, random_state=0)
model = FCGBoostClassifier("relu", random_state=0).fit(train, y_train)
for column in model.columns_:
    print(f"{column.name}: {', '.join(column.output_names())}")
score, best = model.score(test, y_test), np.mean((worth > 0) == (stays == "stays"))
print(f"test accuracy {score:.3f}; knowing the true worth: {best:.3f}")
assert score > best - 0.05

# %%
# A text that was never seen counts as missing.
strange = test.assign(city="Atlantis")
print(model.predict_proba(strange)[:3].round(2))

# %%
# What the accuracy rests on, by the columns of the table:
display = FeatureInfluenceDisplay.from_estimator(
    model, test, y_test, method="permutation", options={"random_state": 0}
)
plt.show()
