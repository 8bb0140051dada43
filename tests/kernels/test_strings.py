"""Vertices that are strings, and their kernels: against RDKit, parasail, and scores by hand."""

import builtins
import sqlite3
from collections import Counter
from contextlib import closing
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import vectrick as vt
from tests.data import folder_of
from vectrick.data.strings.table import LONGEST, characters, kind_of_strings, strings_of
from vectrick.data.tables import VertexTable
from vectrick.kernels.strings import alignments, encoded as encoding, kept, views

needs_rdkit = pytest.mark.skipif(find_spec("rdkit") is None, reason="RDKit is not installed: vectrick[molecules]")
needs_parasail = pytest.mark.skipif(find_spec("parasail") is None, reason="parasail is not installed")

DRUGS = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "CC(=O)Nc1ccc(O)cc1",
         "C1CCCCC1", "OC(=O)c1ccccc1O", "CCO"]  # fmt: skip
PROTEINS = ["MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQ", "MKTAYIAKQRQISFVKSHFSRQ",
            "MSGLRVYSTSVTGSREIKSQQSEVTRILDGKRIQYQLVDISQDNALRDEMRALAG", "GGGGSGGGGS", "MKUAYOAKQRBXZ"]  # fmt: skip


# Tables of characters


def test_strings_come_back():
    strings = ["CCO", "", "é€😀", "x" * 1000]
    table = characters(strings)
    assert strings_of(table) == strings
    assert strings_of(table[[3, 0]]) == [strings[3], strings[0]]
    assert strings_of(table.astype(np.float32)) == strings


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (["a", "b" * (LONGEST + 1)], r"strings\[1\] has 65522 characters"),
        (["ab", "a\0b"], r"strings\[1\] has the character 0"),
        (["\ud800"], "lone surrogate"),
    ],
)
def test_what_is_no_text(strings, message):
    with pytest.raises(ValueError, match=message):
        characters(strings)


@pytest.mark.parametrize(("part", "value"), [("data", 0.5), ("data", 0xD900), ("data", 2e6), ("indices", 7)])
def test_a_damaged_table_of_characters_is_refused(part, value):
    table = characters(["abc", "de"])
    getattr(table, part)[1] = value
    with pytest.raises(ValueError, match="damaged"):
        strings_of(table)


def test_forms_that_strings_are_given_in():
    ids = [f"d{i}" for i in range(len(DRUGS))]
    frame = pd.DataFrame({"id": ids, "smiles": DRUGS})
    forms = [
        VertexTable(frame),
        VertexTable(pl.DataFrame({"id": ids, "smiles": DRUGS})),
        VertexTable(pd.Series(DRUGS, index=ids, name="smiles")),
        VertexTable(pl.Series("smiles", DRUGS), ids=ids),
        VertexTable(DRUGS, ids=ids),
        VertexTable(np.array(DRUGS), ids=ids),
        VertexTable(np.array(DRUGS, object), ids=np.array(ids)),
    ]
    for table in forms:
        assert table.strings == DRUGS
        assert table.ids.tolist() == ids
        assert table.has_names
        assert table.take([2, 0]).strings == [DRUGS[2], DRUGS[0]]
    assert [table.text for table in forms[:4]] == ["smiles"] * 4
    assert "7 vertices, strings, with ids" in repr(forms[0])
    assert not VertexTable(pd.Series(DRUGS)).has_names


@pytest.mark.parametrize("given", [["CC", None], ["CC", ""], ["CC", 3.0], pd.Series(["CC", np.nan]), ["CC", "  "]])
def test_missing_strings_are_named(given):
    with pytest.raises(ValueError, match=r"start_features\[1\] is"):
        vt.Edges([0], [0], given, np.eye(2))


def test_one_string_is_no_table():
    with pytest.raises(TypeError, match="give a list"):
        vt.Edges([0], [0], "CCO", np.eye(2))


def test_what_strings_are():
    assert kind_of_strings(DRUGS, "") == "smiles"
    assert kind_of_strings(PROTEINS[:3], "") == "sequence"
    assert kind_of_strings(DRUGS, "protein_sequence") == "sequence"
    assert kind_of_strings(PROTEINS, "canonical_smiles") == "smiles"
    assert kind_of_strings(["NDLDDWLKK", "SIINFEKL"]) == "sequence"  # peptides
    assert kind_of_strings(["CCO", "CCN", "FCF"]) == "smiles"


