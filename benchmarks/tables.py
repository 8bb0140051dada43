"""Markdown tables of measurements, from the result files of benchmarks and experiments.

``python -m benchmarks.tables`` prints all of them. The README and the site contain them; no number is typed by hand.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from experiments import paper
from vectrick.operators.plan import format_seconds

ROOT = Path(__file__).parent.parent
RESULTS, EXPERIMENTS = ROOT / "benchmarks" / "results", ROOT / "experiments" / "results"


def read(name: str) -> dict[str, Any]:
    """Return the contents of a result file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def conditions(name: str) -> str:
    """Return the machine and the date of a result file."""
    about = read(name)
    if "device" in about:
        return f"One {about['device']}, torch {about['torch']}, {about['date']}."
    machine = about["machine"]
    versions = [f"{what} {machine[what]}" for what in ("version", "numpy") if what in machine]
    also = f" ({', '.join(versions).replace('version', 'vectrick')})" if versions else ""
    return f"{machine['threads']} cores of a server CPU ({machine['cpu']}), {machine['date']}{also}."


def count(number: float) -> str:
    """Return a whole number with spaces between thousands.

    >>> count(10240000)
    '10 240 000'
    """
    return f"{number:,.0f}".replace(",", " ")


def ratio(number: float) -> str:
    """Return a ratio as text.

    >>> ratio(1762.4), ratio(3.14159)
    ('1 762', '3.1')
    """
    return count(number) if number >= 10 else f"{number:.2g}"


def size(n_bytes: float) -> str:
    """Return a number of bytes with a readable unit."""
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"


def gpu_row(what: str) -> dict[str, Any]:
    """Return a row of the measurements on a GPU."""
    return next(row for row in read("gpu-h200")["rows"] if row["what"] == what)


def headline() -> str:
    """Return the table of the README: the paper, RLScore, boosted trees, and vectrick on two cores and on a GPU."""
    elsewhere, training = read("elsewhere"), read("training")
    small = {row["model"]: row for row in training["checker"] if row["dtype"] == "float64"}
    large = {row["model"]: row for row in training["checker_plus"] if row["dtype"] == "float64"}
    rows = []
    for model in ("KronRidge", "KronSVM"):
        theirs, ours = elsewhere["RLScore"][model], small[model]
        rows.append([
            f"{model}, 250 000 edges: time, AUC", "", f"{theirs['seconds']} s, {theirs['auc']:.3f}", "",
            f"**{format_seconds(median(ours['seconds']))}**, {median(ours['auc']):.3f}", "",
        ])  # fmt: skip
    for model in ("KronRidge", "KronSVM"):
        ours, seconds, auc = large[model], *(paper.of(what, model, "Checker+") for what in (paper.SECONDS, paper.AUC))
        card = gpu_row(f"Checker+ {model}, edges on the device")
        rows.append([
            f"{model}, 10 240 000 edges", f"{count(seconds)} s, {auc:.2f}", "", "",
            f"**{ours['seconds']:.1f} s**, {ours['auc']:.3f}",
            f"**{format_seconds(card['seconds'])}**, {card['auc']:.3f}",
        ])  # fmt: skip
    best = max(paper.of(paper.AUC, method, "Ki") for method in paper.METHODS)
    tuned = pd.read_csv(EXPERIMENTS / "tuned.csv")
    ki = tuned[tuned["data"] == "Ki"].drop_duplicates(["seed", "fold"])["score"].mean()
    rows.append(["Ki, new drug and new target: AUC", f"{best:.2f}", "", "", f"**{ki:.3f}**", ""])
    means = automatic_means()
    rows.append([
        "GPCR, new drug and new target: AUC", "", "",
        f"{means['gpcr', 'both', 'boosted trees']:.3f}", f"**{means['gpcr', 'both', 'AutoKron']:.3f}**", "",
    ])  # fmt: skip
    cold = pd.read_csv(EXPERIMENTS / "cold.csv")
    kiba = cold[(cold["data"] == "KIBA") & (cold["setting"] == "both")].groupby("method")["CI"].mean()
    rows.append([
        "KIBA from SMILES and sequences, both new: concordance", "", "", f"{kiba['boosted trees']:.3f}",
        f"**{kiba['AutoKron']:.3f}**", "",
    ])  # fmt: skip
    return table(["", "the paper", "RLScore", "boosted trees", "vectrick, two cores", "one H200"], rows)


