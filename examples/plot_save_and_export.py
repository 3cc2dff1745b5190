"""
Save, load, export
==================

A model is a short list of numbers. As a file it comes back bit for bit; as C it needs nothing
but a compiler. The price of each form, in bytes, for every length of the path.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.export import save_c, to_c

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
clf = FCGBoostClassifier("relu", random_state=0).fit(X_train, y_train)
print(f"{clf.n_atoms_} atoms, test accuracy {clf.score(X_test, y_test):.3f}")

# %%
# A model file is JSON. With the path (the default) the loaded model can still be cut; without
# it the file holds the final model alone. Decision values are the same to the last bit.
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
save_model(clf, folder / "whole.json")
save_model(clf, folder / "final.json", trace=False)
loaded = load_model(folder / "final.json")
assert np.array_equal(loaded.decision_function(X_test), clf.decision_function(X_test))
assert load_model(folder / "whole.json").truncate(5).n_atoms_ == 5
for name in ("whole.json", "final.json"):
    print(f"{name}: {(folder / name).stat().st_size} bytes")

# %%
# C -
#
# One C99 header without dependencies. A model of two atoms and two inputs:
tiny = FCGBoostClassifier("relu", max_iter=2, random_state=0).fit(X_train[:, :2], y_train)
print(to_c(tiny))

# %%
# Shorter is smaller
# ------------------
#
# ``truncate(k)`` cuts the path before it is saved.
steps = [1, 2, 3, 5, 8, 13, 20, 30, clf.n_atoms_]
sizes = {"JSON": [], "C, double": [], "C, float": []}
for k in steps:
    short = clf.truncate(k)
    save_model(short, folder / "short.json", trace=False)
    sizes["JSON"].append((folder / "short.json").stat().st_size)
    sizes["C, double"].append(save_c(short, folder / "short.h"))
    sizes["C, float"].append(save_c(short, folder / "short.h", precision="float"))
accuracy = [clf.truncate(k).score(X_test, y_test) for k in steps]
temporary.cleanup()

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(steps, accuracy, "o-")
left.set(xlabel="atoms", ylabel="test accuracy")
for name, values in sizes.items():
    right.plot(steps, np.array(values) / 1024, "o-", label=name)
right.set(xlabel="atoms", ylabel="KiB", ylim=(0, None))
right.legend()
plt.show()

print(f"5 atoms: accuracy {accuracy[3]:.3f} in {sizes['C, float'][3]} bytes of C")
assert accuracy[3] > 0.93
assert sizes["C, float"][3] < sizes["C, float"][-1] / 2
