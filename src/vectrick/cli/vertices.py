"""The vertices of a command: from the model's own tables, or from a file of new vertices."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from vectrick.data import Pairs, VertexTable

if TYPE_CHECKING:
    from vectrick._typing import Array
    from vectrick.estimators import FittedModel


def vertex_table(
    model: "FittedModel",
    side: str,
    given: tuple[str, Any] | None,
    columns: tuple[str | None, str],
    only_new: bool,
    skip_invalid: bool = False,
) -> "VertexTable":
    """Return the vertices of a side: the given ones and, unless ``only_new``, the model's own vertices.

    ``given`` is the kind of new vertices ("features", "smiles" or "sequences") and their file, or one string.
    ``columns`` are the name of the id column that was given (or None) and the usual name.
    """
    known: VertexTable = getattr(model, f"{side}_table_").without_numbers()
    if given is None:
        if known.ids is None:
            raise ValueError(f"the {side} vertices of the model have no ids; name them with --{side}-features")
        return known
    if isinstance(known, Pairs):
        raise ValueError(
            f"--{side}-{given[0]} is given, but the {side} vertices of the model are pairs; predict new parts in Python"
        )
    new = _new_vertices(model, side, *given, columns, skip_invalid)
    if only_new or known.ids is None:
        return new
    old = ~np.isin(np.asarray(known.ids).astype(str), np.asarray(new.ids).astype(str))
    features: Any = known.features[old]
    if issparse(features) or issparse(new.features):
        features = csr_array(vstack([csr_array(new.features), csr_array(features)]))
    else:
        features = np.vstack([new.features, features])
    both = VertexTable(features, new.name, np.concatenate([new.ids, np.asarray(known.ids)[old].astype(str)]))
    both.columns, both.text, both.string_columns = new.columns, new.text, new.string_columns
    both.skipped = [name for name in new.skipped if name not in set(np.asarray(both.ids).tolist())]
    return both


def _new_vertices(
    model: "FittedModel", side: str, kind: str, given: Any, columns: tuple[str | None, str], skip_invalid: bool
) -> "VertexTable":
    """Return the vertices of a file, or of one string, in the form that the model expects."""
    from vectrick.data.files.folder import read_vertices
    from vectrick.data.strings.files import KINDS, given_string, named_or_given, read_strings
    from vectrick.data.strings.table import kind_of_strings

    known: VertexTable = getattr(model, f"{side}_table_")
    if known.text is None and kind in KINDS:
        raise ValueError(f"--{side}-{kind} is given, but the {side} vertices of the model have numbers, not strings")
    if known.text is not None:
        asked = {"smiles": "smiles", "sequence": "sequences"}[kind_of_strings(known.take([0]).strings, known.text)]
        if kind != asked:
            raise ValueError(
                f"--{side}-{kind} is given, but the {side} vertices of the model are {KINDS[asked].noun}: give "
                f"--{side}-{asked}"
            )
        path = named_or_given(given, kind)
        if path is None:
            return given_string(given, side, kind)
        return read_strings(path, side, kind, *columns, skip_invalid, tell=False)
    expected = known.expected
    if expected is not None and not expected.medians:
        expected = replace(expected, medians=_medians(model, side))  # of earlier files
    new = read_vertices(given, side, "features", *columns, expected=expected)
    if issparse(known.features) and not issparse(new.features):
        new.features = csr_array(new.features)
    return new


def _medians(model: "FittedModel", side: str) -> dict[str, float]:
    """Return the medians that filled missing values in training columns, if the model file has numbers."""
    stored = getattr(model, "about_", {}).get("medians")
    values = stored.get(side) if isinstance(stored, dict) else None
    return {str(name): float(value) for name, value in (values if isinstance(values, dict) else {}).items()
            if isinstance(value, int | float)}  # fmt: skip


def parts_of(table: "VertexTable", n_columns: int, side: str) -> "VertexTable":
    """Return the table in which the ids of edges are looked up: of two columns, that of the parts of pairs."""
    is_pairs = isinstance(table, Pairs)
    if is_pairs != (n_columns == 2):
        has, need = ("pairs", f"--{side}-columns with two") if is_pairs else ("no pairs", f"--{side}-column with one")
        raise ValueError(f"the {side} vertices of the model are {has}, so the edges need {need}")
    if isinstance(table, Pairs) and table.parts[0] is not table.parts[1]:
        raise ValueError(f"the {side} vertices of the model are pairs of two kinds; predict them in Python")
    return table.parts[0] if isinstance(table, Pairs) else table


def ids_of(table: "VertexTable") -> Any:
    """Return the ids of a table as Arrow text."""
    import pyarrow as pa

    return pa.array(np.asarray(table.ids).astype(str).astype(object), pa.string())


def as_written(ids: Any, like: Any = None) -> Any:
    """Return ids (Arrow text) for a file: integers if all of them are whole numbers in their usual form.

    ``like`` is the type of the ids in the input file, if there is one; ids of another type stay text.
    """
    import pyarrow as pa

    if like is not None and not pa.types.is_integer(like):
        return ids
    numerals = ids.to_pylist()
    try:
        integers = [int(word) for word in numerals]
        same = [str(number) for number in integers] == numerals
        return pa.array(integers, pa.int64()) if same and integers else ids
    except (ValueError, OverflowError, pa.ArrowException):
        return ids


def class_names(model: "FittedModel") -> list[str] | None:
    """Return the names of a classifier's classes as in its data; of two, the positive one is last."""
    if not hasattr(model, "classes_"):
        return None
    names = getattr(model, "about_", {}).get("classes")
    if not isinstance(names, list) or len(names) != len(model.classes_) or hasattr(model, "machines_"):
        names = model.classes_.tolist()  # a file can contain anything
    return [str(name) for name in names]


def probabilities(model: "FittedModel", scores: "Array") -> Any:
    """Return the probability of the second class from scores, or None for models that have none."""
    from scipy.special import expit

    return expit(scores) if hasattr(model, "predict_proba") else None