def automatic_means() -> Any:
    """Return the mean score of each method by data set and setting, over divisions and folds."""
    rows = pd.read_csv(EXPERIMENTS / "automatic.csv")
    return rows.groupby(["data", "new", "method"])["score"].mean()


def training() -> str:
    """Return training times, compared with other libraries and the paper."""
    found, elsewhere = read("training"), read("elsewhere")
    rows = []
    for row in found["checker"]:
        other = elsewhere["RLScore"][row["model"]]
        low, high = min(row["auc"]), max(row["auc"])
        rows.append([
            f"Checker, 250 000 edges, {row['model']}, {row['dtype']}",
            f"{format_seconds(median(row['seconds']))}, AUC {low:.3f} to {high:.3f}",
            f"RLScore {other['seconds']} s, AUC {other['auc']:.3f}",
        ])  # fmt: skip
    for row in found["checker_plus"]:
        seconds, auc = (paper.of(what, row["model"], "Checker+") for what in (paper.SECONDS, paper.AUC))
        rows.append([
            f"Checker+, 10 240 000 edges, {row['model']}, {row['dtype']}",
            f"{row['seconds']:.1f} s, AUC {row['auc']:.3f}, peak {size(row['peak'])}",
            f"the paper: {count(seconds)} s, AUC {auc:.2f}",
        ])  # fmt: skip
    beside = found["libsvm"]
    ours, theirs = beside["vectrick"], beside["libsvm"]
    rows += [
        [f"Checker, {count(beside['edges'])} edges, KronSVM", f"{format_seconds(ours['fit'])}, AUC {ours['auc']:.3f}",
         f"LIBSVM {theirs['fit']:.0f} s, AUC {theirs['auc']:.3f}: {ratio(theirs['fit'] / ours['fit'])} times"],
        ["as many predictions", format_seconds(ours["predict"]),
         f"LIBSVM {theirs['predict']:.1f} s: {ratio(theirs['predict'] / ours['predict'])} times"],
        ["LIBSVM's own model through the vec trick", format_seconds(beside["from_svc"]["predict"]),
         f"the same predictions to {beside['from_svc']['difference']:.0e}"],
    ]  # fmt: skip
    growth = found["growth"]
    span = f"{count(growth['edges'][0])} to {count(growth['edges'][-1])}"
    slopes = {name: part["slope"] for name, part in growth.items() if name != "edges"}
    told = "; ".join(f"{name} {slope:.2f}" for name, slope in slopes.items())
    rows.append([f"log time over log edges, {span}: slope", told, "O((m + q) n) is 1.5"])
    return table(["what", "vectrick", "beside"], rows)


def products() -> str:
    """Return the times of one product in float64, compared with baselines."""
    rows = []
    for case in read("products")["cases"]:
        if case["dtype"] == "float64" and case["vectors"] == 1:
            graph = f"{count(case['start'])} × {count(case['end'])}, {100 * case['density']:.3g} %"
            others = [case["baselines"].get(name) for name in ("dense BLAS", "SciPy sparse", "Algorithm 1")]
            times = ["" if not seconds else format_seconds(seconds) for seconds in others]
            rows.append([graph, count(case["edges"]), format_seconds(case["paths"][case["planned"]]), *times])
    return table(["graph", "edges", "vectrick", "dense BLAS", "SciPy sparse", "Algorithm 1, compiled"], rows)


def startup() -> str:
    """Return the startup times of a process, and the memory of a large product."""
    found = read("products")
    rows = [[name.removesuffix(", s"), format_seconds(value)] for name, (value, _) in found["startup"].items()]
    rows += [[name, f"{value:.2f}"] for name, (value, _) in found["memory"].items()]
    return table(["what", "measured"], rows)


def selection() -> str:
    """Return the times of alpha paths, of a cross-validation and of scores."""
    found = read("selection")
    rows = [[f"Ki, {name}", format_seconds(seconds)] for name, seconds in found["path"].items()]
    rows.append(["Ki, ninefold cross-validation of KronSVM", format_seconds(found["ninefold"]["seconds"])])
    rows += [[f"{name}, a million edges", format_seconds(seconds)] for name, seconds in found["metrics"].items()]
    return table(["what", "time"], rows)


