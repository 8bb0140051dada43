"""The page on the command line, generated from the commands and their options."""

from pathlib import Path

import click
import typer
from sphinx.application import Sphinx

PAGE = Path(__file__).parent.parent / "guide" / "commands.md"
_INTRODUCTION = """\
# The command line

`--help` shows the same text for each command. This page is generated from the commands.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _option(parameter: click.Parameter) -> str:
    """Return a row of the option table."""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    words = getattr(parameter, "help", None) or ""
    default = parameter.default
    shown = (
        getattr(parameter, "show_default", True)
        and not (default is None or default is False or default in ("", (), []))
        and not callable(default)
    )
    is_flag = getattr(parameter, "is_flag", False)
    if isinstance(parameter, click.Argument):
        names = f"`{(parameter.metavar or parameter.name or '').upper()}`"
    told = f" Default: `{default}`." if shown and not is_flag else ""
    return f"| {names} | {_cell(words)}{told} |"


def page() -> str:
    """Return the text of the page."""
    from vectrick.cli.app import app as commands
    from vectrick.cli.command import EXIT_CODES

    group = typer.main.get_command(commands)
    context = click.Context(group, info_name="vectrick")
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    parts = [_INTRODUCTION, f"| exit code | meaning |\n| --- | --- |\n{codes}\n"]
    for name in group.list_commands(context):  # type: ignore[attr-defined]
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        parameters = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        usage = command.get_usage(click.Context(command, info_name=f"vectrick {name}")).removeprefix("Usage: ")
        text = (command.help or "").replace("\f", "").strip()
        parts.append(f"## vectrick {name}\n\n```text\n{usage}\n```\n\n{text}\n\n{command.epilog or ''}\n")
        parts.append("| option | meaning |\n| --- | --- |\n" + "\n".join(map(_option, parameters)) + "\n")
    return "\n".join(parts)


def write(app: Sphinx) -> None:
    """Write the page if it has changed, so that Sphinx does not rebuild an unchanged page."""
    text = page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx reads its sources."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
