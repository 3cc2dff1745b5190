"""A tree grower and a walk as they are explained on paper: slow, and obvious."""

import math
from typing import NamedTuple

import numpy as np

from fcgboost.dictionaries import bins

N_CODES, WORD = 255, 52
LARGEST = float(np.finfo(np.float64).max)


class Split(NamedTuple):
    """One way to split rows: what a node says, and which rows go left."""

    feature: int
    value: float | int  # a set of categories is a mask, of any size
    kind: int
    left: frozenset[int]


class Question(NamedTuple):
    """A split before it is known where missing values go."""

    feature: int
    value: float
    left: frozenset[int]
    missing: frozenset[int]
    seen: int | None  # for categories: the codes that occur, as a mask


def is_code(x: float) -> bool:
    return 0 <= x < N_CODES and x == math.floor(x)


def is_missing(x: float, is_category: bool) -> bool:
    return not is_code(x) if is_category else math.isnan(x)


def thresholds(rows: np.ndarray, feature: int, n_thresholds: int) -> list[float]:
    distinct = {tuple("nan" if math.isnan(x) else x for x in row) for row in rows}
    column = sorted(row[feature] for row in distinct if row[feature] != "nan")
    values = sorted(set(column))
    after = range(len(values) - 1)  # a threshold after the value of this number
    if len(values) - 1 > n_thresholds:
        half = n_thresholds // 2
        chosen = {math.ceil(len(values) * t / (half + 1)) - 1 for t in range(1, half + 1)}
        rest = n_thresholds - half
        for t in range(1, rest + 1):
            chosen.add(values.index(column[math.ceil(len(column) * t / (rest + 1)) - 1]))
        after = sorted({min(number, len(values) - 2) for number in chosen})
    found = []
    for number in after:
        low, high = values[number], values[number + 1]
        middle = low / 2 + high / 2
        found.append(middle if low <= middle < high else low)
    return found


class Naive:
    """Grows one tree; the parameters are those of TreeDictionary, the depth is a number."""

    def __init__(self, rows, residual, weights, parameters, is_category):
        self.rows = [[float(x) for x in row] for row in rows]
        self.p, self.is_category = parameters, is_category
        self.active = [i for i in range(len(rows)) if residual[i] != 0 and weights[i] > 0]
        total = sum(abs(float(residual[i])) for i in self.active)
        steps = 2.0 ** (34 - math.frexp(total)[1])
        self.pull = {i: round(float(residual[i]) * steps) for i in self.active}
        self.weight = {i: float(weights[i]) for i in self.active}
        self.thresholds = [thresholds(rows, j, bins.N_THRESHOLDS) for j in range(rows.shape[1])]

    def sums(self, members):
        return sum(self.pull[i] for i in members), sum(self.weight[i] for i in members)

    def square(self, members):
        pull, weight = self.sums(members)
        return pull * pull / (weight + self.p["smoothing"]) if weight else 0.0

    def fits(self, left, right):
        return all(self.sums(side)[1] >= self.p["min_leaf"] for side in (left, right))

    def questions(self, members, feature):
        """Give all questions in order."""
        column = {i: self.rows[i][feature] for i in members}
        is_category = self.is_category[feature]
        missing = frozenset(i for i in members if is_missing(column[i], is_category))
        known = [i for i in members if i not in missing]
        if not is_category:
            for value in [*self.thresholds[feature], LARGEST]:
                left = frozenset(i for i in known if column[i] <= value)
                yield Question(feature, value, left, missing, None)
            return
        levels = sorted({column[i] for i in known})
        seen = sum(2 ** int(level) for level in levels)

        def mean(level):
            pull, weight = self.sums([i for i in known if column[i] == level])
            return pull / (weight + self.p["smoothing"])

        levels.sort(key=lambda level: (mean(level), level))
        for n in range(1, len(levels) + 1):
            left = frozenset(i for i in known if column[i] in levels[:n])
            mask = sum(2 ** int(level) for level in levels[:n])
            yield Question(feature, mask, left, missing, seen)

    def answers(self, question, node):
        """Give the splits of a node for one question, missing values left first."""
        if question.missing:
            ways = (True, False)
        else:
            ways = (self.sums(question.left)[1] >= self.sums(node - question.left)[1],)
        for is_left in ways:
            left = (question.left | question.missing) if is_left else question.left
            value, kind = question.value, int(is_left)
            if question.seen is not None:
                kind += 2
                unseen = 2**N_CODES - 1 - question.seen
                value = value + unseen if is_left else value
            yield Split(question.feature, value, kind, left)

    def best(self, node):
        """Give the best split of a node, or None."""
        best, top = None, self.square(node) * (1 + 2.0**-40)
        for feature in range(len(self.is_category)):
            for question in self.questions(sorted(node), feature):
                for split in self.answers(question, node):
                    left, right = node & split.left, node - split.left
                    score = self.square(left) + self.square(right)
                    if self.fits(left, right) and score > top:
                        best, top = split, score
        return best

    def grow(self, depth):
        table, members = [[-1.0, 0.0, 0.0, 0.0]], {0: frozenset(self.active)}
        level = [0]
        for _ in range(depth):
            level = self.next_level(level, table, members)
        values = {}
        for number, row in enumerate(table):
            if row[0] == -1:
                pull, weight = self.sums(members[number])
                values[number] = pull / (weight + self.p["smoothing"]) if weight else 0.0
        largest = max(map(abs, values.values())) or 1.0
        for number, value in values.items():
            table[number][1] = value / largest * self.p["peak"]
        for row in table[:]:
            if row[3] >= 2:
                self.write_set(row, table)
        return np.array(table, float).reshape(-1)

    def write_set(self, row, table):
        words = [row[1] >> start & (1 << WORD) - 1 for start in range(0, N_CODES, WORD)]
        row[1] = words[0]
        codes = [x[row[0]] for x in self.rows if is_code(x[row[0]])]
        if max(codes, default=0) >= WORD:
            row[3] += 4 * len(table)
            table.append([-2 - word for word in words[1:]])

    def next_level(self, level, table, members):
        below = []
        for number in level:
            split = self.best(members[number])
            if split is None:
                continue
            left, right = members[number] & split.left, members[number] - split.left
            table[number] = [split.feature, split.value, len(table), split.kind]
            for side in (left, right):
                members[len(table)] = side
                below.append(len(table))
                table.append([-1.0, 0.0, 0.0, 0.0])
        enough = 2 * self.p["min_leaf"]
        return [number for number in below if self.sums(members[number])[1] >= enough]


def naive_value(x, row) -> float:
    """Walk down one tree."""
    nodes = np.reshape(row, (-1, 4))
    node = 0
    while nodes[node][0] != -1:
        feature, value, left, kind = nodes[node]
        entry = float(x[int(feature)])
        more = nodes[int(kind) // 4] if kind >= 4 else []
        if is_missing(entry, kind >= 2) or (2 <= kind < 4 and entry >= WORD):
            goes_left = int(kind) % 2 == 1
        elif kind >= 2:
            words = [int(value), *(-2 - int(word) for word in more)]
            goes_left = words[int(entry) // WORD] >> int(entry) % WORD & 1 == 1
        else:
            goes_left = entry <= value
        node = int(left) + (0 if goes_left else 1)
    return float(nodes[node][1])
