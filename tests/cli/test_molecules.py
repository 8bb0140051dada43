"""Molecules and sequences from files to a ranking, as users have them."""

import gzip
import re
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from tests.cli.commands import as_json, inside, vectrick
from tests.data import folder_of
from vectrick.data.files.dataset import ReadOptions
from vectrick.data.files.folder import read_dataset
from vectrick.data.strings.files import read_strings

pytestmark = pytest.mark.skipif(
    find_spec("rdkit") is None or find_spec("parasail") is None, reason="RDKit and parasail are not installed"
)

RINGS = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "c1ccoc1", "C1CCNCC1"]
TAILS = ["C", "CC", "O", "N", "C(=O)O", "CCl"]
MOLECULES = {f"d{i}": ring + tail for i, (ring, tail) in enumerate((r, t) for r in RINGS for t in TAILS)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirty molecules, sixteen sequences, and affinities in nM that rings and letters decide, some of them bounds."""
    folder, rng = tmp_path_factory.mktemp("molecules"), np.random.default_rng(0)
    letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
    parents = ["".join(rng.choice(letters, 60)) for _ in range(4)]
    sequences = {f"t{j}": "".join(np.where(rng.random(60) < 0.1, rng.choice(letters, 60), list(parents[j % 4])))
                 for j in range(16)}  # fmt: skip
    (folder / "drugs.smi").write_text("".join(f"{smiles}\t{name}\n" for name, smiles in MOLECULES.items()))
    (folder / "targets.fasta").write_text(
        "".join(f">{name} a protein\n{s[:30]}\n{s[30:]}\n" for name, s in sequences.items())
    )
    start, end = np.divmod(rng.permutation(30 * 16)[:360], 16)
    effect = rng.standard_normal((5, 4))
    value = 6 + effect[start // 6, end % 4] + 0.3 * (start % 6) + 0.1 * rng.standard_normal(360)
    nanomolar = 10 ** (9 - value)
    frame = pd.DataFrame({"drug": [f"d{i}" for i in start], "target": [f"t{j}" for j in end], "pkd": value,
                          "kd": nanomolar, "relation": np.where(value < 5.5, ">", "=")})  # fmt: skip
    frame["text"] = [
        f"> {min(kd, 3200):.4g}" if v < 5.5 else f"{kd:.4g}" for kd, v in zip(nanomolar, value, strict=True)
    ]
    frame.to_csv(folder / "affinities.csv", index=False)
    return folder


FILES = ("--edges", "affinities.csv", "--start-column", "drug", "--end-column", "target", "--start-smiles", "drugs.smi",
         "--end-sequences", "targets.fasta")  # fmt: skip


@pytest.fixture(scope="module")
def model(folder):
    inside("fit", *FILES, "--label-column", "pkd", "-o", "model.vt", "--new", "start", cwd=folder)
    return folder / "model.vt"


def test_from_strings_to_a_ranking(folder, model):
    asked = ("rank", model, "--start-smiles", "c1ccccc1CCC", "--top", "3", "--json")
    partners = as_json(*asked[:-1], cwd=folder, run=inside)["partners"]
    assert [line["start"] for line in partners] == ["c1ccccc1CCC"] * 3
    fitted = vt.load(model)
    expected = fitted.predict_grid(["c1ccccc1CCC"], fitted.end_table_)[0]
    assert partners[0]["score"] == pytest.approx(expected.max(), rel=1e-6)
    back = as_json("rank", model, "--end-sequences", "MKTAYIAKQRQISFVKSHFS", "--top", "2", cwd=folder, run=inside)
    assert {line["end"] for line in back["partners"]} == {"MKTAYIAKQRQISFVKSHFS"}
    assert "morgan" in inside("info", model, cwd=folder).stdout


def test_a_library_is_predicted_with_all_targets(folder, model):
    library = ["C" * n + "O" for n in range(1, 300)]
    (folder / "library.smi").write_text("\n".join(library))  # without ids: the strings are the ids
    inside("predict", model, "--start-smiles", "library.smi", "-o", "library.parquet", "--novelty", cwd=folder)
    frame = pd.read_parquet(folder / "library.parquet")
    assert len(frame) == 299 * 16
    fitted = vt.load(model)
    np.testing.assert_allclose(
        frame["score"].to_numpy()[:32], fitted.predict_grid(library[:2], fitted.end_table_).ravel()
    )


def test_invalid_strings_are_named_or_skipped(folder, model):
    (folder / "some.csv").write_text("id,smiles\na,CCO\nb,C1CC\nc,\n")
    done = inside("predict", model, "--start-smiles", "some.csv", "-o", "some.parquet", cwd=folder, code=2)
    assert "row 2, 'C1CC', is no molecule (2 of 3 molecules are invalid); --skip-invalid" in done.stderr
    assert not (folder / "some.parquet").exists()
    done = inside("predict", model, "--start-smiles", "some.csv", "-o", "some.parquet", "--skip-invalid", cwd=folder)
    assert "2 of 3 molecules are invalid, and were left out" in done.stderr
    assert set(pd.read_parquet(folder / "some.parquet")["start"]) == {"a"}
    fitted = vt.load(model)
    expected = fitted.predict_grid(["CCO"], fitted.end_table_)[0, fitted.end_table_.ids.tolist().index("t1")]
    (folder / "asked.csv").write_text("drug,target\na,t1\nb,t2\na,t0\nc,t1\nd0,t1\n")
    asked = ("predict", model, "asked.csv", "--start-smiles", "some.csv", "--novelty", "--skip-invalid")
    for name, read in (("asked.parquet", pd.read_parquet), ("asked.out.csv", pd.read_csv)):
        done = inside(*asked, "-o", name, "--start-column", "drug", "--end-column", "target", cwd=folder)
        assert "2 of 5 edges have a vertex that was left out, and got no prediction" in done.stderr
        frame = read(folder / name)
        assert frame["start"].tolist() == ["a", "b", "a", "c", "d0"]
        for column in ("score", "novelty"):
            assert frame[column].isna().tolist() == [False, True, False, True, False]
        assert frame["score"][0] == pytest.approx(expected)
    (folder / "bad.fasta").write_text((folder / "targets.fasta").read_text() + ">t3b\nMKT-AY\n")
    text = (folder / "targets.fasta").read_text()
    (folder / "lacking.fasta").write_text(re.sub(r">t3 a protein\n\w+\n\w+\n", ">t3\n\n", text))
    files = [*FILES[:-1], "lacking.fasta"]
    done = inside("info", *files, "--label-column", "pkd", cwd=folder, code=2)
    assert "row 4 is empty (1 of 16 sequences are invalid)" in done.stderr
    facts = as_json("info", *files, "--label-column", "pkd", "--skip-invalid", cwd=folder, run=inside)
    assert facts["end_vertices"] == 15
    n_lost = (pd.read_csv(folder / "affinities.csv")["target"] == "t3").sum()
    assert facts["edges"] == 360 - n_lost
    bad = inside("info", *FILES[:-1], "bad.fasta", "--label-column", "pkd", cwd=folder, code=2)
    assert "row 17, 'MKT-AY', has the letter '-' at 4" in bad.stderr


def test_edges_of_skipped_molecules_in_a_lake_are_left_out(folder, model):
    (folder / "few.csv").write_text("id,smiles\na,CCO\nb,C1CC\n")
    (folder / "asked").mkdir()
    asked = pd.DataFrame({"drug": ["a", "b", "a", "d0"], "target": ["t1", "t2", "t0", "t1"]})
    asked.to_parquet(folder / "asked" / "0.parquet")
    columns = ("--start-column", "drug", "--end-column", "target", "--start-smiles", "few.csv")
    done = inside("predict", model, "asked", "-o", "answers", *columns, "--skip-invalid", cwd=folder)
    assert "1 edges of unknown vertices" in done.stderr
    assert pd.read_parquet(folder / "answers")["drug"].tolist() == ["a", "a", "d0"]
    asked.assign(drug="nobody").to_parquet(folder / "asked" / "1.parquet")
    done = inside("predict", model, "asked", "-o", "others", *columns, "--skip-invalid", cwd=folder, code=2)
    assert "'nobody'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--start-smiles", "C1CC"], "but there is no such file, and as one of molecules it is no molecule"),
        (["--start-smiles", "none.smi"], "there is no file none.smi"),
        (["--start-sequences", "MKT"], "are molecules: give --start-smiles"),
        (["--start-features", "drugs.csv"], "are molecules: give --start-smiles"),
        (["--start-smiles", "CC", "--start-sequences", "MKT"], "--start-smiles and --start-sequences are both given"),
    ],
)
def test_what_cannot_be_meant_is_refused(folder, model, arguments, message):
    done = inside("rank", model, *arguments, cwd=folder, code=2)
    assert message in done.stderr


def test_salts_isotopes_and_copies_are_told(folder):
    (folder / "salts.smi").write_text("CCN.Cl a\nNCC b\n[2H]OC c\nCCCC d\n")
    with pytest.warns(
        UserWarning, match=r"1 are salts or mixtures.*1 have isotopes.*1 are the same compound.*'b' and 'a'"
    ):
        table = read_strings(folder / "salts.smi", "start", "smiles")
    assert table.ids.tolist() == list("abcd")


def test_files_that_strings_are_in(tmp_path):
    rows = [("a", "CCO"), ("b", "CCN")]
    (tmp_path / "x.smi").write_text("SMILES name\nCCO a\n\nCCN b\n")
    (tmp_path / "y.csv").write_text("id,weight,canonical_smiles\na,1,CCO\nb,2,CCN\n")
    (tmp_path / "z.tsv").write_text("compound\tstructure\na\tCCO\nb\tCCN\n")
    with gzip.open(tmp_path / "w.smi.gz", "wt") as file:
        file.write("CCO\ta\nCCN\tb\n")
    pd.DataFrame(rows, columns=["id", "smiles"]).to_parquet(tmp_path / "v.parquet")
    for name, usual in (
        ("x.smi", "id"),
        ("y.csv", "id"),
        ("z.tsv", "compound"),
        ("w.smi.gz", "id"),
        ("v.parquet", "id"),
    ):
        table = read_strings(tmp_path / name, "start", "smiles", usual=usual)
        assert list(zip(table.ids, table.strings, strict=True)) == rows
    with gzip.open(tmp_path / "s.fasta.gz", "wt", encoding="utf-8-sig") as file:
        file.write("; a comment\n>one kinase\nmkt\nAYI*\n\n>two\nGGG\n")
    table = read_strings(tmp_path / "s.fasta.gz", "end", "sequences")
    assert list(zip(table.ids, table.strings, strict=True)) == [("one", "MKTAYI"), ("two", "GGG")]


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("a.smi", "", "smiles", "has no molecules"),
        ("a.smi", "CC a\nCN a\n", "smiles", "has 1 ids more than once: 'a'"),
        ("a.fasta", "MKT\n", "sequences", "line 1 is 'MKT', but a FASTA file begins with '>'"),
        ("a.fasta", ">\nMKT\n", "sequences", "line 1 has no id after '>'"),
        ("a.fasta", "", "sequences", "no line begins with '>'"),
        ("a.csv", "id,x,y\na,CC,1\n", "smiles", "has no column with 'smi' in the name"),
        ("a.txt", "CC", "smiles", "its name must end in"),
        ("a.smi", "CC a\nxx b\n", "smiles", "row 2, 'xx', is no molecule"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, kind, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_strings(tmp_path / name, "start", kind)


def test_folders_of_strings(folder, tmp_path):
    for name, to in (("drugs.smi", "start_smiles.smi"), ("targets.fasta", "end_sequences.fasta")):
        (tmp_path / to).write_bytes((folder / name).read_bytes())
    frame = pd.read_csv(folder / "affinities.csv").rename(columns={"drug": "start", "target": "end", "pkd": "label"})
    frame.to_csv(tmp_path / "edges.csv", index=False)
    data = read_dataset(tmp_path)
    assert data.kinds == {"start": "smiles", "end": "sequences"}
    assert data.X.start_table.text == "smiles"
    (tmp_path / "start_features.csv").write_text("id,x\nd0,1\n")
    with pytest.raises(ValueError, match=r"there are both start_features\.csv and start_smiles\.smi"):
        read_dataset(tmp_path)


def test_logarithms_and_bounds(folder):
    columns = {"edges": folder / "affinities.csv", "start_column": "drug", "end_column": "target"}
    strings = {"start_smiles": folder / "drugs.smi", "end_sequences": folder / "targets.fasta"}
    frame = pd.read_csv(folder / "affinities.csv")
    data = read_dataset(
        options=ReadOptions(**columns, **strings, label_column="kd", log="nM", relation_column="relation")
    )
    np.testing.assert_allclose(data.y, frame["pkd"])
    np.testing.assert_array_equal(data.bounds, np.where(frame["relation"] == ">", -1, 0))  # the logarithm turns them
    text = read_dataset(options=ReadOptions(**columns, **strings, label_column="text", log="nM"))
    np.testing.assert_array_equal(text.bounds, data.bounds)
    np.testing.assert_allclose(text.y[text.bounds == 0], frame["pkd"][text.bounds == 0], atol=1e-3)
    plain = read_dataset(
        options=ReadOptions(**columns, **strings, label_column="text")
    )  # without a logarithm they stay as they are
    np.testing.assert_array_equal(plain.bounds, -data.bounds)
    assert read_dataset(options=ReadOptions(**columns, **strings, label_column="kd", log="uM")).y[0] == pytest.approx(
        frame["pkd"][0] - 3
    )
    with pytest.raises(ValueError, match="--log is 'grams'"):
        read_dataset(options=ReadOptions(**columns, **strings, label_column="kd", log="grams"))
    frame.assign(kd=-frame["kd"]).to_csv(folder / "negative.csv", index=False)
    columns["edges"] = folder / "negative.csv"
    with pytest.raises(ValueError, match=r"column 'kd' is -.*, but --log takes positive concentrations"):
        read_dataset(options=ReadOptions(**columns, **strings, label_column="kd", log="nM"))
    with pytest.raises(ValueError, match=r"relation\[0\] is '"):
        read_dataset(options=ReadOptions(**columns, **strings, label_column="kd", log="nM", relation_column="pkd"))


def test_a_model_of_bounds(folder):
    arguments = (*FILES, "--label-column", "text", "--log", "nM")
    inside("fit", *arguments, "-o", "bounds.vt", "--manual", "--no-early-stopping", cwd=folder)
    model = vt.load(folder / "bounds.vt")
    assert model.loss == "censored"
    assert (model._source.labels["bound"] < 0).any()
    for refused in (["tune", *arguments, "--alphas", "1", "-o", "x.vt"], ["evaluate", *arguments, "--compare-kernels"]):
        assert "are bounds" in inside(*refused, cwd=folder, code=2).stderr
    done = inside("fit", *arguments, "-o", "other.vt", "--loss", "rank", cwd=folder, code=2)
    assert "some labels of column 'text' are bounds" in done.stderr


def test_a_grid_of_strings_has_their_usual_kernels(folder):
    arguments = (*FILES, "--label-column", "pkd", "--alphas", "0.1,1", "--folds", "2", "--no-nested", "-o", "tuned.vt")
    inside("tune", *arguments, "--force", cwd=folder)
    assert "Morgan" in repr(vt.load(folder / "tuned.vt").start_kernel)


@pytest.mark.slow
def test_clusters_and_reports(folder, tmp_path):
    arguments = (
        *FILES,
        "--label-column",
        "pkd",
        "--settings",
        "both,start",
        "--folds",
        "2",
        "--baselines",
        "vertex mean",
    )
    result = as_json("evaluate", *arguments, "--clusters", "0.5", "--report", tmp_path / "page.html", cwd=folder)
    plain = as_json("evaluate", *arguments, cwd=folder)
    score = {name: found["evaluation"][0]["mean"] for name, found in (("clusters", result), ("plain", plain))}
    assert score["clusters"] < score["plain"] + 0.1
    page = (tmp_path / "page.html").read_text()
    assert "How similar new vertices were" in page
    assert "Score by similarity" in page
    inside("evaluate", *arguments, "--clusters", "scaffold", cwd=folder)
    done = inside("evaluate", *arguments, "--clusters", "2", cwd=folder, code=2)
    assert "--clusters is '2'" in done.stderr


@pytest.mark.slow
def test_raw_strings_of_kiba_in_two_commands(tmp_path):
    kiba = folder_of("kiba")
    files = ("--edges", kiba / "edges.csv.gz", "--start-smiles", kiba / "start_vertices.csv.gz", "--end-sequences",
             kiba / "end_vertices.csv.gz", "--label-column", "kiba_score")  # fmt: skip
    done = vectrick("fit", *files, "-o", "kiba.vt", "--budget", "5", cwd=tmp_path, timeout=400)
    assert "AutoKron of values" in done.stdout
    ranked = as_json("rank", "kiba.vt", "--start-smiles", "CC(=O)Oc1ccccc1C(=O)O", "--top", "20", cwd=tmp_path)
    assert len(ranked["partners"]) == 20
