"""Blocks of a page have texts for those who do not see."""

from tests.suites.pages import (
    Reader,
)


def test_ids_are_unique_and_pictures_have_texts_for_those_who_do_not_see(page: Reader) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = [
        str(attributes["href"])[1:]
        for _, attributes in page.elements
        if str(attributes.get("href", "")).startswith("#")
    ]
    assert used
    assert set(used) <= set(ids)
    for tag, attributes in page.elements:
        if tag == "img":
            assert attributes["alt"]
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
