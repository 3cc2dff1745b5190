"""Members in a document: their models, their paths, and what they see of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcgboost.arrays import Array
from fcgboost.clipping import Limits
from fcgboost.dictionaries import Dictionary
from fcgboost.documents.answers import check_answers
from fcgboost.documents.atoms import read_atoms, rows_document, storage_document
from fcgboost.documents.checking import JsonObject, Memory, numbers, refuse
from fcgboost.documents.columns import inputs_document, read_inputs
from fcgboost.documents.parts import PartsByName, plain, read_part
from fcgboost.documents.paths import path_document, read_path, with_all_atoms
from fcgboost.documents.schema import LimitsRecord, MemberRecord, ModelRecord
from fcgboost.greedy.path import Trace
from fcgboost.members import Member
from fcgboost.model import Model
from fcgboost.stopping import Status
from fcgboost.tables import Column
from fcgboost.tables.inputs import encode


def member_document(member: Member, *, has_path: bool) -> JsonObject:
    """Return a member as a JSON document, with its path if it has one and that is wanted."""
    has_path = has_path and member.has_path
    model = member.model
    if has_path:
        model = with_all_atoms(model, member.trace, member.n_iter)
    return {
        "weight": float(member.weight),
        "n_iter": int(member.n_iter),
        "l2": float(member.l2),
        "status": member.status.name,
        "inputs": inputs_document(member.inputs),
        "model": _model_document(model),
        "path": path_document(member.trace) if has_path else None,
    }


def _model_document(model: Model) -> JsonObject:
    atoms = zip(
        model.entered.tolist(),
        model.coef.T.tolist(),
        rows_document(model.dictionary, model.atoms),
        strict=True,
    )
    limits = model.limits
    return {
        "dictionary": plain(model.dictionary, "dictionary"),
        "scale": model.scale.tolist(),
        "limits": limits and {"low": limits.low.tolist(), "high": limits.high.tolist()},
        "intercept": model.intercept.tolist(),
        "storage": storage_document(model.atoms),
        "atoms": [{"step": step, "coef": coef, **row} for step, coef, row in atoms],
    }


@dataclass(frozen=True)
class Shared:
    """What the members of a document have in common.

    Attributes
    ----------
    columns : sequence of Column
        How columns are read.
    n_outputs : int
        The number of decision values.
    background : ndarray of shape (n_rows, n_columns) or None
        Rows as columns read them.
    parts : dict
        The parts that a document may name.
    memory : Memory
        What all members together may take.
    """

    columns: Sequence[Column]
    n_outputs: int
    background: Array | None
    parts: PartsByName
    memory: Memory


def read_member(record: MemberRecord, shared: Shared, place: str) -> Member:
    """Return a member, whose model has finite answers."""
    whole = _read_model(record.model, shared, f"{place}.model")
    model = whole
    # Without a path, the start is unknown too.
    unknown = np.full(shared.n_outputs, np.nan)
    trace = Trace(
        steps=(),
        atoms=model.atoms[:0],
        entered=model.entered[:0],
        start=unknown,
        endings=(None,) * shared.n_outputs,
    )
    if record.path is not None:
        trace, model = read_path(
            record.path,
            whole=whole,
            n_iter=record.n_iter,
            memory=shared.memory,
            place=f"{place}.path",
        )
    inputs = read_inputs(
        record.inputs,
        columns=shared.columns,
        memory=shared.memory,
        place=f"{place}.inputs",
    )
    no_values = np.full((1, len(shared.columns)), np.nan)
    background = shared.background
    check_answers(
        whole,
        trace=trace,
        missing=None if inputs is None else inputs.encode(no_values)[0],
        background=None if background is None else encode(inputs, background),
        place=place,
    )
    return Member(
        model=model,
        trace=trace,
        n_iter=record.n_iter,
        l2=record.l2,
        status=Status[record.status],
        weight=record.weight,
        inputs=inputs,
    )


def _read_model(record: ModelRecord, shared: Shared, place: str) -> Model:
    dictionary = read_part(
        record.dictionary,
        shared.parts,
        f"{place}.dictionary",
        Dictionary,
    )
    n_outputs = shared.n_outputs
    coef = np.zeros((n_outputs, len(record.atoms)))
    least = 1
    for i, atom in enumerate(record.atoms):
        coef[:, i] = numbers(atom.coef, n_outputs, f"{place}.atoms[{i}].coef")
        if atom.step < least:
            refuse(f"{place}.atoms[{i}].step", f"must be at least {least}, got {atom.step}")
        least = atom.step
    intercept = numbers(record.intercept, n_outputs, f"{place}.intercept")
    for array in (coef, intercept):
        array.setflags(write=False)
    return Model(
        dictionary=dictionary,
        atoms=read_atoms(
            record,
            dictionary,
            shared.memory,
            place,
        ),
        coef=coef,
        intercept=intercept,
        scale=np.array(record.scale, dtype=np.float64),
        entered=np.array([atom.step for atom in record.atoms], dtype=np.intp),
        limits=_read_limits(record.limits, len(record.scale), f"{place}.limits"),
    )


def _read_limits(record: LimitsRecord | None, n_inputs: int, place: str) -> Limits | None:
    if record is None:
        return None
    low = numbers(record.low, n_inputs, f"{place}.low")
    high = numbers(record.high, n_inputs, f"{place}.high")
    for i in np.flatnonzero(low > high)[:1]:
        refuse(place, f"has a lower limit above the upper one, at [{i}]")
    return Limits(low, high)