def commands() -> str:
    """Return the times of commands, each in a separate process."""
    rows = []
    for row in read("commands")["rows"]:
        more = [f"{row['pairs per second'] / 1e6:.1f} million pairs a second"] if "pairs per second" in row else []
        more += [f"{row['peak GB']:.2f} GB"] if "peak GB" in row else []
        rows.append([row["what"], ", ".join([format_seconds(row["seconds"]), *more])])
    return table(["what", "time"], rows)


def pairwise() -> str:
    """Return the product times of pairwise kernels, divided by the time of one Kronecker product."""
    columns = read("pairwise")["products"]
    rows = [
        [f"`{name}`", *(f"{times[name] / times['kronecker']:.2f}" for times in columns.values())]
        for name in next(iter(columns.values()))
    ]
    return table(["", *(f"{100 * float(density):.0f} % of 1000 × 1000 pairs" for density in columns)], rows)


def preconditioner() -> str:
    """Return the fits with and without the degree model."""
    rows, fits = [], read("preconditioner")["fits"]
    plain = {_fit(row): row for row in fits if row.get("preconditioner") == "none"}
    for row in fits:
        if row.get("preconditioner") == "auto" and _fit(row) in plain:
            other = plain[_fit(row)]
            data, edges, model, alpha, form = _fit(row)
            name = f"{data}, {count(edges)} edges, {model}{', ' + form if form else ''}"
            rows.append([
                name, f"{alpha:g}", f"{count(other['products'])}; {format_seconds(other['seconds'])}",
                f"{count(row['products'])}; {format_seconds(row['seconds'])}",
                "the degree model" if row["used"] == "kronecker" else "none",
                f"{row['auc']:.3f}" if row.get("auc") else "",
            ])  # fmt: skip
    head = ["fit", "alpha", "without: products; time", "`auto`: products; time", "`auto` took", "AUC, both new"]
    return table(head, rows)


def _fit(row: dict[str, Any]) -> tuple[str, int, str, float, str]:
    return row["data"], row["edges"], row["model"], row["alpha"], row.get("form", "")


def scale() -> str:
    """Return the measurements with lakes."""
    found = read("scale")
    streamed, memory, small = found["streamed"], found["in_memory"], found["small"]
    graph = f"{count(found['edges'])} edges, {count(found['vertices'])}² vertices, {found['features']} features"
    rows = [
        [f"{graph}: peak memory",
         f"{size(streamed['peak'])}, {size(streamed['spilled'])} of edges in a file"],
        ["bytes kept for each edge", f"{streamed['bytes_per_edge']:.1f}"],
        ["reading and mapping text ids", format_seconds(found["reading"]["seconds"])],
        ["one pass over the edges", format_seconds(streamed["pass"])],
        ["the same product in memory", f"{format_seconds(memory['product'])}, peak {size(memory['peak'])}"],
        ["10 million edges: fit to the lake, including reading", format_seconds(small["streamed"]["cold"])],
        ["10 million edges: fit in memory", format_seconds(small["in_memory"]["seconds"])],
    ]  # fmt: skip
    return table(["what", "measured"], rows)


def gpu() -> str:
    """Return all measurements on a GPU."""
    rows = []
    for row in read("gpu-h200")["rows"]:
        more = [f"AUC {row['auc']:.3f}"] if row.get("auc") else []
        more += [f"{count(row['products'])} products"] if row.get("products") else []
        more += [f"peak {size(row['peak'])}"] if row.get("peak") else []
        more += [f"{row['ratio']:.2f} times the time of the fastest path"] if row.get("ratio") else []
        what = row["what"].removesuffix(" over the fastest path")
        rows.append([what, format_seconds(row["seconds"]), ", ".join(more)])
    return table(["what", "time", "further results"], rows)


TABLES = {
    "headline": headline, "training": training, "products": products, "startup": startup, "selection": selection,
    "commands": commands, "pairwise": pairwise, "preconditioner": preconditioner, "scale": scale, "gpu": gpu,
}  # fmt: skip


def main() -> None:
    for name, make in TABLES.items():
        print(f"## {name}\n\n{make()}\n")


if __name__ == "__main__":
    main()
