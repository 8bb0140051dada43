"""The picture of a split: the grid of train, test and left-out blocks, to the scale of the numbers of vertices."""

from vectrick.model_selection.splitting.holdout import Holdout

_LEFT, _TOP, _WIDTH, _HEIGHT = 96, 46, 380, 260


def split_picture(used: list[int], totals: list[int], holdout: Holdout, one_set: bool = False) -> str:
    """Return the picture as markup; ``used`` of ``totals`` start and end vertices train (equal for one set)."""
    names = ("vertices", "vertices") if one_set else ("start vertices", "end vertices")
    right = ("", "") if one_set else (str(len(holdout.tests["end"])), "end new")
    below = f"{'one' if one_set else 'start'} new, left out of training"
    x = max(60, min(_WIDTH - 60, _WIDTH * used[1] / totals[1]))
    y = max(44, min(_HEIGHT - 44, _HEIGHT * used[0] / totals[0]))
    rest_x, rest_y = _WIDTH - x, _HEIGHT - y
    blocks = [
        _block("train", (0, 0, x, y), f"train: {len(holdout.train)}"),
        _block("left", (x, 0, rest_x, y), *right),
        _block("left", (0, y, x, rest_y), str(len(holdout.tests["start"])), below),
        _block("test", (x, y, rest_x, rest_y), str(len(holdout.tests["both"])), "both new"),
    ]
    middle, half = _LEFT + _WIDTH / 2, _TOP + _HEIGHT / 2
    labels = [
        _text(middle, 16, names[1]),
        _text(_LEFT + x / 2, 36, f"{used[1]} train", "minor"),
        _text(_LEFT + x + rest_x / 2, 36, f"{totals[1] - used[1]} held out", "minor"),
        _text(14, half, names[0], more=f'transform="rotate(-90 14 {half})"'),
        _text(_LEFT - 8, _TOP + y / 2, f"{used[0]} train", "minor", "end"),
        _text(_LEFT - 8, _TOP + y + rest_y / 2, f"{totals[0] - used[0]} held", "minor", "end"),
    ]
    size = f"0 0 {_LEFT + _WIDTH + 8} {_TOP + _HEIGHT + 8}"
    return (
        f'<figure><svg class="split" viewBox="{size}" role="img" aria-label="training edges and test edges">'
        f"{''.join(blocks + labels)}</svg><figcaption>Numbers in blocks count edges. Rows and columns are drawn to the "
        "scale of the numbers of vertices. The test block shares no row and no column with the training "
        "block.</figcaption></figure>"
    )


def _block(kind: str, place: tuple[float, float, float, float], count: str, what: str = "") -> str:
    x, y, width, height = _LEFT + place[0], _TOP + place[1], place[2], place[3]
    bold, plain = ("", "minor") if kind == "left" else ("inside", "inside")
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{height - 2:.1f}" rx="3"/>'
        + _text(x + width / 2, y + height / 2, count, bold)
        + (_text(x + width / 2, y + height / 2 + 16, what, plain) if what else "")
    )


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle", more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'
