"""Numbers with decimal commas are refused, never taken for classes or categories."""

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from vectrick.data.files.folder import read_dataset
from vectrick.data.files.numerals import refuse_commas


@pytest.mark.parametrize(
    "words",
    [["3,5", "4,5"], ["3,5", "4"], ["1,000", "2"], ["-3,5e2", "1"], ["<3,5", "4,1"], ["1.234,5", "2,1"], [",5", "3,"]],
)
def test_commas_are_refused(words):
    with pytest.raises(ValueError, match="use a decimal point"):
        refuse_commas(words, "y")


@pytest.mark.parametrize("words", [["a,b", "c"], ["3,5", "high"], ["1", "2"], [], ["1,2-diol", "1,3-diol"]])
def test_words_with_commas_are_words(words):
    assert refuse_commas(words, "y") is None


def _folder(path, labels, heights):
    pd.DataFrame({"start": list("abab"), "end": list("xxyy"), "label": labels}).to_csv(path / "edges.csv", index=False)
    pd.DataFrame({"id": ["a", "b"], "height": heights}).to_csv(path / "start_features.csv", index=False)
    pd.DataFrame({"id": ["x", "y"], "f": [1.0, 2.0]}).to_csv(path / "end_features.csv", index=False)
    return path


@pytest.mark.parametrize("labels", [["3,5", "4,5", "3,5", "4,5"], ["3,5", "4,5", "5", "6,1"]])
def test_labels_and_features_of_files(tmp_path, labels):
    with pytest.raises(ValueError, match=r"edges\.csv: column 'label' has numbers with commas, such as '3,5'"):
        read_dataset(_folder(tmp_path, labels, [1.5, 2.5]))
    with pytest.raises(ValueError, match=r"start_features\.csv: column 'height' has numbers with commas"):
        read_dataset(_folder(tmp_path, [1.0, 2.0, 3.0, 4.0], ["1,5", "2,5"]))


@pytest.mark.parametrize("kind", [vt.KronLogistic, vt.KronSVM, vt.AutoKron])
def test_labels_in_python(kind):
    X = vt.Edges.grid(np.eye(4), np.eye(4))
    with pytest.raises(ValueError, match="y has numbers with commas, such as '3,5'"):
        kind().fit(X, ["3,5", "4,5"] * 8)
