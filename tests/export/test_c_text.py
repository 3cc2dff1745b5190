"""The text of a model in C: what it says, and what it refuses; none of it is compiled."""

import copy
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fcgboost import FCGBoostClassifier, ReluDictionary, SquaredHinge
from fcgboost.export import save_c, to_c
from fcgboost.export.c_text import comment, fields_of, index_table, string
from fcgboost.io import load_model, save_model
from tests.suites.export_cases import (
    ODD_NAMES,
    blobs,
    case,
    is_encodable,
)


def test_few_entries_are_written_as_lists_and_many_as_rows() -> None:
    assert "weights_columns" in to_c(case("wide_relu").model, name="wide_relu")
    assert "coef_columns" in to_c(case("gauss_4_square").model, name="m")
    assert "centers_columns" in to_c(case("sparse_gauss").model, name="m")
    assert "_columns" not in to_c(case("gauss_2_square").model)
    assert " weights[" in to_c(case("linear").model, name="m")


def test_an_atom_without_coefficients_is_left_out() -> None:
    model = copy.copy(case("gauss_2_square").model)
    coef = model.atom_coef_.copy()
    coef[:, 2:5] = 0.0
    (member,) = model.members_
    sparser = dataclasses.replace(member.model, coef=coef)
    model.members_ = (dataclasses.replace(member, model=sparser),)
    assert f"/* {model.n_atoms_ - 3} gauss atoms, 3 inputs, 2 classes" in to_c(model)


@given(st.text())
def test_strings_are_ascii_and_keep_their_bytes(text: str) -> None:
    if "\0" in text or not is_encodable(text):
        with pytest.raises(ValueError, match="cannot be written in C"):
            string(text)
        return
    literal = string(text)
    assert literal.isascii()
    assert literal.isprintable()
    body = literal[1:-1]
    assert '"' not in body
    assert "?" not in body
    octal = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), body)
    assert octal.encode("latin-1").decode() == text


@given(st.text() | st.text(alphabet='*/?\\"\n'))
def test_comments_end_where_they_should(text: str) -> None:
    shown = comment(text)
    assert shown.isascii()
    assert shown.isprintable()
    assert not any(bad in f"/{shown}/" for bad in ("*/", "/*", "??"))


@given(st.lists(st.text() | st.sampled_from(ODD_NAMES), max_size=12))
def test_fields_are_different_identifiers(names: list[str]) -> None:
    fields = fields_of(names)
    assert len(set(fields)) == len(names)
    for field in fields:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", field)
        assert field == "x" or field.startswith("x_")


def test_what_happens_to_inputs_is_told() -> None:
    told = {"gaps": (True, False), "gaps_3": (True, True), "clipped_relu": (True, True)}
    for name, (is_missing, is_clipped) in {**told, "sparse_gauss": (False, False)}.items():
        text = to_c(case(name).model)
        assert ("Inputs may be NAN" in text) == is_missing
        assert ("Inputs are clipped" in text) == is_clipped


def test_a_saved_and_loaded_model_gives_the_same_text(tmp_path: Path) -> None:
    tables = ("table_relu_3", "whole_auto_3", "listed_tree", "early_auto", "later_auto")
    for name in (*tables, "later_tree", "early_tree", "sparse_gauss", "label_odd"):
        model = case(name).model
        save_model(model, tmp_path / "model.json", trace=False)
        assert to_c(load_model(tmp_path / "model.json"), name="m") == to_c(model, name="m")


def test_columns_of_a_table_are_fields_and_numbers_alone_an_array() -> None:
    table = to_c(case("whole_auto_3").model, precision="float", name="m")
    for field in ("float x_age;", "double x_seen;", "const char *x_city;", "const char *x_zone;"):
        assert f"    {field} /* " in table
    assert '/* "key" is not used: "no value occurs twice" */' in table
    assert "static inline int m_predict(const m_input *x)" in table
    for name in ("early_auto", "later_relu", "early_tree"):
        text = to_c(case(name).model, name="m")
        assert "m_n_inputs = 5," in text
        assert "static inline int m_predict(const double x[5])" in text


def test_levels_are_found_by_halves() -> None:
    text = to_c(case("table_gauss_2").model, name="m")
    assert "m_find(x->x_sex, levels_x_sex, 2);" in text
    assert "const int middle = (low + high) / 2" in text


def test_save_c_writes_the_text_and_gives_its_size(tmp_path: Path) -> None:
    model = case("label_text").model
    size = save_c(model, tmp_path / "model.h", precision="float", name="m")
    assert (tmp_path / "model.h").read_text() == to_c(model, precision="float", name="m")
    assert (tmp_path / "model.h").stat().st_size == size
    with pytest.raises(ValueError, match="precision"):
        save_c(model, tmp_path / "other.h", precision="half")
    assert [path.name for path in tmp_path.iterdir()] == ["model.h"]


def test_impossible_requests_have_clear_errors() -> None:
    model = case("label_text").model
    with pytest.raises(ValueError, match=r"precision must be one of \['double', 'float'\]"):
        to_c(model, precision="half")
    for name in ("", "2nd", "a b", "a-b", "_x", None):
        with pytest.raises(ValueError, match="name must be a C identifier"):
            to_c(model, name=name)
    with pytest.raises(NotFittedError):
        to_c(FCGBoostClassifier("gauss"))
    with pytest.raises(TypeError, match="LogisticRegression"):
        to_c(LogisticRegression())
    with pytest.raises(TypeError, match="got Pipeline: pass it alone"):
        to_c(make_pipeline(model))


def test_parts_of_ones_own_have_clear_errors() -> None:
    X, y = blobs(2, 2)
    own = FCGBoostClassifier(dictionary=Flipped(), max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="Flipped cannot be exported to C or ONNX"):
        to_c(own)
    own = FCGBoostClassifier("gauss", loss=Doubtful(), max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="The probabilities of Doubtful cannot be exported"):
        to_c(own)


class Flipped(ReluDictionary):
    """A user's dictionary with values of its own."""

    def profile(self, z):
        return super().profile(-z)


class Doubtful(SquaredHinge):
    """A user's loss with probabilities of its own."""

    def probability(self, f):
        return 0.5 + 0.0 * f


def test_what_c_cannot_hold_has_clear_errors() -> None:
    X, y = blobs(2, 2)
    with_nul = FCGBoostClassifier("gauss", max_iter=2).fit(X, np.array(["a\0b", "c"])[y])
    with pytest.raises(ValueError, match="text ends at the first NUL"):
        to_c(with_nul)
    large = FCGBoostClassifier("gauss", max_iter=2).fit(X * 1e50, y)
    assert "double" in to_c(large)
    with pytest.raises(ValueError, match="precision='double'"):
        to_c(large, precision="float")


def test_places_have_the_smallest_type_that_holds_them() -> None:
    for largest, kind in [
        (255, "unsigned char"),
        (256, "unsigned short"),
        (65535, "unsigned short"),
        (65536, "int"),
    ]:
        assert index_table("t", [0, largest]).startswith(f"static const {kind} t[2]")