def test_strings_are_not_explained_by_features():
    X, y = graph()
    with pytest.raises(ValueError, match="by is 'features', but the vertices of start_features are strings"):
        vt.KronRidge(vt.Constant(), vt.Spectrum()).fit(X, y).explain(X[0], by="features")


# Molecules


@needs_rdkit
@pytest.mark.parametrize("functional", [False, True])
def test_fingerprints_are_those_of_rdkit(functional):
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    generators = rdFingerprintGenerator
    more = {"atomInvariantsGenerator": generators.GetMorganFeatureAtomInvGen()} if functional else {}
    generator = generators.GetMorganGenerator(radius=2, fpSize=2048, **more)
    molecules = [Chem.MolFromSmiles(smiles) for smiles in DRUGS]
    bits = [generator.GetFingerprint(molecule) for molecule in molecules]
    kernel = vt.Morgan(functional=functional)
    np.testing.assert_array_equal(kernel.encode(DRUGS).toarray(), np.array([list(fp) for fp in bits]))
    counts = np.array([generator.GetCountFingerprintAsNumPy(molecule) for molecule in molecules])
    counting = vt.Morgan(counts=True, functional=functional)
    np.testing.assert_array_equal(counting.encode(DRUGS).toarray(), counts)
    expected = [DataStructs.BulkTanimotoSimilarity(one, bits) for one in bits]
    assert_allclose(kernel(DRUGS), expected)
    smaller, larger = np.minimum(counts[:, None], counts).sum(2), np.maximum(counts[:, None], counts).sum(2)
    assert_allclose(counting(DRUGS), smaller / larger)
    assert_allclose(kernel.diagonal(DRUGS), 1.0)


@needs_rdkit
@pytest.mark.parametrize(("one", "other"), [("CCN.Cl", "CCN"), ("[Na+].[O-]C(=O)c1ccccc1", "OC(=O)c1ccccc1"),
                                            ("[2H]C([2H])([2H])O", "CO"), ("[13CH3]CO", "CCO"), (" OCC ", "CCO"),
                                            ("C[NH3+]", "CN"), ("CC.OCCCCCC", "OCCCCCC")])  # fmt: skip
def test_forms_of_one_compound_are_equal(one, other):
    assert vt.Morgan(counts=True)([one], [other]) == 1.0
    if one in ("[13CH3]CO", " OCC "):  # of which RDKit itself makes no difference
        return
    assert vt.Morgan(counts=True, parent=False)([one], [other]) < 1.0


@needs_rdkit
def test_an_invalid_molecule_is_named():
    with pytest.raises(ValueError, match="'C1CC' is no molecule"):
        vt.Morgan()(["CCO", "C1CC"])
    for name, wrong in (
        ("radius", -1),
        ("n_bits", 0),
        ("counts", 1),
        ("kernel", "tanimoto"),
        ("kernel", vt.Spectrum()),
    ):
        with pytest.raises(ValueError, match=f"{name} is "):
            vt.Morgan(**{name: wrong})(["CCO"])


def test_without_rdkit_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name.partition(".")[0] in ("rdkit", "parasail"):
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'vectrick\[molecules\]'"):
        vt.Morgan(1, 77)(["CCO"])
    with pytest.raises(ImportError, match=r"pip install 'vectrick\[molecules\]'"):
        vt.SmithWaterman()(["MKT"])
    assert_allclose(vt.Spectrum()(["MKTA", "MKTA"]), 1.0)


# Sequences


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 9])
def test_words_of_sequences_are_counted(k):
    def products(a, b):
        counts = [Counter(s[i : i + k] for i in range(len(s) - k + 1)) for s in (a, b)]
        return sum(count * counts[1][word] for word, count in counts[0].items())

    expected = np.array([[products(a, b) for b in PROTEINS] for a in PROTEINS], float)
    assert_allclose(vt.Spectrum(k, kernel=vt.Linear())(PROTEINS), expected)
    size = np.sqrt(np.diagonal(expected))
    assert_allclose(vt.Spectrum(k)(PROTEINS), expected / np.maximum(np.outer(size, size), 1e-300), atol=1e-15)
    features = vt.Spectrum(k).features(characters(PROTEINS))
    assert_allclose((features @ features.T).toarray(), vt.Spectrum(k)(PROTEINS), atol=1e-12)


