"""The four settings of pairwise learning (which vertices of a test edge are in no training edge) and their names."""

from typing import NamedTuple, get_args

from vectrick._typing import New


class Setting(NamedTuple):
    """The names of a setting: for a table or a figure, and for a sentence."""

    label: str
    words: str


SETTINGS: dict[str, Setting] = {
    "both": Setting("both new", "both vertices new"),
    "start": Setting("start new", "new start vertices"),
    "end": Setting("end new", "new end vertices"),
    "neither": Setting("neither new", "known vertices, new edges"),
}
NEW: tuple[New, ...] = get_args(New)


def settings_of(one_set: bool) -> dict[str, Setting]:
    """Return the settings; if both ends come from one vertex set, "start" means that one of them is new.

    >>> settings_of(one_set=True)["start"].label
    'one new'
    """
    return {**SETTINGS, "start": Setting("one new", "one new vertex")} if one_set else SETTINGS
