// The report: tables that sort, curves with a threshold, the path of a fit.

// The name of SVG's elements is an address; the page holds none, so the parser is asked for it.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild
  .namespaceURI;
const [LEFT, RIGHT, TOP, GAP] = [66, 12, 22, 26];
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function button(act, attributes, ...children) {
  const made = make("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", act);
  return made;
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

function nearest(values, wanted) {
  const gap = (value) => Math.abs(value - wanted);
  return values.reduce((best, value, i) => (gap(value) < gap(values[best]) ? i : best), 0);
}

function minus(text) {
  return text.replace("-", "\u2212");
}

function percent(share, digits = 1) {
  // As Python does, which rounds an exact half to the even digit.
  const isHalf = digits === 1 && (100 * share) % 1 === 0.25;
  return `${(100 * share - 0.01 * isHalf).toFixed(digits)}\u202f%`;
}

function number(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return minus(value.toExponential(2));
  return minus(String(Number(value.toPrecision(4))));
}

function written(value, isPercent) {
  if (value === null || value === undefined) return "–";
  return isPercent ? percent(value) : number(value);
}

// Multiples of one, two or five times a power of ten.
function ticks(low, high, about) {
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const [first, last] = [Math.ceil(low / unit - 1e-9), Math.floor(high / unit + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * unit);
}

function tickText(value, all, isPercent) {
  const step = (all.length > 1 ? all[1] - all[0] : 1) * (isPercent ? 100 : 1);
  if (!isPercent && Math.max(...all.map(Math.abs)) >= 1e5) return minus(COMPACT.format(value));
  const digits = clamp(Math.ceil(-Math.log10(step) - 1e-9), 0, 8);
  return isPercent ? percent(value, digits) : minus((value + 0).toFixed(digits));
}

// Draw again when the place for a drawing changes its width, or colours change.
function keepDrawn(host, paint) {
  let width = 0;
  const repaint = () => {
    const now = Math.round(host.clientWidth);
    if (now && now !== width) paint((width = now));
  };
  new ResizeObserver(repaint).observe(host);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => width && paint(width));
  }
  repaint();
}

// Where an event lies in the element that hears it.
function placeOf(event) {
  const bounds = event.currentTarget.getBoundingClientRect();
  return [event.clientX - bounds.left, event.clientY - bounds.top];
}

function lineOf(style, x1, y1, x2, y2) {
  return draw("line", { class: style, x1, y1, x2, y2 });
}

function textAt(x, y, text, anchor = "middle", style = "") {
  return draw("text", { x, y, "text-anchor": anchor, class: style }, text);
}

// A frame with horizontal lines and their values; gives how high a value lies.
function drawScale(svg, { low, high, top, height, width, title, isPercent = false }) {
  const y = (value) => top + height - ((value - low) / (high - low)) * height;
  const levels = ticks(low, high, Math.max(4, height / 40));
  for (const level of levels) {
    svg.append(
      lineOf("grid", LEFT, y(level), width - RIGHT, y(level)),
      textAt(LEFT - 7, y(level) + 4, tickText(level, levels, isPercent), "end"),
    );
  }
  const [x, middle] = [12, top + height / 2];
  const upright = textAt(x, middle, title);
  upright.setAttribute("transform", `rotate(-90 ${x} ${middle})`);
  const frame = { class: "frame", x: LEFT, y: top, width: width - LEFT - RIGHT, height };
  svg.append(draw("rect", frame), upright);
  return y;
}

// Whole numbers below a picture, and what they count.
function drawCounts(svg, { low, high, x, bottom, width, title }) {
  for (const n of ticks(low, high, width / 80).filter(Number.isInteger)) {
    svg.append(lineOf("frame", x(n), bottom, x(n), bottom + 4), textAt(x(n), bottom + 16, n));
  }
  svg.append(textAt((x(low) + x(high)) / 2, bottom + 32, title));
}

function rangeOf({ curves }) {
  const values = curves.flatMap((curve) => curve.values);
  const known = values.filter((value) => value !== null);
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (low >= 0 && low < 0.45 * high) low = 0;
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return { low: low === 0 ? 0 : low - pad, high: high + pad };
}

