"""A dictionary of your own: cosine waves, by deriving from the package's contracts.

Random Fourier features (Rahimi and Recht, "Random features for large-scale kernel machines",
2007) average to the Gauss kernel: with w normal of standard deviation 1 / width and b uniform on
the circle,

    g(x) = cos(<w, x> + b).

An atom of an inner product is a row (w, b), so `InnerProductDictionary` asks for three things:
which rows to propose, the profile of an atom, and the profile's slope (for the importance of
inputs). It knows how to evaluate rows on dense and sparse inputs. Any other kind of atom derives
from `Dictionary` and writes `evaluate` itself.
"""

import numpy as np

from fcgboost.dictionaries import InnerProductDictionary
from fcgboost.parts import check_positive


class CosineDictionary(InnerProductDictionary):
    """Cosine waves whose typical length, in standardised units, is 2 pi times `width`."""

    def __init__(self, width=1.0, scaling="none"):
        self.width = width
        self.scaling = scaling

    def check_parameters(self):
        super().check_parameters()
        check_positive(self, "width")

    def candidates(self, sample, n, key):
        # Nothing but the key is random. Each kind of number has its own stream, so that fewer
        # atoms are the first ones of more.
        directions, phases = np.random.default_rng(key).spawn(2)
        w = directions.standard_normal((n, sample.n_features)) / self.width
        b = phases.uniform(0.0, 2.0 * np.pi, size=n)
        # <w, (x - shift) / scale> + b, in the units of the raw inputs.
        w /= sample.scale
        return np.column_stack([w, b - w @ sample.shift])

    def profile(self, z):
        return np.cos(z)

    def slope(self, z):
        return -np.sin(z)


if __name__ == "__main__":
    from sklearn.datasets import make_moons
    from sklearn.model_selection import train_test_split

    from fcgboost import FCGBoostClassifier

    X, y = make_moons(1000, noise=0.25, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = FCGBoostClassifier(dictionary=CosineDictionary(width=0.7)).fit(X_train, y_train)
    print(f"{len(model.atoms_)} waves, accuracy {model.score(X_test, y_test):.3f}")
