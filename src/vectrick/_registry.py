"""A registry of classes by name; parsers, model files, help texts and lists of choices are derived from it."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, type[T]]):
    """Classes with a ``name``, and optionally ``aliases``, in the order of registration.

    Parameters
    ----------
    family : str
        The singular noun for the classes, used in errors.
    base : type
        The common base class.

    Examples
    --------
    >>> class Shape: ...
    >>> class Square(Shape):
    ...     name = "square"
    >>> shapes = Registry("shape", Shape)
    >>> shapes.register(Square) is shapes["square"]
    True
    """

    def __init__(self, family: str, base: type) -> None:
        self.family, self.base = family, base
        self._kinds: dict[str, type[T]] = {}
        self._plain: list[str] = []

    def register(self, kind: type[T]) -> type[T]:
        """Register a class by its name and return it; also works as a decorator."""
        if not (isinstance(kind, type) and issubclass(kind, self.base)):
            raise TypeError(f"{kind!r} is not a {self.family} class; it must be a subclass of {self.base.__name__}")
        names = (getattr(kind, "name", ""), *kind.__dict__.get("aliases", ()))
        if not all(isinstance(name, str) and name for name in names):
            raise ValueError(f'{kind.__name__} has no name; set name = "..." in the class')
        if "auto" in names:
            raise ValueError(f"{kind.__name__} is called 'auto', but this name is reserved; choose another name")
        for name in names:
            if name in self._kinds and not is_again(kind, self._kinds[name]):
                raise ValueError(f"{name!r} is already the name of {self._kinds[name].__name__}; choose another name")
        known = self.called(kind.__name__)
        if known is not None and not is_again(kind, known):
            raise ValueError(
                f"there is already a {self.family} with the class name {kind.__name__!r}; choose another name"
            )
        # A class that is defined again, even under another name, replaces its earlier definition.
        self._kinds = {name: other for name, other in self._kinds.items() if not is_again(kind, other)}
        self._kinds |= dict.fromkeys(names, kind)
        self._plain = [name for name in self._plain if name in self._kinds and name not in names]
        self._plain += list(names) * _needs_nothing(kind)
        return kind

    def called(self, class_name: str) -> type[T] | None:
        """Return the class with this Python class name, as in model files; None if there is none."""
        return next((kind for kind in self._kinds.values() if kind.__name__ == class_name), None)

    def knows(self, kind: type) -> bool:
        """Return whether a class is registered."""
        return kind in self._kinds.values()

    def plain_names(self) -> list[str]:
        """Return the names of the classes that need no arguments."""
        return self._plain

    def __getitem__(self, name: str) -> type[T]:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def kinds(self) -> list[type[T]]:
        """Return the classes, each once."""
        return list(dict.fromkeys(self._kinds.values()))


def is_again(kind: type, known: type) -> bool:
    """Return whether a class is a new definition of a known class, as when a notebook cell runs twice."""
    return kind is known or (kind.__module__, kind.__qualname__) == (known.__module__, known.__qualname__)


def _needs_nothing(kind: Any) -> bool:
    parameters = list(inspect.signature(kind).parameters.values())
    return all(parameter.default is not parameter.empty for parameter in parameters)
