// What both pages draw with: elements, numbers, ticks, colours, and charts of steps.

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

function colorOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
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

function rangeOf({ curves, level = null }) {
  const values = curves.flatMap((curve) => curve.values).concat(level ?? []);
  const known = values.filter((value) => value !== null);
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (low >= 0 && low < 0.45 * high) low = 0;
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return { low: low === 0 ? 0 : low - pad, high: high + pad };
}

// Panels of curves over steps; gives where a step lies, which one lies where, and how to mark one.
function drawCurves(svg, width, { ks, panels, marks }) {
  const [low, high] = [Math.min(1, ks[0]), Math.max(ks.at(-1), 2)];
  const inner = width - LEFT - RIGHT;
  const x = (k) => LEFT + ((k - low) / (high - low)) * inner;
  let top = TOP;
  svg.replaceChildren();
  const moving = panels.flatMap((panel, p) => {
    const { title, percent: isPercent, height = p === 0 ? 210 : 100 } = panel;
    const y = drawScale(svg, { ...rangeOf(panel), top, height, width, title, isPercent });
    top += height + GAP;
    const level = panel.level && y(panel.level);
    if (level) svg.append(lineOf("mark", LEFT, level, width - RIGHT, level));
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
      fill(dot, { cx: x(ks[place]), cy: value === null ? -99 : y(value) }, []);
    }
  };
  return { x, placeAt: (left) => nearest(ks, low + ((left - LEFT) / inner) * (high - low)), show };
}

function drawCurve(svg, ks, curve, x, y) {
  const places = ks.map((_, i) => i).filter((i) => curve.values[i] !== null);
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