@pytest.mark.parametrize("kernel", [vt.Spectrum(), pytest.param(vt.SmithWaterman(), marks=needs_parasail)])
def test_sequences_with_other_letters_are_refused(kernel):
    with pytest.raises(ValueError, match="the sequence 'MK-T' has the letter '-' at 3"):
        kernel(["MKT", "MK-T"])
    assert_allclose(kernel(["mkta yia*"], ["MKTAYIA"]), 1.0)


def aligned(x, y, matrix, opening, extension):
    """Return the score of the best local alignment, by the recurrences of Gotoh."""
    H, E, F = (np.zeros((len(x) + 1, len(y) + 1)) for _ in range(3))
    E[:], F[:] = -1e9, -1e9
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            E[i, j] = max(E[i, j - 1] - extension, H[i, j - 1] - opening)
            F[i, j] = max(F[i - 1, j] - extension, H[i - 1, j] - opening)
            H[i, j] = max(0, H[i - 1, j - 1] + matrix(x[i - 1], y[j - 1]), E[i, j], F[i, j])
    return H.max()


@needs_parasail
@pytest.mark.parametrize(("name", "opening", "extension"), [("BLOSUM62", 11, 1), ("pam250", 10, 2)])
def test_alignment_scores_by_hand(name, opening, extension):
    import parasail

    table = getattr(parasail, name.lower())
    alphabet = "ARNDCQEGHILKMFPSTWYVBZX*"
    score = lambda a, b: int(table.matrix[alphabet.index(a), alphabet.index(b)])  # noqa: E731
    plain = [p.replace("U", "C").replace("O", "K") for p in PROTEINS]
    S = np.array([[aligned(a, b, score, opening, extension) for b in plain] for a in plain])
    kernel = vt.SmithWaterman(name, opening, extension)
    assert_allclose(kernel(PROTEINS), S / np.sqrt(np.outer(np.diagonal(S), np.diagonal(S))))
    assert_allclose(kernel(PROTEINS[:2], PROTEINS[2:]), kernel(PROTEINS)[:2, 2:])


VIEWS = ["path", "morgan", "atom-pair", "torsion", "maccs", "avalon"]


@needs_rdkit
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_those_of_rdkit(view):
    from rdkit import DataStructs
    from rdkit.Avalon import pyAvalonTools
    from rdkit.Chem import MACCSkeys, MolFromSmiles, rdFingerprintGenerator

    made = rdFingerprintGenerator
    fingerprint = {
        "path": made.GetRDKitFPGenerator().GetFingerprint,
        "morgan": made.GetMorganGenerator(radius=2).GetFingerprint,
        "atom-pair": made.GetAtomPairGenerator().GetFingerprint,
        "torsion": made.GetTopologicalTorsionGenerator().GetFingerprint,
        "maccs": MACCSkeys.GenMACCSKeys,
        "avalon": lambda found: pyAvalonTools.GetAvalonFP(found, nBits=1024),
    }[view]
    expected = [fingerprint(MolFromSmiles(smiles)) for smiles in DRUGS]
    np.testing.assert_array_equal(vt.Molecule(view).encode(DRUGS).toarray(), [list(each) for each in expected])
    values = np.array([[DataStructs.TanimotoSimilarity(a, b) for b in expected] for a in expected])
    empty = np.array([each.GetNumOnBits() == 0 for each in expected])
    values[np.ix_(empty, empty)] = 1.0  # equal, though RDKit divides by zero
    assert_allclose(vt.Molecule(view)(DRUGS), values)


@needs_rdkit
def test_counts_and_lengths_of_views():
    counted = vt.Molecule("path", 512, counts=True)
    features = counted.encode(DRUGS)
    assert features.shape == (len(DRUGS), 512)
    assert features.max() > 1
    assert_allclose(counted(DRUGS), vt.MinMax()(features))
    assert_allclose(vt.Molecule("morgan")(DRUGS), vt.Morgan()(DRUGS))