// Panels of curves over steps; gives which step lies where, and how to mark one.
function drawCurves(svg, width, { ks, panels, marks }) {
  const [low, high] = [1, Math.max(ks.at(-1), 2)];
  const inner = width - LEFT - RIGHT;
  const x = (k) => LEFT + ((k - low) / (high - low)) * inner;
  let top = TOP;
  svg.replaceChildren();
  const moving = panels.flatMap((panel, p) => {
    const { title, percent: isPercent } = panel;
    const height = p === 0 ? 210 : 100;
    const y = drawScale(svg, { ...rangeOf(panel), top, height, width, title, isPercent });
    top += height + GAP;
    return panel.curves.map((curve) => drawCurve(svg, ks, curve, x, y));
  });
  const bottom = top - GAP;
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 40}`);
  drawCounts(svg, { low, high, x, bottom, width, title: "steps k" });
  drawMarks(svg, marks.filter(({ k }) => k >= ks[0] && k <= ks.at(-1)), x, bottom, width);
  const cursor = lineOf("cursor", 0, TOP, 0, bottom);
  svg.append(cursor, ...moving.map((one) => one.dot));
  const show = (place) => {
    fill(cursor, { x1: x(ks[place]), x2: x(ks[place]) }, []);
    for (const { dot, curve, y } of moving) {
      const value = curve.values[place];
      fill(dot, { cx: x(ks[place]), cy: Number.isFinite(value) ? y(value) : -99 }, []);
    }
  };
  return { placeAt: (left) => nearest(ks, low + ((left - LEFT) / inner) * (high - low)), show };
}

function drawCurve(svg, ks, curve, x, y) {
  const places = ks.map((_, i) => i).filter((i) => Number.isFinite(curve.values[i]));
  const points = places.map((i) => `${x(ks[i]).toFixed(1)},${y(curve.values[i]).toFixed(1)}`);
  svg.append(draw("polyline", { class: `curve ${curve.style}`, points: points.join(" ") }));
  if (points.length === 1) {
    const [cx, cy] = points[0].split(",");
    svg.append(draw("circle", { class: `dot ${curve.style}`, cx, cy, r: 3 }));
  }
  return { dot: draw("circle", { class: `dot ${curve.style}`, r: 4.5 }), curve, y };
}

// Steps with a name, such as the chosen one; names of two that lie close are written as one.
function drawMarks(svg, marks, x, bottom, width) {
  for (const { k, style } of marks) svg.append(lineOf(style, x(k), TOP, x(k), bottom));
  const isClose = marks.length > 1 && Math.abs(x(marks[1].k) - x(marks[0].k)) < 90;
  const both = { ...marks[0], name: marks.map((mark) => mark.name).join(", ") };
  for (const { k, name } of isClose ? [both] : marks) {
    const room = isClose ? 80 : 40;
    const anchor = x(k) > width - 30 - room ? "end" : x(k) < LEFT + room ? "start" : "middle";
    svg.append(textAt(x(k), TOP - 7, name, anchor, "strong"));
  }
}

// The curves' names with their values at a step.
function legendItems(panels, place) {
  return panels.flatMap((panel) =>
    panel.curves.map((curve) => {
      const swatch = draw("svg", { viewBox: "0 0 16 10", "aria-hidden": "true" });
      swatch.append(lineOf(`curve ${curve.style}`, 0, 6, 16, 6));
      const value = make("b", {}, written(curve.values[place], panel.percent));
      return make("li", {}, swatch, `${curve.name} `, value);
    }),
  );
}

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
  path.ks = path.nAtoms.map((_, i) => i + 1);
  path.panels.flatMap((panel) => panel.curves).forEach((curve, i) => {
    curve.style = ["c0", "c1", "c2"][i % 3];
  });
  const legend = make("ul", { class: "legend", "aria-live": "polite" });
  const summary = `Curves over ${path.ks.length} steps`;
  const svg = draw("svg", { class: "chart", role: "img", "aria-label": summary });
  const slider = make("input", {
    type: "range", min: 0, max: path.ks.length - 1, step: 1, "aria-label": "number of steps k",
  });
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
  let place = path.ks.indexOf(path.chosen);
  function show(to) {
    place = clamp(to, 0, path.ks.length - 1);
    const [k, n] = [path.ks[place], path.nAtoms[place]];
    slider.value = place;
    slider.setAttribute("aria-valuetext", `k = ${k}`);
    output.textContent = `k = ${k}`;
    for (const jump of jumps) jump.setAttribute("aria-pressed", Number(jump.dataset.k) === k);
    const atoms = make("li", {}, make("b", {}, n), n === 1 ? " atom" : " atoms");
    legend.replaceChildren(atoms, ...legendItems(path.panels, place));
    chart?.show(place);
  }
  for (const kind of ["pointermove", "pointerdown"]) {
    svg.addEventListener(kind, (event) => show(chart.placeAt(placeOf(event)[0])));
  }
  slider.addEventListener("input", () => show(Number(slider.value)));
  host.append(make("div", { class: "views" }, view));
  show(place);
  keepDrawn(view, (width) => {
    chart = drawCurves(svg, width, { ...path, marks });
    show(place);
  });
}

document.querySelectorAll("table").forEach(sortable);
const explorers = { path: pathExplorer, thresholds: thresholdExplorer };
const hints = {
  path: "Move over the curves or drag the slider to see the scores after k steps.",
  thresholds:
    "Move the threshold, here or on a curve: precision, recall and the matrix follow.",
};
for (const host of document.querySelectorAll("[data-explorer]")) {
  host.replaceChildren(make("p", { class: "hint" }, hints[host.dataset.explorer]));
  explorers[host.dataset.explorer](host, data[host.dataset.explorer]);
}
