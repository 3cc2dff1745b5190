"""The colours of pictures and pages.

The bright ones are those of Okabe and Ito, which remain distinguishable with any colour vision.
Pages use them as CSS custom properties, by the names in `LIGHT` and `DARK`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CLASS_COLORS", "DICTIONARY_COLORS"]

VERMILION = "#D55E00"
BLUE = "#0072B2"
GREEN = "#009E73"
PINK = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREY = "#999999"

#: The colours of two classes, in the order of `classes_`.
CLASS_COLORS = (VERMILION, BLUE)
#: A palette that starts with the classes; Okabe and Ito's yellow is too light.
PALETTE = (*CLASS_COLORS, GREEN, PINK, ORANGE, SKY, GREY)
#: The colour of each dictionary in all pictures.
DICTIONARY_COLORS: Mapping[str, str] = {
    "gauss": BLUE,
    "polynomial": VERMILION,
    "sigmoid": GREEN,
    "relu": PINK,
}

#: For pages on light screens and paper; class-1 to class-7 are those of `PALETTE`.
LIGHT: Mapping[str, str] = {
    "text": "#1b1f24",
    "muted": "#5b6270",
    "surface": "#ffffff",
    "soft": "#f3f4f6",
    "line": "#cdd1d7",
    "accent": "#0b63a5",
    "good": "#0b6b3a",
    "bad": "#b00020",
    **{f"class-{i}": color for i, color in enumerate(PALETTE, 1)},
}
#: For pages on dark screens; other colours are as in `LIGHT`.
DARK: Mapping[str, str] = {
    "text": "#e9edf2",
    "muted": "#a2a9b4",
    "surface": "#181c22",
    "soft": "#242a32",
    "line": "#414852",
    "accent": "#6cb6f5",
    "good": "#7fd6a4",
    "bad": "#ff8a80",
    "class-1": "#f08a45",
    "class-2": "#58b4ef",
    "class-3": "#2fc29a",
}


def custom_properties() -> str:
    """Return the CSS rules that set the colours of a page; print is always light."""
    light, dark = (
        " ".join(f"--{name}: {color};" for name, color in colors.items())
        for colors in (LIGHT, DARK)
    )
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )
