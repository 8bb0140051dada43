"""Vertices whose strings cannot be read are left out on demand; unusual valences are read."""

import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rdkit")

import vectrick as vt
from vectrick.data.files.columns import TableWarning
from vectrick.data.strings.molecules import canonical, wrong_smiles
from vectrick.kernels.strings import views

SMILES = ["CCO", "C1CC", "CCN", None, "CCCl", "c1ccccc1O"]
T = np.eye(3)


@pytest.mark.parametrize("with_ids", [False, True])
def test_unreadable_vertices_are_left_out_with_their_edges(with_ids):
    ids = list("abcdef") if with_ids else None
    start, end = np.repeat(np.arange(6), 3), np.tile(np.arange(3), 6)
    y = np.arange(18.0)
    with pytest.warns(TableWarning, match="start_features: 2 of 6 molecules are invalid.*row 2, 'C1CC', is no"):
        X = vt.Edges(start, end, SMILES, T, start_ids=ids, invalid="skip")
    assert X.kept.tolist() == [vertex not in (1, 3) for vertex in start]
    assert X.start_table.strings == ["CCO", "CCN", "CCCl", "c1ccccc1O"]
    model = vt.KronRidge(vt.Morgan(), "linear").fit(X, y[X.kept])
    good = [string for string in SMILES if string not in ("C1CC", None)]
    expected = vt.KronRidge(vt.Morgan(), "linear").fit(vt.Edges.grid(good, T), y[X.kept]).predict_grid(good, T)
    np.testing.assert_allclose(model.predict(X), expected.ravel())
    # Vertices keep their names, which without ids are their positions.
    asked = "e" if with_ids else 4
    assert set(model.recommend([asked], exclude_known=False)["start"]) == {asked}


def test_frames_and_grids_leave_them_out():
    drugs = pd.DataFrame({"drug": list("abcdef"), "smiles": SMILES})
    frame = pd.DataFrame({"drug": list("fbac"), "target": [0, 1, 2, 0]})
    targets = pd.DataFrame(T).rename_axis("target")
    names = {"start": "drug", "end": "target", "start_table": drugs, "end_table": targets}
    with pytest.warns(TableWarning, match="2 of 6 molecules are invalid"):
        X = vt.Edges.from_frame(frame, **names, invalid="skip")
    assert X.kept.tolist() == [True, False, True, True]
    assert [X.start_table.ids[row] for row in X.start] == ["f", "a", "c"]
    with pytest.warns(TableWarning, match="2 of 6 molecules are invalid"):
        assert len(vt.Edges.grid(SMILES, T, invalid="skip")) == 12
    assert vt.Edges.grid(["CCO"], T, invalid="skip").start_table.ids is None
    with pytest.raises(ValueError, match=r"start_table\[3\] is empty"):
        vt.Edges.from_frame(frame, **names)
    with pytest.raises(ValueError, match="invalid is 'drop', but it must be 'error' or 'skip'"):
        vt.Edges.from_frame(frame, **names, invalid="drop")
    with pytest.raises(ValueError, match="no other row is valid"):
        vt.Edges.grid(["C1CC"], T, invalid="skip")


def test_sequences_are_checked_as_such():
    with pytest.warns(TableWarning, match="1 of 3 sequences are invalid.*has the letter '-' at 4"):
        X = vt.Edges.grid(pd.DataFrame({"sequence": ["MKTAY", "MKT-AY", "WWW"]}), T, invalid="skip")
    assert X.start_table.strings == ["MKTAY", "WWW"]


def test_an_unreadable_molecule_names_the_remedy():
    with pytest.raises(ValueError, match=r"'C1CC' is no molecule.*invalid='skip'"):
        vt.KronRidge(vt.Morgan(), "linear").fit(vt.Edges.grid(["C1CC", "CC"], T), np.arange(6.0))


ODD = "CP(C)(C)(C)(C)(C)O"  # phosphorus with seven bonds, as some ligands of protein structures have


def test_unusual_valences_are_read_and_counted():
    assert wrong_smiles(ODD) is None
    views._known_odd.clear()
    strings = [ODD, "CCO", f"[Na+].{ODD[:-1]}[O-]", f"[2H]{ODD}", f"[CH3:1]{ODD[1:]}", ODD.replace("O", "[O-1]")]
    assert len({canonical(string) for string in (strings[0], *strings[2:])}) == 1
    with pytest.warns(TableWarning, match="5 molecules have an atom with an unusual valence"):
        values = vt.Morgan(3, 512)(strings)
    assert values[0, 1] < 1
    np.testing.assert_allclose(values[0, [0, 2, 3, 4, 5]], 1.0)
    vt.Morgan(2, 512)(strings)  # which does not warn again
    for wrong in ("C1CC", "Q", "c1cccc1", ""):
        assert wrong_smiles(wrong) is not None


def test_mixtures_of_many_fragments_take_a_moment():
    begin = time.perf_counter()
    for parts, parent in (
        (["CCO"] * 2500 + ["[Na+]"] * 2500, "CCO"),
        (["C" * (i % 40 + 1) + "O" for i in range(5000)], "C" * 40 + "O"),
    ):
        assert canonical(".".join(parts)) == parent
    assert canonical(".".join(["C1", *["O"] * 40, "C1"])) == "CC"  # two parts that a ring number joins
    assert time.perf_counter() - begin < 20  # it took minutes


def test_invented_names_say_nothing_about_other_tables():
    kernels = {"start_kernel": vt.Morgan(), "end_kernel": vt.Gaussian(0.5), "pairwise": "cartesian", "alpha": 0.1}
    y = [1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.warns(TableWarning):
        skipped = vt.Edges([0, 0, 2, 2, 3], [0, 1, 0, 2, 1], ["CCO", "C1CC", "CCN", "c1ccccc1"], T, invalid="skip")
    with pytest.warns(TableWarning):
        asked = vt.Edges([0, 1, 3], [0, 1, 2], ["CCN", "CCO", "C1CC", "c1ccccc1"], T, invalid="skip")
    clean = vt.Edges([0, 0, 1, 1, 2], [0, 1, 0, 2, 1], ["CCO", "CCN", "c1ccccc1"], T)
    same = vt.Edges([0, 1, 2], [0, 1, 2], ["CCN", "CCO", "c1ccccc1"], T)
    np.testing.assert_allclose(
        vt.KronRidge(**kernels).fit(skipped, y).predict(asked), vt.KronRidge(**kernels).fit(clean, y).predict(same)
    )


def test_gaps_of_pandas_and_masks_of_grids():
    with pytest.warns(TableWarning, match="1 of 3 molecules are invalid"):
        X = vt.Edges.grid(pd.Series(["CCO", None, "CCN"], dtype="string"), T, invalid="skip")
    assert X.kept.tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert len(X) == X.kept.sum()
    with pytest.warns(TableWarning, match="1 of 2 molecules are invalid"):
        vt.Edges.grid(["CCO", pd.NA], T, invalid="skip")


def test_one_bad_string_does_not_change_the_kind_of_all():
    with pytest.warns(TableWarning, match="1 of 3 sequences are invalid"):
        X = vt.Edges.grid(["MKTAYIAKQ", "MKT-AYI", "GGSGGSGGS"], T, invalid="skip")
    assert X.start_table.strings == ["MKTAYIAKQ", "GGSGGSGGS"]
    assert len(vt.Edges.grid(["MKTAYIAKQ*", "GGSGGSGGS"], T, invalid="skip")) == 6
