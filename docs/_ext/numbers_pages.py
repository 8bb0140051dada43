"""The section Numbers: pages generated from the result files of benchmarks and experiments."""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent.parent
NUMBERS = HERE / "numbers"
_SPEED = {
    "training": ("Training and prediction", "Test graphs share no vertices with the training graphs. Times are "
                 "medians; unless stated otherwise, solver and form are the defaults. RLScore was measured on "
                 "another machine of the same kind."),
    "products": ("One product", "The time of one product with one vector in float64; all methods use two threads. "
                 "Dense BLAS forms the whole matrix of all vertex pairs; the edge kernel matrix of the last row "
                 "would take 839 TB."),
    "startup": ("Start and memory", "The time and memory that a process needs for its first result."),
    "preconditioner": ("The preconditioner", "Fits to convergence without the degree model of the graph, and with the "
                       "choice of `preconditioner=\"auto\"`. [How it works](../guide/preconditioner.md)."),
    "selection": ("Choosing and scoring", "A path consists of 41 values of alpha."),
    "pairwise": ("Pairwise kernels", "The time of a product, divided by the time of one Kronecker product. "
                 "[Assumptions of the kernels](../guide/pairwise.md)."),
    "scale": ("Lakes", "Edges in Parquet files with text ids, read in passes with `max_memory=\"1GB\"`. "
              "[How it works](../guide/scale.md)."),
    "commands": ("Commands", "Each command runs in a separate process."),
}  # fmt: skip


def pages() -> dict[str, str]:
    """Return the text of each page by name."""
    from benchmarks import tables

    from experiments.__main__ import EXPERIMENTS, INTRODUCTION, section_of

    speed = ["# Speed and memory\n", "Measured by `make bench`. All ratios in a table are from one run.\n"]
    for name, (title, words) in _SPEED.items():
        source = "products" if name == "startup" else name
        made = tables.TABLES[name]()
        speed.append(f"## {title}\n\n{words}\n\n{made}\n\n*{tables.conditions(source)}*\n")
    paper = [INTRODUCTION, *(section_of(each, tables.EXPERIMENTS) for each in EXPERIMENTS.values())]
    gpu = (
        "# On a GPU\n\nMeasured by `python -m benchmarks.gpu`; times are medians of device events. "
        "[How to use a GPU](../tutorials/11_gpu.rst).\n\n"
        f"{tables.gpu()}\n\n*{tables.conditions('gpu-h200')}*\n"
    )
    index = (
        "# Numbers\n\nEvery number in this section is read from a result file of a run, in `benchmarks/results` "
        "and `experiments/results`; no measurement is typed by hand.\n\n"
        f"{tables.headline()}\n\nTimes are training times. Boosted trees and vectrick use the same folds; "
        "the paper used another split, and its authors' desktop (Intel Core i7-3770). RLScore is the authors' library. "
        "With the solver settings of the paper, 10 240 000 edges take longer: "
        "[the paper, reproduced](paper.md).\n\n"
        "```{toctree}\n:maxdepth: 2\n\npaper\nspeed\ngpu\n```\n"
    )
    return {"index": index, "paper": "\n".join(paper), "speed": "\n".join(speed), "gpu": gpu}


def write(app: Sphinx) -> None:
    """Write the pages that have changed, and copy their figures."""
    from benchmarks import tables

    NUMBERS.mkdir(exist_ok=True)
    for name, text in pages().items():
        linked = re.sub(r"\]\(\.\./docs/", "](../", text)
        page = NUMBERS / f"{name}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != linked:
            page.write_text(linked, encoding="utf-8")
    for file in [*tables.EXPERIMENTS.glob("*.png"), *tables.EXPERIMENTS.glob("*.csv")]:
        target = NUMBERS / file.name
        if not target.exists() or target.read_bytes() != file.read_bytes():
            shutil.copyfile(file, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx reads its sources."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
