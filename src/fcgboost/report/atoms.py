"""The table of a model's atoms."""

from __future__ import annotations

import numpy as np

from fcgboost.report.blocks import Table, TableColumn
from fcgboost.report.models import FittedModel
from fcgboost.report.text import label
from fcgboost.wording import count, number

_MOST_ATOMS = 200
_MOST_CLASSES = 5


def atom_table(model: FittedModel) -> Table:
    """List the atoms of a model with their coefficients."""
    coef = model.coef
    n_atoms = coef.shape[1]
    sizes = np.abs(coef).max(axis=0, initial=0.0)
    order = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_ATOMS])
    coefs = {"largest coefficient": sizes}
    if len(coef) == 1:
        coefs = {"coefficient": coef[0]}
    elif len(coef) <= _MOST_CLASSES:
        names = [f"for {label(value)}" for value in model.classes]
        coefs = dict(zip(names, coef, strict=True))
    owners = TableColumn.of_numbers("member", model.owners[order] + 1, count)
    columns = [
        TableColumn.of_numbers("atom", order + 1, count),
        *([owners] if model.is_average else []),
        TableColumn.of_numbers("step", model.entered[order], count),
        *(TableColumn.of_numbers(name, values[order], number) for name, values in coefs.items()),
        TableColumn.of_texts("description", model.atom_texts(order), "text"),
    ]
    notes = []
    if model.is_average:
        notes.append("Coefficients are multiplied by the weights of the members.")
    if len(order) < n_atoms:
        n_left = n_atoms - len(order)
        notes.append(f"Left out: the {count(n_left, 'atom')} of the smallest coefficients.")
    return Table(
        f"All {count(n_atoms, 'atom')} and their coefficients",
        columns,
        notes,
        is_folded=True,
    )
