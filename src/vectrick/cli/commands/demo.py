"""``vectrick demo``: train, validate and report on built-in data, in under a minute."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vectrick.cli.command import command_line
from vectrick.cli.output import Output

EXAMPLE = "vectrick demo"

_SIZE, _SMALL = 1000, 120


def run(
    out: Output,
    report: Annotated[Path, typer.Option("--report", help="The report to write, .html.")] = Path("vectrick_demo.html"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the model.")] = Path("vectrick_demo.vt"),
    small: Annotated[bool, typer.Option("--small", help="A graph too small to learn, for tests.", hidden=True)] = False,
    force: Annotated[bool, typer.Option("--force/--no-force", "-f", help="Replace files of an earlier demo.")] = True,
) -> None:
    """Train, validate and report on built-in data, in under a minute.

    The data is the paper's Checker simulation. A vertex has one number. An edge is +1 if the numbers of its two
    vertices, rounded down, are both even or both odd. A fifth of the labels is wrong, so no model can reach an AUC over
    0.8. No linear model can learn it.
    """
    from vectrick._files import check_output, check_targets
    from vectrick.automatic import AutoKron
    from vectrick.cli.automatic import beside_baselines_inside, summarise_search, train_automatic
    from vectrick.cli.baselines import QUICK, named_baselines
    from vectrick.cli.commands.evaluate import show_evaluation
    from vectrick.reports import check_report, fit_report

    check_targets({"--output": output, "--report": report}, [])
    check_output(output, force)
    check_report(report, force)
    data = _checker(_SMALL if small else _SIZE)
    out.say("The Checker graph of the paper: an edge is +1 if the numbers of its vertices are both even or both odd.")
    out.say("A fifth of the labels is wrong, so no model can reach an AUC over 0.8. Models are chosen by how well they")
    out.say(f"predict edges between vertices that were held out. {data.X}\n")
    trained = train_automatic(out, AutoKron("both", random_state=0), data)
    summarise_search(out, trained)
    trained.model.save(output, about={"classes": data.classes})
    out.say("\nOn the same held-out edges, compared with trees on the same numbers and the means of the vertices:\n")
    rows = beside_baselines_inside(trained, named_baselines(QUICK), out)
    show_evaluation(out, rows)
    fit_report(trained, command_line(), out.warnings, evaluation=rows).write(report)
    out.result |= {"model": str(output), "report": str(report), "seconds": out.seconds}
    out.say(f"\n{out.seconds:.0f} s in all. Next steps:")
    out.say(f"  {report}    the report: open it in a browser")
    out.say(f"  {output}      the model: vectrick info {output}; vectrick rank {output} --start s0001 --top 5")
    out.say("  your own data: vectrick fit DATA -o model.vt --report report.html; vectrick fit --help")


def _checker(size: int) -> Any:
    """Return the built-in data as a data set."""
    import vectrick as vt
    from vectrick.data import Edges, VertexTable
    from vectrick.data.files.dataset import Dataset

    X, y = vt.datasets.make_checkerboard(size, random_state=0)
    tables = []
    for letter, table in (("s", X.start_table), ("e", X.end_table)):
        named = VertexTable(table.features, table.name, [f"{letter}{i:04d}" for i in range(len(table))])
        named.columns = ["number"]
        tables.append(named)
    return Dataset(Edges._of(X.start, X.end, *tables), y, {"start": "features", "end": "features"}, classes=("-1", "1"))
