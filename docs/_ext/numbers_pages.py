"""The section Numbers: pages made from the files that benchmarks and experiments have written."""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent.parent
NUMBERS = HERE / "numbers"
_SPEED = {
    "training": ("Training and prediction", "Test graphs have no vertex in common with the training graphs. Times are "
                 "medians; where nothing else is said, solver and form are the defaults. RLScore was measured on "
                 "another machine of this kind."),
    "products": ("One product", "The time of one product with one vector in float64, two threads for everybody. Dense "
                 "BLAS forms the whole matrix of the pairs of vertices; the kernel matrix of the edges of the last row "
                 "would take 839 TB."),
    "startup": ("Start and memory", "What a process pays before its first result."),
    "preconditioner": ("The preconditioner", "Fits to convergence without the degree model of the graph, and with what "
                       "`preconditioner=\"auto\"` took. [How it works](../guide/preconditioner.md)."),
    "selection": ("Choosing and scoring", "A path has 41 values of alpha."),
    "pairwise": ("Pairwise kernels", "The time of a product over that of one Kronecker product. "
                 "[What they assume](../guide/pairwise.md)."),
    "scale": ("Lakes", "Edges in Parquet files with text ids, streamed with `max_memory=\"1GB\"`. "
              "[How it works](../guide/scale.md)."),
    "commands": ("Commands", "Each command is a process of its own."),
}  # fmt: skip


def pages() -> dict[str, str]:
    """Return the pages by name."""
    from benchmarks import tables

    from experiments.__main__ import EXPERIMENTS, INTRODUCTION, section_of

    speed = ["# Speed and memory\n", "Measured by `make bench`. Ratios within one table are from one run.\n"]
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
        "# Numbers\n\nEvery figure of this section is read from a file that a run has written, in `benchmarks/results` "
        "and `experiments/results`; no measurement is typed by hand.\n\n"
        f"{tables.headline()}\n\nTimes are those of training. Boosted trees and `vectrick fit` see the same folds; "
        "the paper used a division of its own, and its authors' desktop (Intel Core i7-3770). RLScore is their own. "
        "With the paper's own solver settings 10 240 000 edges take longer: "
        "[the paper, reproduced](paper.md).\n\n"
        "```{toctree}\n:maxdepth: 2\n\npaper\nspeed\ngpu\n```\n"
    )
    return {"index": index, "paper": "\n".join(paper), "speed": "\n".join(speed), "gpu": gpu}


def write(app: Sphinx) -> None:
    """Write the pages that have changed, and copy the figures that they show."""
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
    """Make the pages before the others are read."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
