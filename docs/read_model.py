"""Reads a model file without fcgboost or NumPy; `decision` takes the numbers of a row."""

import json
from datetime import datetime, timedelta
from math import exp


def leaf(row, x):
    n = 0
    while row[4 * n] != -1:
        feature, value, left, kind = row[4 * n : 4 * n + 4]
        xi = x[int(feature)]
        is_known = xi == xi
        if kind >= 2:
            more = row[int(kind) // 4 * 4 :][:4] if kind >= 4 else []
            words = [value, *(-2 - number for number in more)]
            is_known = 0 <= xi < (255 if more else 52) and xi == int(xi)
            goes_left = is_known and int(words[int(xi) // 52]) >> int(xi) % 52 & 1
        else:
            goes_left = xi <= value
        goes_left = goes_left if is_known else kind % 2
        n = int(left) + (0 if goes_left else 1)
    return row[4 * n + 1] if len(row) > 4 * n + 1 else 0.0


def value(dictionary, row, x, scale):
    name, parameters = dictionary["part"], dictionary["parameters"]
    if name in ("UnionDictionary", "TableUnion"):
        number = int(row[0])
        family, ranges = parameters["families"][number], parameters.get("ranges")
        seen = slice(*ranges[number]) if ranges else slice(len(x))
        n = 0 if family["part"] == "TreeDictionary" else len(x[seen]) + 1
        return value(family, row[1:] + [0] * (n - len(row) + 1), x[seen], scale[seen])
    if name == "TreeDictionary":
        return leaf(row, x)
    *w, last = row
    if name == "GaussDictionary":
        units = zip(x, w, scale, strict=True)
        return exp(-sum(((xi - ci) / si) ** 2 for xi, ci, si in units) / (2 * last**2))
    z = sum(xi * wi for xi, wi in zip(x, w, strict=True)) + last
    if name == "ReluDictionary":
        return max(0.0, z)
    if name == "SigmoidDictionary":
        return 1 / (1 + exp(-z))
    if name == "StepDictionary":
        return float(z > 0)
    return (1 + z) ** parameters["degree"] if name == "PolynomialDictionary" else z


def inputs(member, z, columns):
    made = member["inputs"]
    if made is None or made["kind"] == "plain":
        fills = (made and made["fills"]) or z
        return [zi if zi == zi else fill for zi, fill in zip(z, fills, strict=True)]
    views = {"smooth": [], "both": [], "trees": []}
    for zi, outputs in zip(z, made["outputs"], strict=True):
        for output in outputs:
            views[output["view"]].append(encoded(output, zi))
    for pair in made["pairs"]:
        code = 0
        for j in pair["columns"]:
            n_levels = len(columns[j]["levels"])
            code = code * (n_levels + 1) + (int(z[j]) if z[j] == z[j] else n_levels)
        for output in pair["outputs"]:
            views[output["view"]].append(output["numbers"][code])
    return views["smooth"] + views["both"] + views["trees"]


def encoded(output, z):
    is_missing = z != z
    if output["kind"] == "mark":
        return float(z == output["level"])
    if output["kind"] == "numbers":
        return output["numbers"][-1 if is_missing else int(z)]
    if output["part"] == "missing":
        return float(is_missing)
    if is_missing:
        return z if output["fill"] is None else output["fill"]
    if output["part"] == "value":
        return z
    date = datetime(1970, 1, 1) + timedelta(days=z)
    parts = {"month": date.month, "weekday": date.weekday(), "hour": date.hour}
    return parts[output["part"]]


def member_decision(member, x):
    model = member["model"]
    if model["limits"] is not None:
        ends = zip(x, model["limits"]["low"], model["limits"]["high"], strict=True)
        x = [low if xi < low else high if xi > high else xi for xi, low, high in ends]
    f = list(model["intercept"])
    for atom in model["atoms"]:
        g = value(model["dictionary"], atom["row"], x, model["scale"])
        f = [fc + coef * g for fc, coef in zip(f, atom["coef"], strict=True)]
    return f


def decision(document, z):
    total = [0.0] * len(document["members"][0]["model"]["intercept"])
    for member in document["members"]:
        f = member_decision(member, inputs(member, z, document["columns"]))
        total = [sum_c + member["weight"] * fc for sum_c, fc in zip(total, f, strict=True)]
    return total


with open("model.json", encoding="utf-8") as file:
    document = json.load(file)
