"""A property that is computed once, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 (used like the class in functools)
    """A property like functools.cached_property of Python 3.12 or later.

    Before 3.12, functools holds one lock for all instances of a class while it computes, so a process that is forked
    in the meantime waits forever. Without the lock, two threads that need the value at the same time may both compute
    it.

    >>> class Circle:
    ...     @cached_property
    ...     def area(self) -> float:
    ...         print("computing")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area == circle.area
    computing
    True
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.name = getattr(function, "__name__", "")

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        value = self.function(instance)
        instance.__dict__[self.name] = value  # later lookups find it before this descriptor
        return value
