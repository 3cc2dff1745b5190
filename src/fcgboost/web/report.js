// The report: tables that sort, the path of a fit, the intervals of a comparison.

const data = JSON.parse(document.getElementById("page-data").textContent);

// ---- Tables ----

function sortable(table) {
  const first = Array.from(table.tBodies[0].rows);
  for (const head of table.querySelectorAll("th[data-sortable]")) {
    const button = make("button", { type: "button", title: "Sort by this column" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortBy(table, first, head));
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
  const rows = first.map((row) => [sortKey(row.cells[head.cellIndex], isNumber), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  return table.tBodies[0].append(...rows.map(([, row]) => row));
}

function sortKey(cell, isNumber) {
  const text = cell.dataset.key ?? cell.textContent.trim();
  if (text === "") return null;
  if (!isNumber) return text;
  const value = Number(text.replace("\u2212", "-").replaceAll(",", ""));
  return Number.isNaN(value) ? null : value;
}

// On paper nothing can be unfolded.
function unfoldOnPaper() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
}

// ---- The path ----

function pathExplorer(host, path) {
  path.ks = path.nAtoms.map((_, i) => i + 1);
  path.panels.flatMap((panel) => panel.curves).forEach((curve, i) => {
    curve.style = ["c0", "c1", "c2"][i % 3];
  });
  const state = { place: Math.max(0, path.ks.indexOf(path.chosen)), views: [] };
  const show = (place) => {
    state.place = clamp(place, 0, path.ks.length - 1);
    for (const view of state.views) view(state.place);
  };
  const curves = curvesView(path, show, state);
  const other = path.boundary ? boundaryView(path, state) : coefficientView(path, state);
  const views = make("div", { class: "views" }, curves, other);
  host.replaceChildren(make("p", { class: "hint" }, host.dataset.hint), views);
  show(state.place);
  const frame = () => frameAt(path, state.place);
  offer({
    get k() {
      return path.ks[state.place];
    },
    get frame() {
      return path.frames[frame()];
    },
    setK: (k) => show(nearest(path.ks, k)),
    decision: () => decisionAt(path.boundary, frame()),
    coefficients: () => Array.from(coefficientsAt(path, frame())),
  });
}

function numbersOf(text, Type) {
  return new Type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

// Long paths have their boundary or coefficients after some steps only: the nearest of these.
function frameAt(path, place) {
  return path.frames.length === path.ks.length ? place : nearest(path.frames, path.ks[place]);
}

function frameNote(path, place, what) {
  const k = path.frames[frameAt(path, place)];
  const nearby = `${what} after ${k} steps, the nearest that this page holds.`;
  return k === path.ks[place] ? "" : nearby;
}

function curvesView(path, show, state) {
  const legend = make("ul", { class: "legend", "aria-live": "polite" });
  const svg = draw("svg", { class: "chart", role: "img", "aria-label": path.summary });
  const slider = make("input", {
    type: "range", min: 0, max: path.ks.length - 1, step: 1, "aria-label": "number of steps k",
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  const output = make("output");
  const jumps = jumpButtons(path, show);
  const tools = make("div", { class: "tools" }, output, slider, ...jumps);
  const view = make("div", { class: "view" }, legend, svg, tools);
  let chart = null;
  const point = (event) => show(chart.placeAt(placeOf(event)[0]));
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  const update = (place) => {
    const [k, n] = [path.ks[place], path.nAtoms[place]];
    slider.value = place;
    slider.setAttribute("aria-valuetext", `k = ${k}`);
    output.textContent = `k = ${k}`;
    for (const jump of jumps) jump.setAttribute("aria-pressed", Number(jump.dataset.k) === k);
    const atoms = make("li", {}, make("b", {}, n), n === 1 ? " atom" : " atoms");
    legend.replaceChildren(atoms, ...legendItems(path.panels, place));
    chart?.show(place);
  };
  keepDrawn(view, (width) => {
    chart = drawCurves(svg, width, { ...path, marks: marksOf(path) });
    update(state.place);
  });
  offer({
    positionOf: (k) => {
      const box = svg.getBoundingClientRect();
      return { x: box.left + chart.x(k), y: box.top + TOP + 40 };
    },
  });
  state.views.push(update);
  return view;
}

function marksOf({ chosen, k0 }) {
  const kept = { k: chosen, name: `chosen: ${chosen}`, style: "kept" };
  if (k0 === null) return [kept];
  if (k0 === chosen) return [{ ...kept, name: `chosen = k\u2080 = ${k0}` }];
  return [kept, { k: k0, name: `k\u2080 = ${k0}`, style: "mark" }];
}

function jumpButtons(path, show) {
  const jumps = [["chosen", path.chosen], ["k\u2080", path.k0], ["fewest errors", path.best]];
  return jumps
    .filter(([, k]) => path.ks.includes(k))
    .map(([name, k]) => {
      const button = make("button", { type: "button", "data-k": k }, name);
      button.addEventListener("click", () => show(path.ks.indexOf(k)));
      return button;
    });
}

function decisionAt(boundary, frame) {
  boundary.decoded ??= numbersOf(boundary.values, Int32Array);
  const size = boundary.outputs * boundary.xs.length * boundary.ys.length;
  const whole = boundary.decoded.subarray(frame * size, (frame + 1) * size);
  return Array.from(whole, (value) => value * boundary.units[frame]);
}

// Of every output, one after the other.
function coefficientsAt(path, frame) {
  const { coef } = path;
  coef.decoded ??= numbersOf(coef.values, Float32Array);
  const sizes = path.frames.map((k) => path.nAtoms[k - 1] * coef.outputs.length);
  const start = sizes.slice(0, frame).reduce((sum, size) => sum + size, 0);
  return coef.decoded.subarray(start, start + sizes[frame]);
}

// Which class every atom speaks about most, whether for it, and how large its share is.
function atomSigns(path, frame) {
  const coef = coefficientsAt(path, frame);
  path.coef.decodedCodes ??= numbersOf(path.coef.codes, Uint8Array);
  const codes = path.coef.decodedCodes.subarray(coef.byteOffset / 4);
  const largest = Math.max(...Array.from(coef, Math.abs)) || 1;
  const isPair = path.boundary.outputs === 1;
  return Array.from(coef, (value, j) => ({
    code: isPair ? Number(value > 0) : codes[j],
    isFor: isPair || value > 0,
    size: Math.abs(value) / largest,
  }));
}

function boundaryView(path, state) {
  const { boundary } = path;
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
    const frame = frameAt(path, state.place);
    const ahead = leads(decisionAt(boundary, frame), boundary.outputs);
    const atoms = toggle.checked && { ...boundary.atoms, signs: atomSigns(path, frame) };
    paintPlane(canvas, { ...boundary, ahead, atoms, cursor });
    canvas.setAttribute(
      "aria-label", `Decision boundary after ${path.frames[frame]} steps over ` +
      `${boundary.names.join(" and ")}; the arrow keys move a point that is read out`,
    );
    const note = frameNote(path, state.place, "Boundary");
    reading.textContent = cursor ? readPoint(path, state.place, cursor) : note;
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

function readPoint(path, place, [i, j]) {
  const { boundary } = path;
  const { xs, ys, names, classes } = boundary;
  const n = xs.length * ys.length;
  const frame = frameAt(path, place);
  const decision = decisionAt(boundary, frame);
  const values = decision.filter((_, at) => at % n === j * xs.length + i);
  const winner = values.length === 1 ? Number(values[0] > 0) : values.indexOf(Math.max(...values));
  const k = path.frames[frame];
  const after = k === path.ks[place] ? "" : `after ${k} steps, `;
  return (
    `${after}${names[0]} ${number(xs[i])}, ${names[1]} ${number(ys[j])}: ` +
    `f = ${number(Math.max(...values))}, class ${classes[winner]}`
  );
}

function coefficientView(path, state) {
  const label = "Coefficient of every atom after k steps";
  const svg = draw("svg", { class: "chart", role: "img", "aria-label": label });
  const largest = make("ul", { class: "inside" });
  const { outputs } = path.coef;
  const options = outputs.map((name, o) => make("option", { value: o }, name));
  const choice = make("select", { "aria-label": "class" }, ...options);
  const tools = make("div", { class: "tools" });
  if (outputs.length > 1) tools.append(make("label", {}, "class", choice));
  const note = make("p", { class: "reading" });
  const view = make("div", { class: "view" }, tools, svg, note, largest);
  const paint = () => {
    if (!view.clientWidth) return;
    const output = Number(choice.value);
    const frame = frameAt(path, state.place);
    const k = path.frames[frame];
    const n = path.nAtoms[k - 1];
    const coef = coefficientsAt(path, frame).subarray(output * n, (output + 1) * n);
    const isNew = (j) => j >= (k === 1 ? 0 : path.nAtoms[k - 2]);
    drawStems(svg, view.clientWidth, {
      coef, n: path.atoms.length, height: 210,
      title: outputs.length > 1 ? `coefficient for ${outputs[output]}` : "coefficient",
      styleOf: (j) => (isNew(j) ? "newest" : ""),
      textOf: (j) => `${path.atoms[j].label}: ${number(coef[j])}`,
    });
    largest.replaceChildren(...largestAtoms(path, coef, isNew));
    note.textContent = frameNote(path, state.place, "Coefficients");
    note.hidden = note.textContent === "";
  };
  choice.addEventListener("change", paint);
  keepDrawn(view, paint);
  state.views.push(paint);
  return view;
}

function largestAtoms(path, coef, isNew) {
  const order = Array.from(coef.keys()).sort((a, b) => Math.abs(coef[b]) - Math.abs(coef[a]));
  return order.slice(0, 6).map((j) => {
    const name = `${path.atoms[j].label}${isNew(j) ? " (new)" : ""}`;
    return make("li", {}, make("b", {}, number(coef[j])), make("span", {}, name));
  });
}

// ---- Scores of several methods, with intervals ----

function intervalExplorer(host, { metrics, rows }) {
  const svg = draw("svg", { class: "chart", role: "img" });
  const buttons = metrics.map((metric, m) => {
    const button = make("button", { type: "button" }, metric.title);
    button.addEventListener("click", () => show(m));
    return button;
  });
  const view = make("div", { class: "view" }, make("div", { class: "tools" }, ...buttons), svg);
  host.replaceChildren(make("p", { class: "hint" }, host.dataset.hint), view);
  let shown = 0;
  function show(m) {
    shown = m;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === m));
    if (view.clientWidth) drawIntervals(svg, view.clientWidth, rows, metrics[m]);
  }
  keepDrawn(view, () => show(shown));
  offer({
    get metric() {
      return metrics[shown].name;
    },
    methods: () => Array.from(svg.querySelectorAll("text.method"), (text) => text.textContent),
  });
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
unfoldOnPaper();
const explorers = { path: pathExplorer, intervals: intervalExplorer };
for (const host of document.querySelectorAll("[data-explorer]")) {
  explorers[host.dataset.explorer](host, data[host.dataset.explorer]);
}
api.ready = true;
