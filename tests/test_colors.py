"""Colours stand out from what they lie on, and pages have all of them."""

import re

import pytest

from fcgboost.colors import CLASS_COLORS, DARK, LIGHT, PALETTE, custom_properties


def luminance(color):
    """Give the relative luminance of WCAG 2.2."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["text", "muted", "accent", "good", "bad"])
@pytest.mark.parametrize("ground", ["surface", "soft"])
def test_texts_stand_out_from_their_ground(colors, name, ground):
    assert contrast(colors[name], colors[ground]) >= 4.5


@pytest.mark.parametrize("colors", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
def test_the_colours_of_two_classes_can_be_seen_on_both_screens(colors):
    for name in ("class-1", "class-2"):
        assert contrast(colors[name], colors["surface"]) >= 3.0


def test_the_palette_begins_with_two_classes_and_repeats_no_colour():
    assert PALETTE[:2] == CLASS_COLORS
    assert len(set(PALETTE)) == len(PALETTE)


def test_a_page_has_every_colour_and_dark_ones_replace_light_ones():
    light, dark = custom_properties().split("@media")
    assert dict(re.findall(r"--([\w-]+): ([^;]+);", light)) == LIGHT
    assert dict(re.findall(r"--([\w-]+): ([^;]+);", dark)) == DARK
    assert set(DARK) <= set(LIGHT)
