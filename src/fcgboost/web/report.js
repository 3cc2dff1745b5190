// The report: tables that sort, curves with a threshold, the path of a fit, a comparison.

const data = JSON.parse(document.getElementById("page-data").textContent);

// ---- Tables ----

function sortable(table) {
  const first = Array.from(table.tBodies[0].rows);
  for (const head of table.querySelectorAll("thead th:is(.label, .number, .text)")) {
    const sort = () => sortBy(table, first, head);
    head.append(button(sort, { title: "Sort by this column" }, ...head.childNodes));
  }
}

function sortBy(table, first, head) {
  const before = head.getAttribute("aria-sort");
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  // Large numbers first, names from a to z; then the other way; then as it was.
  const isNumber = head.classList.contains("number");
  const order = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
  const next = before === null ? order[0] : before === order[0] ? order[1] : null;
  if (next === null) return table.tBodies[0].append(...first);
  head.setAttribute("aria-sort", next);
  const sign = next === "ascending" ? 1 : -1;
  const keyOf = ({ dataset, textContent }) => (isNumber ? dataset.key : textContent.trim()) || null;
  const rows = first.map((row) => [keyOf(row.cells[head.cellIndex]), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  return table.tBodies[0].append(...rows.map(([, row]) => row));
}

// ---- ROC and precision-recall curves with a threshold ----

function thresholdExplorer(host, { classes, first, isProbability }) {
  const options = classes.map(({ name }, c) => make("option", { value: c }, name));
  const choice = make("select", { id: "positive-class" }, ...options);
  const slider = make("input", { type: "range", min: 0, step: 1, "aria-label": "threshold" });
  const output = make("output");
  const reset = button(() => show(classes[choice.value].start), {}, "default threshold");
  const charts = [0, 1].map((kind) => rateChart(kind, show));
  const views = make("div", { class: "views" }, ...charts.map(({ view }) => view));
  const matrix = make("div", { class: "scroll" });
  const facts = make("dl", { class: "facts" });
  const menu = make("label", { for: "positive-class" }, "Class", choice);
  host.append(
    make("div", { class: "tools" }, menu, reset, output, slider),
    make("div", { class: "views matrix" }, matrix, facts), views,
  );
  let place = 0;
  function show(to) {
    const one = classes[choice.value];
    place = clamp(to, 0, one.thresholds.length - 1);
    slider.value = one.thresholds.length - 1 - place;
    const threshold = minus(one.thresholds[place].toFixed(3));
    output.textContent = `threshold ${threshold}`;
    slider.setAttribute("aria-valuetext", threshold);
    reset.setAttribute("aria-pressed", place === one.start);
    matrix.replaceChildren(matrixOf(one, place));
    const known = Object.entries(ratesOf(one, place, isProbability ? "probability" : "decision value"));
    facts.replaceChildren(...known.map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    for (const { mark } of charts) mark(one, place);
  }
  const repaint = () => {
    for (const { paint } of charts) paint(classes[choice.value]);
    show(place);
  };
  const restart = () => {
    slider.max = classes[choice.value].thresholds.length - 1;
    place = classes[choice.value].start;
    repaint();
  };
  slider.addEventListener("input", () => show(slider.max - slider.value));
  choice.addEventListener("change", restart);
  choice.value = first;
  restart();
  keepDrawn(views, repaint);
}

const share = (part, whole) => (whole ? part / whole : null);

// False positive rate and recall, or recall and precision.
function pointOf({ true: hits, false: alarms, positives, negatives }, place, kind) {
  const recall = hits[place] / positives;
  if (kind === 0) return [alarms[place] / negatives, recall];
  return [recall, share(hits[place], hits[place] + alarms[place]) ?? 1];
}

function rateChart(kind, show) {
  const svg = draw("svg", { class: "chart", role: "img" });
  const title = make("h3");
  const view = make("figure", { class: "view" }, title, svg);
  const dot = draw("circle", { class: "dot c1", r: 6 });
  let [x, y, curve] = [null, null, []];
  const paint = (one) => {
    const [width, height] = [view.clientWidth, Math.min(280, 0.7 * view.clientWidth)];
    if (!width) return;
    const chance = one.positives / (one.positives + one.negatives);
    title.textContent = kind === 0 ? `ROC curve: AUC ${one.auc.toFixed(3)}`
      : `Precision\u2013recall curve: average precision ${one.averagePrecision.toFixed(3)}`;
    svg.setAttribute("viewBox", `0 0 ${width} ${height + TOP + 42}`);
    svg.setAttribute("aria-label", title.textContent);
    svg.replaceChildren();
    const names = kind === 0 ? ["false positive rate", "recall"] : ["recall", "precision"];
    y = drawScale(svg, {
      low: 0, high: 1, top: TOP, height, width, title: names[1], isPercent: true,
    });
    x = (value) => LEFT + value * (width - LEFT - RIGHT - 12);
    const bottom = TOP + height;
    for (const value of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      svg.append(textAt(x(value), bottom + 16, percent(value, 0)));
    }
    svg.append(textAt(x(0.5), bottom + 34, names[0]));
    const [from, to] = kind === 0 ? [0, 1] : [chance, chance];
    svg.append(lineOf("mark", x(0), y(from), x(1), y(to)));
    curve = one.thresholds.map((_, place) => pointOf(one, place, kind));
    const start = kind === 0 ? [[0, 0]] : [];
    const points = [...start, ...curve].map(([h, v]) => `${x(h).toFixed(1)},${y(v).toFixed(1)}`);
    svg.append(draw("polyline", { class: "curve c0", points: points.join(" ") }), dot);
  };
  const mark = (one, place) => {
    if (!x) return;
    const [h, v] = pointOf(one, place, kind);
    fill(dot, { cx: x(h), cy: y(v) }, []);
  };
  for (const type of ["pointerdown", "pointermove"]) {
    svg.addEventListener(type, (event) => {
      if (type === "pointermove" && !event.buttons) return;
      const [left, top] = placeOf(event);
      show(nearest(curve.map(([h, v]) => Math.hypot(x(h) - left, y(v) - top)), 0));
    });
  }
  return { view, paint, mark };
}

function matrixOf({ name, rest, true: hits, false: alarms, positives, negatives }, place) {
  const [tp, fp] = [hits[place], alarms[place]];
  const cell = (n, style) => make("td", { class: n ? style : "" }, n.toLocaleString("en"));
  const head = (scope, name) => make("th", { scope, class: "label" }, name);
  const row = (title, ...cells) => make("tr", {}, head("row", title), ...cells);
  const heads = ["true class", `predicted ${name}`, `predicted ${rest}`];
  return make(
    "table", {}, make("caption", {}, make("span", {}, "Confusion matrix at this threshold")),
    make("thead", {}, make("tr", {}, ...heads.map((one) => head("col", one)))),
    make(
      "tbody", {}, row(name, cell(tp, "hit"), cell(positives - tp, "miss")),
      row(rest, cell(fp, "miss"), cell(negatives - fp, "hit")),
    ),
  );
}

function ratesOf({ true: hits, false: alarms, positives, negatives, thresholds }, place, unit) {
  const [tp, fp, all] = [hits[place], alarms[place], positives + negatives];
  return {
    precision: written(share(tp, tp + fp), true),
    recall: written(share(tp, positives), true),
    "F1 score": written(share(2 * tp, tp + fp + positives), true),
    accuracy: written((tp + negatives - fp) / all, true),
    [`rows with a ${unit} of ${minus(thresholds[place].toFixed(3))} or more`]:
      (tp + fp).toLocaleString("en"),
  };
}

// ---- The path ----

function pathExplorer(host, path) {
  const { boundary, coef } = path;
  path.ks = path.nAtoms.map((_, i) => i + 1);
  path.panels.flatMap((panel) => panel.curves).forEach((curve, i) => {
    curve.style = ["c0", "c1", "c2"][i % 3];
  });
  const state = { views: [] };
  const show = (place) => {
    state.place = clamp(place, 0, path.ks.length - 1);
    if (boundary) state.model = modelAt(path, path.ks[state.place]);
    for (const view of state.views) view();
  };
  const views = make("div", { class: "views" }, curvesView(path, state, show));
  if (boundary) {
    coef.values = numbersOf(coef.values, Float32Array);
    coef.codes = numbersOf(coef.codes, Uint8Array);
    boundary.values = numbersOf(boundary.values, Float32Array);
    views.append(boundaryView(path, state));
  }
  host.append(views);
  show(path.ks.indexOf(path.chosen));
  // What tests, and the curious in the console, can ask.
  window.fcgboost = {
    decision: () => Array.from(state.model.decision),
    coefficients: () => Array.from(state.model.coef),
  };
}

function numbersOf(text, Type) {
  return new Type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

// The model after a step; long paths hold it after some steps only: then after the nearest.
function modelAt({ boundary, coef, frames, nAtoms }, wanted) {
  const frame = nearest(frames, wanted);
  const k = frames[frame];
  const sizes = frames.map((step) => nAtoms[step - 1]);
  const start = sizes.slice(0, frame).reduce((sum, size) => sum + size, 0);
  const part = [start, start + sizes[frame]];
  const area = boundary.values.length / frames.length;
  return {
    k,
    coef: coef.values.subarray(...part),
    codes: coef.codes.subarray(...part),
    decision: boundary.values.subarray(frame * area, (frame + 1) * area),
    note: k === wanted ? "" : `after ${k} steps, the nearest that this page holds`,
  };
}

function curvesView(path, state, show) {
  const legend = make("ul", { class: "legend", "aria-live": "polite" });
  const summary = `Curves over ${path.ks.length} steps`;
  const svg = draw("svg", { class: "chart", role: "img", "aria-label": summary });
  const slider = make("input", {
    type: "range", min: 0, max: path.ks.length - 1, step: 1, "aria-label": "number of steps k",
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  const output = make("output");
  const jumps = [["chosen", path.chosen], ["k\u2080", path.k0], ["fewest errors", path.best]]
    .filter(([, k]) => path.ks.includes(k))
    .map(([name, k]) => button(() => show(path.ks.indexOf(k)), { "data-k": k }, name));
  const tools = make("div", { class: "tools" }, output, slider, ...jumps);
  const view = make("div", { class: "view" }, legend, svg, tools);
  const marks = [
    { k: path.chosen, name: `chosen: ${path.chosen}`, style: "kept" },
    { k: path.k0, name: `k\u2080 = ${path.k0}`, style: "mark" },
  ];
  let chart = null;
  for (const kind of ["pointermove", "pointerdown"]) {
    svg.addEventListener(kind, (event) => show(chart.placeAt(placeOf(event)[0])));
  }
  const update = () => {
    const [k, n] = [path.ks[state.place], path.nAtoms[state.place]];
    slider.value = state.place;
    slider.setAttribute("aria-valuetext", `k = ${k}`);
    output.textContent = `k = ${k}`;
    for (const jump of jumps) jump.setAttribute("aria-pressed", Number(jump.dataset.k) === k);
    const atoms = make("li", {}, make("b", {}, n), n === 1 ? " atom" : " atoms");
    legend.replaceChildren(atoms, ...legendItems(path.panels, state.place));
    chart?.show(state.place);
  };
  keepDrawn(view, (width) => {
    chart = drawCurves(svg, width, { ...path, marks });
    update();
  });
  state.views.push(update);
  return view;
}

function boundaryView({ boundary }, state) {
  const canvas = make("canvas", { role: "application", tabindex: 0 });
  const reading = make("p", { class: "reading", "aria-live": "polite" }, "");
  const toggle = make("input", { type: "checkbox" });
  toggle.checked = Boolean(boundary.atoms?.shown);
  const keys = make("ul", { class: "legend keys" }, ...boundary.classes.map(classKey));
  const tools = make("div", { class: "tools" });
  if (boundary.atoms) tools.append(make("label", {}, toggle, boundary.atoms.name));
  const view = make("div", { class: "view" }, canvas, keys, tools, reading);
  let cursor = null;
  const paint = () => {
    if (!canvas.clientWidth) return;
    const { model } = state;
    const ahead = leads(model.decision, boundary.outputs);
    const signs = atomSigns(model.coef, boundary.outputs > 1 && model.codes);
    const atoms = toggle.checked && { ...boundary.atoms, signs };
    paintPlane(canvas, { ...boundary, ahead, atoms, cursor });
    canvas.setAttribute(
      "aria-label", `Decision boundary after ${model.k} steps over ` +
      `${boundary.names.join(" and ")}; the arrow keys move a point that is read out`,
    );
    reading.textContent = cursor ? readPoint(boundary, model.decision, cursor) : "";
    if (model.note) reading.append(` Boundary ${model.note}.`);
  };
  toggle.addEventListener("change", paint);
  watchPlane(canvas, () => boundary, (to) => {
    cursor = to;
    paint();
  });
  keepDrawn(view, paint);
  state.views.push(paint);
  return view;
}

function classKey(name, c) {
  const swatch = draw("svg", { viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" });
  const fill = `var(--class-${1 + (c % 7)})`;
  swatch.append(draw("path", { d: SHAPES[c % SHAPES.length], fill }));
  return make("li", {}, swatch, name);
}

function readPoint({ xs, ys, names, classes }, decision, [i, j]) {
  const values = decision.filter((_, at) => at % (xs.length * ys.length) === j * xs.length + i);
  const winner = values.length === 1 ? Number(values[0] > 0) : values.indexOf(Math.max(...values));
  return (
    `${names[0]} ${number(xs[i])}, ${names[1]} ${number(ys[j])}: ` +
    `f = ${number(Math.max(...values))}, class ${classes[winner]}`
  );
}

// ---- Scores of several methods, with intervals ----

function intervalExplorer(host, { metrics, rows }) {
  const svg = draw("svg", { class: "chart", role: "img" });
  const buttons = metrics.map((metric, m) => button(() => show(m), {}, metric.title));
  const view = make("div", { class: "view" }, make("div", { class: "tools" }, ...buttons), svg);
  host.append(view);
  let shown = 0;
  function show(m) {
    shown = m;
    buttons.forEach((one, i) => one.setAttribute("aria-pressed", i === m));
    if (view.clientWidth) drawIntervals(svg, view.clientWidth, rows, metrics[m]);
  }
  keepDrawn(view, () => show(shown));
}

function drawIntervals(svg, width, rows, metric) {
  const sign = metric.larger ? -1 : 1;
  const scores = rows
    .filter((row) => row.scores[metric.name])
    .map((row) => ({ ...row, ends: row.scores[metric.name] }))
    .sort((a, b) => sign * (a.ends[0] - b.ends[0]));
  const [left, right, top, step] = [width < 520 ? 138 : 180, width - RIGHT, 30, 30];
  const bottom = top + scores.length * step;
  const all = scores.flatMap((row) => row.ends);
  const pad = (Math.max(...all) - Math.min(...all)) * 0.05 || 0.01;
  const [low, high] = [Math.min(...all) - pad, Math.max(...all) + pad];
  const x = (value) => left + ((value - low) / (high - low)) * (right - left);
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 26}`);
  svg.setAttribute("aria-label", `${metric.title} of every method with its 95 % interval`);
  svg.replaceChildren();
  const levels = ticks(low, high, (width - left) / 65);
  for (const level of levels) {
    const [at, text] = [x(level), tickText(level, levels, metric.percent)];
    svg.append(lineOf("grid", at, top, at, bottom), textAt(at, bottom + 16, text));
  }
  const [from, to] = [[left, "start"], [right, "end"]];
  const [[titleX, titleEnd], [hintX, hintEnd]] = metric.larger ? [from, to] : [to, from];
  const better = metric.larger ? "larger is better \u2192" : "\u2190 smaller is better";
  svg.append(textAt(titleX, top - 12, metric.title, titleEnd, "strong"));
  svg.append(textAt(hintX, top - 12, better, hintEnd));
  scores.forEach((row, i) => svg.append(intervalOf(row, metric, x, left, top + (i + 0.5) * step)));
}

function intervalOf({ method, ours, ends }, metric, x, left, y) {
  const [value, from, to] = ends.map((end) => written(end, metric.percent));
  const style = ours ? "c1" : "c0";
  return draw(
    "g", {}, draw("title", {}, `${method}: ${value}, from ${from} to ${to}`),
    textAt(left - 10, y + 4, method, "end", ours ? "method ours" : "method"),
    lineOf(`span ${style}`, x(ends[1]), y, x(ends[2]), y),
    draw("circle", { class: `dot ${style}`, cx: x(ends[0]), cy: y, r: 5 }),
  );
}

document.querySelectorAll("table").forEach(sortable);
const explorers = {
  path: pathExplorer, intervals: intervalExplorer, thresholds: thresholdExplorer,
};
for (const host of document.querySelectorAll("[data-explorer]")) {
  host.replaceChildren(make("p", { class: "hint" }, host.dataset.hint));
  explorers[host.dataset.explorer](host, data[host.dataset.explorer]);
}
