"""Draw the logo and the favicon: three atoms and, above them, their sum.

`python docs/logo.py` writes `docs/_static/logo.svg` and `docs/_static/favicon.svg`. The colours
are readable on light and on dark backgrounds, and the name is drawn as outlines, so that no font
is needed.
"""

from pathlib import Path

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from fcgboost.colors import ORANGE, SKY, VERMILION

STATIC = Path(__file__).parent / "_static"
#: A blue between those of light and of dark pages.
BLUE = "#1f8acb"
#: Centre, width and coefficient of every atom, in units of the icon.
ATOMS = {SKY: (15.0, 5.5, 17.0), ORANGE: (31.0, 5.5, 28.0), VERMILION: (47.0, 5.5, 40.0)}
SIDE, GROUND = 64.0, 60.0


def line(x: np.ndarray, y: np.ndarray) -> str:
    return "M" + " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, GROUND - y, strict=True))


def icon() -> str:
    x = np.linspace(3.0, SIDE - 3.0, 59)
    atoms = {
        color: height * np.exp(-((x - centre) ** 2) / (2.0 * width**2))
        for color, (centre, width, height) in ATOMS.items()
    }
    drawn = [
        f'<path d="{line(x, np.where(atom < 0.4, 0.0, atom))}Z" fill="{color}" opacity="0.85"/>'
        for color, atom in atoms.items()
    ]
    total = line(x, sum(atoms.values()) + 8.0)
    drawn.append(
        f'<path d="{total}" fill="none" stroke="{BLUE}" stroke-width="4.5" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
    )
    return "\n".join(drawn)


def wordmark(text: str, x: float, baseline: float, size: float) -> tuple[str, float]:
    """Return the outlines of a text, and where they end."""
    font = FontProperties(family="DejaVu Sans", weight="bold")
    outline = TextPath((0.0, 0.0), text, size=size, prop=font)
    letters, pieces = {1: "M", 2: "L", 3: "Q", 4: "C"}, []
    for points, code in outline.iter_segments(simplify=False):
        places = " ".join(f"{x + a:.1f},{baseline - b:.1f}" for a, b in points.reshape(-1, 2))
        pieces.append(letters[int(code)] + places if code in letters else "Z")
    end = x + float(outline.get_extents().x1)
    return f'<path d="{"".join(pieces)}" fill="{BLUE}"/>', end


def page(width: float, *drawn: str) -> str:
    box = f'viewBox="0 0 {width:.0f} {SIDE:.0f}" width="{width:.0f}" height="{SIDE:.0f}"'
    inside = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="fcgboost">\n'
        f"{inside}\n</svg>\n"
    )


if __name__ == "__main__":
    name, end = wordmark("fcgboost", SIDE + 8.0, 46.0, 40.0)
    (STATIC / "favicon.svg").write_text(page(SIDE, icon()), encoding="utf-8")
    (STATIC / "logo.svg").write_text(page(end + 6.0, icon(), name), encoding="utf-8")
