"""The files that the commands on the pages name: small, simulated, with the ids of the pages."""

import numpy as np
import pandas as pd

SMILES = """
CC(=O)Oc1ccccc1C(=O)O Cn1cnc2c1c(=O)n(C)c(=O)n2C CC(=O)Nc1ccc(O)cc1 CC(C)Cc1ccc(cc1)C(C)C(=O)O OC(=O)c1ccccc1O CCO
c1ccccc1N CCN(CC)CC CC(C)O c1ccc2[nH]ccc2c1 CCCC(=O)O CNC(C)Cc1ccccc1
""".split()  # noqa: SIM905


def make(folder):
    """Write all of them."""
    rng = np.random.default_rng(0)
    _drugs(folder / "gpcr", rng)
    _proteins(folder, rng)
    _lake(folder / "lake", rng)
    _molecules(folder, rng)


def _similarity(features, ids):
    squares = ((features[:, None] - features) ** 2).sum(axis=2)
    return pd.DataFrame(np.exp(-squares), index=pd.Index(ids, name="id"), columns=ids)


def _drugs(folder, rng):
    folder.mkdir()
    drugs, targets = rng.uniform(-1, 1, (24, 2)), rng.uniform(-1, 1, (18, 2))
    names = ["D00095", *(f"D{i:05}" for i in range(100, 123))], ["hsa:154", *(f"hsa:{i}" for i in range(200, 217))]
    _similarity(drugs, names[0]).to_csv(folder / "start_kernel.csv")
    _similarity(targets, names[1]).to_csv(folder / "end_kernel.csv")
    rows = [(i, j) for i in range(24) for j in range(18) if (5 * i + 3 * j) % 4]
    labels = [1 if drugs[i] @ targets[j] + 0.2 * rng.standard_normal() > 0.2 else -1 for i, j in rows]
    edges = pd.DataFrame([(names[0][i], names[1][j]) for i, j in rows], columns=["start", "end"]).assign(label=labels)
    edges.to_csv(folder / "edges.csv", index=False)
    edges[["start", "end"]].head(5).to_csv(folder.parent / "pairs.csv", index=False)


def _proteins(folder, rng):
    features = rng.standard_normal((40, 6))
    frame = pd.DataFrame(features).add_prefix("t")
    frame.insert(0, "id", [f"P{i:03}" for i in range(40)])
    frame.to_csv(folder / "proteins.csv", index=False)
    i, j = (rng.integers(0, 40, 500) for _ in range(2))
    labels = np.where((features[i] * features[j]).sum(axis=1) > 0, 1, -1)
    edges = pd.DataFrame({"start": frame.id.to_numpy()[i], "end": frame.id.to_numpy()[j], "label": labels})
    edges[i < j].drop_duplicates(["start", "end"]).to_csv(folder / "ppi.csv", index=False)


def _lake(folder, rng):
    (folder / "edges").mkdir(parents=True)
    users = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc")).assign(id=[f"u{i}" for i in range(60)])
    items = pd.DataFrame(rng.standard_normal((50, 3)), columns=list("xyz")).assign(id=[f"i{i}" for i in range(50)])
    users.to_parquet(folder / "start_features.parquet")
    items.to_parquet(folder / "end_features.parquet")
    for month in range(3):
        u, i = rng.integers(0, 60, 800), rng.integers(0, 50, 800)
        stars = 3 + users.a.to_numpy()[u] * items.x.to_numpy()[i] + 0.3 * rng.standard_normal(800)
        frame = pd.DataFrame({"start": users.id.to_numpy()[u], "end": items.id.to_numpy()[i], "label": stars})
        frame.to_parquet(folder / "edges" / f"month-{month}.parquet")


def _molecules(folder, rng):
    letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
    sequences = {f"T{i}": "".join(rng.choice(letters, 60)) for i in range(8)}
    (folder / "drugs.smi").write_text("".join(f"{smiles} drug{i}\n" for i, smiles in enumerate(SMILES)))
    (folder / "library.smi").write_text("CCCO new1\nc1ccccc1O new2\n")
    (folder / "targets.fasta").write_text("".join(f">{name}\n{text}\n" for name, text in sequences.items()))
    rows = [(f"drug{i}", name) for i in range(len(SMILES)) for name in sequences]
    edges = pd.DataFrame(rows, columns=["start", "end"]).assign(kiba_score=rng.normal(11, 1, len(rows)))
    edges.sample(80, random_state=0).to_csv(folder / "affinities.csv", index=False)
