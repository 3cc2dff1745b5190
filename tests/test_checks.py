"""What users hand in is checked once, and what is wrong is named."""

import numpy as np
import pytest

from fcgboost.checks import check_weights


@pytest.mark.parametrize("weight", [-1e-300, -1e-9, -0.0005, -1.0])
def test_no_weight_is_negative_however_little(weight):
    weights = np.array([1.0, weight, 1.0])
    with pytest.raises(ValueError, match="sample_weight_val has negative values"):
        check_weights(weights, 3, "sample_weight_val")
    assert check_weights(np.array([1.0, -0.0, 1.0]), 3)[1] == 0.0
