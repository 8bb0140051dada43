"""Commands from functions: options that all commands share, option files in TOML, and one-line errors."""

import inspect
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_type_hints

import typer

from vectrick.cli.output import Output, silence

EXIT_CODES = {
    0: "done",
    1: "an error in vectrick itself",
    2: "bad input or options, or a file that cannot be written",
    3: "interrupted, but finished work was kept",
    130: "interrupted",
}


class Interrupted(Exception):  # noqa: N818 (not an error)
    """A command was interrupted and kept its finished work."""


@dataclass(frozen=True)
class CommonOptions:
    """The options of every command."""

    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show more details.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="A TOML file with options, such as alpha = 0.1; options on the command line take precedence.",
            is_eager=True,
            callback=lambda ctx, value: _read_config(ctx, value),  # noqa: PLW0108 (it is defined below)
        ),
    ] = None


def add_command(app: typer.Typer, module: ModuleType) -> None:
    """Make a command from the function ``run`` of a module, with the module's ``EXAMPLE`` in its help.

    If the type of a parameter of ``run`` is a dataclass, the fields of the dataclass become options.
    """
    function: Callable[..., None] = module.run
    name = module.__name__.rpartition(".")[2]
    hints = get_type_hints(function, include_extras=True)
    parameters: dict[str, inspect.Parameter] = {}
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if kind is Output:
            continue
        if is_dataclass(kind):
            groups[parameter.name] = kind
            parameters |= _fields(kind)
        else:
            parameters[parameter.name] = parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters |= _fields(CommonOptions)

    def run(**given: Any) -> None:
        common = _taken(CommonOptions, given)
        out = Output(name, common.json, common.quiet, common.verbose)
        out.config = common.config

        def work() -> None:
            values = {group: _taken(kind, given) for group, kind in groups.items()}
            function(out, **values, **given)

        _handled(work, out, common.debug)

    ordered = sorted(parameters.values(), key=lambda item: item.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in ordered}
    run.__doc__ = inspect.getdoc(function)
    app.command(name, epilog=f"Example: `{module.EXAMPLE}`")(run)


def command_line() -> str:
    """Return the current command line, quoted for a shell."""
    return "vectrick " + " ".join(map(shlex.quote, sys.argv[1:]))


def _fields(kind: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    by_name = {}
    # Inherited options come last.
    for option in sorted(fields(kind), key=lambda option: option.name not in kind.__annotations__):
        default = inspect.Parameter.empty if option.default is MISSING else option.default
        by_name[option.name] = inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[option.name]
        )
    return by_name


def _taken(kind: Any, given: dict[str, Any]) -> Any:
    return kind(**{option.name: given.pop(option.name) for option in fields(kind)})


def _handled(work: Callable[[], None], out: Output, debug: bool) -> None:
    """Do the work; if it fails, print one line and exit with a code."""
    try:
        with out.collecting_warnings():
            work()
        out.finish()
    except typer.Exit:
        raise
    except BrokenPipeError:  # the reader closed the pipe
        silence()
        raise typer.Exit(2) from None
    except Interrupted as error:
        out.finish()
        out.note(str(error))
        raise typer.Exit(3) from None
    except KeyboardInterrupt:
        out.error(f"interrupted; {out.what_was_written()}")
        raise typer.Exit(130) from None
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        if debug:
            raise
        out.error(_message(error) + (f" ({out.what_was_written()})" if out.written else ""))
        raise typer.Exit(2) from None
    except RecursionError:
        if debug:
            raise
        out.error("the input is nested too deeply")
        raise typer.Exit(2) from None
    except Exception as error:
        if debug:
            raise
        out.error(f"{type(error).__name__}: {error}; this is an error in vectrick itself; --debug shows the traceback")
        raise typer.Exit(1) from None


def _message(error: BaseException) -> str:
    """Return the text of an error; for errors of the operating system, the file and the reason."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return f"{error.filename}: {os.strerror(error.errno)}"
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of a command; its own table overrides the top level."""
    import tomllib

    if path is None or context.resilient_parsing:
        return path
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise typer.BadParameter(f"{path} cannot be read: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path} cannot be read: {error}") from None
    commands: dict[str, Any] = (
        context.parent.command.commands if context.parent is not None else {}  # type: ignore[attr-defined]
    )
    known = {name: {parameter.name for parameter in command.params} for name, command in commands.items()}
    own = content.pop(str(context.info_name), {})
    if not isinstance(own, dict):
        raise typer.BadParameter(f"{path} has {context.info_name} = {own!r}, but it must be a table of options")
    top = {key: value for key, value in content.items() if not (key in known and isinstance(value, dict))}
    everything = set().union(*known.values())
    many = {
        parameter.name
        for parameter in context.command.params
        if getattr(parameter, "multiple", False) or parameter.nargs == -1
    }
    options: dict[str, Any] = {}
    for values, allowed in ((top, everything), (own, known.get(str(context.info_name), set()))):
        for key, value in values.items():
            name = key.replace("-", "_")
            if name not in allowed or name == "config":
                raise typer.BadParameter(f"{path} has {key!r}, but there is no option --{key.replace('_', '-')}")
            options[name] = [value] if name in many and not isinstance(value, list) else value
    context.default_map = {**(context.default_map or {}), **options}
    return path