@needs_rdkit
def test_descriptors_are_those_of_rdkit_on_a_logarithmic_scale():
    from rdkit.Chem import Crippen, Descriptors, MolFromSmiles

    from vectrick.kernels.strings.views import DESCRIPTORS

    features = vt.Molecule("descriptors").encode(DRUGS)
    assert set(DESCRIPTORS) >= {"MolWt", "MolLogP", "TPSA"}
    for name, function in (("MolWt", Descriptors.MolWt), ("MolLogP", Crippen.MolLogP)):
        values = np.array([function(MolFromSmiles(smiles)) for smiles in DRUGS])
        assert_allclose(features[:, DESCRIPTORS.index(name)], np.sign(values) * np.log1p(np.abs(values)))
    hydrogen = vt.Molecule("descriptors").encode(["[H][H]", "[Na+].[Cl-]"])  # several are not defined there
    assert np.isfinite(hydrogen).all()
    X, y = graph()
    table = vt.Edges(X.start, X.end, DRUGS, X.end_table.features)
    model = vt.KronRidge(vt.Molecule("descriptors"), vt.Constant()).fit(table, y)
    assert type(model.predictor_.start.kernel.kernel) is vt.Standardized  # learned from the training molecules


@needs_rdkit
def test_models_with_standardized_views_are_saved(tmp_path):
    X, y = graph()
    drugs = vt.Molecule("path") + vt.Molecule("descriptors") * vt.Constant(0.5)
    model = vt.KronRidge(drugs, vt.Spectrum(1, vt.Standardized(vt.Gaussian()))).fit(X, y)
    model.save(tmp_path / "model.vt")
    again = vt.load(tmp_path / "model.vt")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert_allclose(again.predict_grid(["CCCO"], PROTEINS[:2]), model.predict_grid(["CCCO"], PROTEINS[:2]))


@needs_rdkit
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"view": "paths"}, "view is 'paths', but it must be one of 'morgan', 'path'"),
        ({"view": ["path"]}, "view is"),
        ({"view": "maccs", "n_bits": 512}, "n_bits is 512, but the view 'maccs' always has 167"),
        ({"view": "avalon", "n_bits": 7}, "n_bits is 7, but it must be an integer from 16"),
        ({"n_bits": True}, "n_bits is True"),
        ({"counts": 2}, "counts is 2, but it must be True or False"),
        ({"view": "descriptors", "counts": True}, "the view 'descriptors' has no counts"),
        ({"kernel": vt.Morgan()}, "it must be a kernel of numbers"),
    ],
)
def test_wrong_views(parameters, message):
    with pytest.raises(ValueError, match=message):
        vt.Molecule(**parameters)(DRUGS)


@needs_rdkit
def test_views_are_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kept, "_WORTH", 1)

    def encoded(view, **parameters):
        monkeypatch.setattr(encoding.ROWS, "_known", {})
        features = vt.Molecule(view, **parameters).encode(DRUGS)
        return features if isinstance(features, np.ndarray) else features.toarray()

    kinds = [("path", {}), ("path", {"counts": True}), ("path", {"n_bits": 64}), ("descriptors", {})]
    first = [encoded(view, **parameters) for view, parameters in kinds]
    assert len({features.tobytes() for features in first}) == 4
    with monkeypatch.context() as patch:  # nothing is computed again
        patch.setattr(views.Recipe, "rows", lambda *_: pytest.fail("it was on disk"))
        for (view, parameters), features in zip(kinds, first, strict=True):
            np.testing.assert_array_equal(encoded(view, **parameters), features)
    with closing(sqlite3.connect(tmp_path / "features.sqlite")) as file, file:  # damaged rows are computed again
        file.execute("update rows set places = ?, found = ?", (b"abc", b"x"))
    np.testing.assert_array_equal(encoded("path"), first[0])
    with closing(sqlite3.connect(tmp_path / "features.sqlite")) as file, file:
        file.execute("update rows set places = ?", (np.array([9999], "<u4").tobytes(),))
    np.testing.assert_array_equal(encoded("path"), first[0])
    (tmp_path / "features.sqlite").write_bytes(b"no database at all" * 100)
    np.testing.assert_array_equal(encoded("path"), first[0])


@needs_parasail
def test_scores_of_very_long_sequences_do_not_overflow():
    long = "WWAC" * 1500  # its score with itself is above 46,341, whose square exceeds 32 bits
    values = vt.SmithWaterman()([long, "WWAC"])
    assert_allclose(np.diagonal(values), 1.0)
    assert_allclose(values[0, 1], 1500**-0.5)


