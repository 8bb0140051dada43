"""Force the way of a fit by passes, which the planner chooses otherwise."""

from dataclasses import replace
from typing import Any

from vectrick.operators.pass_plan import plan_pass
from vectrick.training import by_passes


def take(way: str, setattr: Any = setattr) -> None:
    """Make fits by passes go over "tiles", however few edges there are, or by "products", or as they like ("auto")."""
    setattr(by_passes, "plan_pass", plan_pass if way == "auto" else lambda *of: replace(plan_pass(*of), path=way))
    setattr(by_passes, "MANY_EDGES", {"tiles": 1, "products": 1 << 40}.get(way, 1 << 17))
