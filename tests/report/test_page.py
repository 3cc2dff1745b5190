"""A page needs nothing from outside, and its policy allows nothing else."""

import base64
import re

from tests.suites.pages import (
    Reader,
)


def test_the_page_refers_to_nothing_outside(page: Reader) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    everything = "".join(page.blocks["style"]) + "".join(page.blocks["script"])
    assert "://" not in everything
    assert "@import" not in everything
    assert not re.search(r"url\((?!#)", everything)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|Function)\(", everything)


def test_the_policy_allows_the_page_s_own_style_and_script_and_nothing_else(page: Reader) -> None:
    import hashlib

    (policy,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    digests = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("style", page.blocks["style"][0]), ("script", page.blocks["script"][1]))
    }
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digests['style']}'",
        "script-src": f"'sha256-{digests['script']}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    # What the policy would ignore must not be there.
    assert len(page.blocks["style"]) == 1
    assert not [tag for tag, attributes in page.elements if "style" in attributes]
    assert not [a for _, attributes in page.elements for a in attributes if a.startswith("on")]