@needs_parasail
def test_rows_of_scores_as_features():
    table, train = characters(PROTEINS), characters(PROTEINS[:3])
    kernel = vt.SmithWaterman(kernel=vt.Gaussian(0.5)).resolve(train, np.arange(3))
    scores = vt.SmithWaterman()(PROTEINS, PROTEINS[:3])
    assert_allclose(kernel(table), vt.Gaussian(0.5)(scores))
    assert kernel.is_psd
    assert not vt.SmithWaterman().is_psd
    with pytest.raises(ValueError, match="only after it was fitted"):
        vt.SmithWaterman(kernel=vt.Gaussian())(PROTEINS)
    for wrong, message in (({"matrix": "BLOSUM"}, "matrix is 'BLOSUM'"), ({"matrix": "os"}, "matrix is 'os'"),
                           ({"open": -1}, "open is -1"), ({"extend": 0.5}, "extend is 0.5")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            vt.SmithWaterman(**wrong)(PROTEINS)


@needs_parasail
def test_scores_are_kept_on_disk(tmp_path, monkeypatch):
    import parasail

    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(alignments, "_WORTH", 1)

    def fresh():
        monkeypatch.setattr(alignments, "_stores", {})
        return vt.SmithWaterman(open=12)

    expected = fresh()(PROTEINS[:4])
    assert (tmp_path / "alignments.sqlite").exists()
    with monkeypatch.context() as patched:
        patched.setattr(parasail, "profile_create_16", lambda *_: pytest.fail("it is known"))
        np.testing.assert_array_equal(fresh()(PROTEINS[:4]), expected)
        np.testing.assert_array_equal(fresh()(PROTEINS[:3][::-1], PROTEINS[1:4]), expected[2::-1, 1:4])
    wider = fresh()(PROTEINS)  # some are known, others are new
    np.testing.assert_array_equal(wider[:4, :4], expected)
    (tmp_path / "alignments.sqlite").write_bytes(b"no database at all" * 100)
    np.testing.assert_array_equal(fresh()(PROTEINS), wider)
    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(tmp_path / "alignments.sqlite" / "no folder"))
    np.testing.assert_array_equal(fresh()(PROTEINS), wider)


@needs_parasail
def test_a_strange_entry_on_disk_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(alignments, "_WORTH", 1)
    monkeypatch.setattr(alignments, "_stores", {})
    expected = vt.SmithWaterman(open=13)(PROTEINS[:3])
    with closing(sqlite3.connect(tmp_path / "alignments.sqlite")) as file, file:
        file.execute("update scores set found = 'text'")
    monkeypatch.setattr(alignments, "_stores", {})
    np.testing.assert_array_equal(vt.SmithWaterman(open=13)(PROTEINS[:3]), expected)


@needs_parasail
def test_a_sequence_of_unknown_letters_is_like_itself():
    words = ["XXXX", "MKTA", "XXXX"]
    kernel = vt.SmithWaterman()
    assert kernel(words).tolist()[0] == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(kernel.diagonal(words), 1.0)
    np.testing.assert_array_equal(vt.Radial(kernel).diagonal(words), 1.0)
    assert_allclose(vt.Radial(kernel, 0.5)(words), np.exp(-(1.0 - kernel(words))))


@needs_parasail
def test_more_sequences_than_are_remembered(monkeypatch):
    expected = vt.SmithWaterman(extend=2)(PROTEINS)
    monkeypatch.setattr(alignments, "_MOST", 2)
    np.testing.assert_array_equal(vt.SmithWaterman(extend=2)(PROTEINS), expected)


# In models


def graph():
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(pd.DataFrame({"id": list("abcdefg"), "smiles": DRUGS}), pd.Series(PROTEINS, index=list("vwxyz")))
    return X, rng.standard_normal(len(X))


@needs_rdkit
@needs_parasail
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_models_of_strings_are_those_of_their_kernel_matrices(form):
    X, y = graph()
    start, end = vt.Morgan() + vt.Constant(0.3), vt.Spectrum(2) * vt.SmithWaterman()
    model = vt.KronRidge(start, end, alpha=0.1, form=form).fit(X, y)
    matrices = vt.Edges(X.start, X.end, start(DRUGS), end(PROTEINS))
    expected = vt.KronRidge("precomputed", "precomputed", alpha=0.1).fit(matrices, y).predict(matrices)
    assert_allclose(model.predict(X), expected, atol=1e-5)
    new = model.predict_grid(["CCCO"], pd.Series(["MKTAYIAKQ"], index=["new"]))
    assert new.shape == (1, 1)
    assert_allclose(model.predict_grid(DRUGS, PROTEINS).ravel(), model.predict(X), atol=1e-8)
    assert clone(model).start_kernel.first.radius == 2


