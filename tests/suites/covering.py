"""Few cases of a product that show every value of every parameter."""

from collections.abc import Mapping, Sequence


def covering_cases(cases: Sequence[Mapping[str, int]]) -> set[int]:
    """Choose cases, given by the index of each parameter's value, that show every value.

    Of a full product these are the cases of its diagonal: all parameters advance together, and
    the shorter ones begin again. Whatever the diagonal misses, because a case is not there, is
    covered in the order of the cases.
    """
    sizes: dict[str, int] = {}
    for case in cases:
        for name, index in case.items():
            sizes[name] = max(sizes.get(name, 0), index + 1)
    turns = range(max(sizes.values(), default=0))
    diagonal = [{name: turn % size for name, size in sizes.items()} for turn in turns]
    order = sorted(range(len(cases)), key=lambda i: cases[i] not in diagonal)
    shown: set[tuple[str, int]] = set()
    chosen = set()
    for i in order:
        values = set(cases[i].items())
        if not values <= shown:
            chosen.add(i)
            shown |= values
    return chosen