@needs_rdkit
def test_a_grid_search_reaches_their_parameters():
    X, y = graph()
    grid = {"start_kernel__radius": [1, 2], "end_kernel__k": [1, 3]}
    found = GridSearchCV(vt.KronRidge(vt.Morgan(), vt.Spectrum()), grid, cv=vt.VertexKFold(2, 2, random_state=0))
    assert len(found.fit(X, y).cv_results_["params"]) == 4


def test_kernels_of_the_other_kind_are_refused():
    X, y = graph()
    with pytest.raises(
        ValueError, match=r"start_kernel is linear, but .* strings, those of the column 'smiles'.*dummies"
    ):
        vt.KronRidge().fit(X, y)
    numbers = vt.Edges.grid(np.eye(3), np.eye(3))
    with pytest.raises(
        ValueError,
        match=r"end_kernel is spectrum\(k=3, groups=False\), which is for strings, but end_features has numbers",
    ):
        vt.KronRidge("linear", vt.Spectrum()).fit(numbers, np.arange(9.0))
    model = vt.KronRidge(vt.Constant(), vt.Spectrum()).fit(X, y)
    with pytest.raises(ValueError, match="end_features has numbers, but the model was trained with strings"):
        model.predict_grid(DRUGS, np.eye(3))


@needs_rdkit
@needs_parasail
def test_a_search_takes_strings():
    rng = np.random.default_rng(0)
    chains = ["C" * n + tail for n in range(1, 9) for tail in ("O", "N", "c1ccccc1")]
    sequences = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40)) for _ in range(12)]
    X = vt.Edges.grid(
        pd.DataFrame({"id": range(24), "smiles": chains}), pd.DataFrame({"id": range(12), "seq": sequences})
    )
    y = np.array([len(chains[i]) for i in X.start]) + 0.1 * rng.standard_normal(len(X))
    model = vt.AutoKron(new="start", random_state=0).fit(X, y)
    assert "morgan" in " ".join(model.search_["start_kernel"])
    assert "alignment" in " ".join(model.search_["end_kernel"])
    assert model.score_ > 0.5
    assert model.predict_grid(["CCCCCCCCCO"], sequences[:2]).shape == (1, 2)


@needs_rdkit
@needs_parasail
@pytest.mark.slow
def test_real_strings_against_rdkit_and_parasail():
    import parasail
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    generators = rdFingerprintGenerator
    drugs = pd.read_csv(folder_of("kiba") / "start_vertices.csv.gz")["smiles"][::7].tolist()
    targets = pd.read_csv(folder_of("kiba") / "end_vertices.csv.gz")["sequence"][::5].tolist()
    generator = generators.GetMorganGenerator(radius=2, fpSize=2048)
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in drugs]
    expected = np.array([DataStructs.BulkTanimotoSimilarity(one, bits) for one in bits])
    assert_allclose(vt.Morgan(parent=False)(drugs), expected, atol=1e-12)
    scores = np.array([[parasail.sw(a, b, 11, 1, parasail.blosum62).score for b in targets] for a in targets], float)
    own = np.sqrt(np.diagonal(scores))
    assert_allclose(vt.SmithWaterman()(targets), scores / np.outer(own, own), atol=1e-12)


def test_one_compound_has_one_form_however_its_charge_is_written():
    pytest.importorskip("rdkit")
    from vectrick.data.strings.molecules import canonical

    for same in (
        ("CC(=O)[O-]", "CC(=O)[O-1]", "CC(=O)[O-:1]", "CC(=O)[OH:3]", "CC(=O)O", "[Na+].CC(=O)[O-1]", "[CH3:1]C(=O)O"),
        ("C[NH3+]", "C[NH3+1]", "C[NH3+:2]", "CN", "C[NH2:7]"),
        ("CCO", "[2H]C([2H])([2H])CO", "[CH3:1][CH2:2][OH:3]", "[13CH3]CO"),
    ):
        assert len({canonical(smiles) for smiles in same}) == 1
        values = vt.Morgan()(list(same))
        assert values.min() == pytest.approx(1.0)
