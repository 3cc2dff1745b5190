// The path: curves over the number of steps.

const LEFT = 66;
const RIGHT = 12;
const TOP = 22;

function pathExplorer(host, path) {
  path.ks = path.nAtoms.map((_, i) => i + 1);
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
  const svg = curves.querySelector("svg.chart");
  offer({
    get k() {
      return path.ks[state.place];
    },
    ks: path.ks,
    setK: (k) => show(nearest(path.ks, k)),
    positionOf: (k) => svg.positionOf(k),
    get frame() {
      return path.frames[frameAt(path, state.place)];
    },
    decision: path.boundary ? () => decisionAt(path.boundary, frameAt(path, state.place)) : null,
    coefficients: () => Array.from(coefficientsAt(path, frameAt(path, state.place))),
  });
}

function nearest(ks, k) {
  let best = 0;
  ks.forEach((value, i) => {
    if (Math.abs(value - k) < Math.abs(ks[best] - k)) best = i;
  });
  return best;
}

// Long paths have their boundary or coefficients after some steps only: the nearest of these.
function frameAt(path, place) {
  return path.frames.length === path.ks.length ? place : nearest(path.frames, path.ks[place]);
}

function frameNote(path, place, what) {
  const k = path.frames[frameAt(path, place)];
  return k === path.ks[place] ? "" : `${what} after ${k} steps, the nearest ones that this page holds.`;
}

function curvesView(path, show, state) {
  const legend = make("ul", { class: "legend", "aria-live": "polite" });
  const svg = draw("svg", { class: "chart", role: "img" });
  svg.setAttribute("aria-label", path.summary);
  const slider = make("input", {
    type: "range", min: 0, max: path.ks.length - 1, step: 1, "aria-label": "number of steps k",
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  const output = make("output");
  const jumps = jumpButtons(path, show);
  const view = make(
    "div", { class: "view" }, legend, svg,
    make("div", { class: "tools" }, output, slider, ...jumps),
  );
  const colored = colorCurves(path);
  const scale = { x: (k) => k };
  let cursor = null;
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    show(nearest(path.ks, scale.k(event.clientX - box.left)));
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.positionOf = (k) => {
    const box = svg.getBoundingClientRect();
    return { x: box.left + scale.x(k), y: box.top + TOP + 40 };
  };
  const update = (place) => {
    const k = path.ks[place];
    slider.value = place;
    slider.setAttribute("aria-valuetext", `k = ${k}`);
    output.textContent = `k = ${k}`;
    for (const button of jumps) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.k) === k));
    }
    legend.replaceChildren(...legendItems(path, colored, place));
    if (cursor) cursor(place);
  };
  keepDrawn(view, (width) => {
    cursor = drawPanels(svg, width, path, colored, scale);
    update(state.place);
  });
  state.views.push(update);
  return view;
}

function jumpButtons(path, show) {
  const jumps = [["chosen", path.chosen], ["k\u2080", path.k0], ["fewest errors", path.best]];
  return jumps
    .filter(([, k]) => k !== null && path.ks.includes(k))
    .map(([name, k]) => {
      const button = make("button", { type: "button", "data-k": k }, name);
      button.addEventListener("click", () => show(path.ks.indexOf(k)));
      return button;
    });
}

// One colour per curve, in order, over all panels.
function colorCurves(path) {
  let next = 0;
  return path.panels.map((panel) => panel.curves.map(() => `c${next++ % 3}`));
}

function legendItems(path, colored, place) {
  const items = path.panels.flatMap((panel, p) =>
    panel.curves.map((curve, c) => {
      const line = draw("line", {
        x1: 0, x2: 16, y1: 6, y2: 6, class: `curve ${colored[p][c]}`,
      });
      const swatch = draw("svg", { viewBox: "0 0 16 10", "aria-hidden": "true" });
      swatch.append(line);
      const value = make("b", {}, written(curve.values[place], panel.percent));
      return make("li", {}, swatch, `${curve.name} `, value);
    }),
  );
  const atoms = path.nAtoms[place];
  items.unshift(make("li", {}, make("b", {}, String(atoms)), atoms === 1 ? " atom" : " atoms"));
  return items;
}

function drawPanels(svg, width, path, colored, scale) {
  const heights = path.panels.map((_, i) => (i === 0 ? 210 : 100));
  const gap = 26;
  const height = TOP + heights.reduce((sum, h) => sum + h + gap, 0) + 14;
  const [low, high] = [Math.min(1, path.ks[0]), Math.max(path.ks.at(-1), 2)];
  const inner = width - LEFT - RIGHT;
  scale.x = (k) => LEFT + ((k - low) / (high - low)) * inner;
  scale.k = (x) => low + ((x - LEFT) / inner) * (high - low);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  let top = TOP;
  const moving = [];
  path.panels.forEach((panel, p) => {
    moving.push(...drawPanel(svg, path, panel, colored[p], scale, { top, height: heights[p], width }));
    top += heights[p] + gap;
  });
  const bottom = top - gap;
  drawSteps(svg, scale, { low, high, bottom, width });
  drawMarks(svg, path, scale, { bottom, width });
  const line = draw("line", { class: "cursor", y1: TOP, y2: bottom });
  svg.append(line, ...moving.map((one) => one.dot));
  return (place) => {
    const x = scale.x(path.ks[place]);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    for (const { dot, curve, y } of moving) {
      const value = curve.values[place];
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", value === null ? -99 : y(value));
    }
  };
}

function rangeOf(curves) {
  const values = curves.flatMap((curve) => curve.values).filter((value) => value !== null);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (low >= 0 && low < 0.45 * high) low = 0;
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low === 0 ? 0 : low - pad, high + pad];
}

function drawPanel(svg, path, panel, classes, scale, { top, height, width }) {
  const [low, high] = rangeOf(panel.curves);
  const y = (value) => top + height - ((value - low) / (high - low)) * height;
  const levels = ticks(low, high, height / 40);
  for (const level of levels) {
    svg.append(
      draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }),
      draw(
        "text", { x: LEFT - 7, y: y(level) + 4, "text-anchor": "end" },
        tickText(level, levels, panel.percent),
      ),
    );
  }
  svg.append(draw("rect", { class: "frame", x: LEFT, y: top, width: width - LEFT - RIGHT, height }));
  svg.append(upright(panel.title, 12, top + height / 2));
  return panel.curves.map((curve, c) => {
    const points = curve.values
      .map((value, i) => (value === null ? "" : `${scale.x(path.ks[i]).toFixed(1)},${y(value).toFixed(1)}`))
      .filter(Boolean);
    svg.append(draw("polyline", { class: `curve ${classes[c]}`, points: points.join(" ") }));
    if (points.length === 1) {
      const [cx, cy] = points[0].split(",");
      svg.append(draw("circle", { class: `dot ${classes[c]}`, cx, cy, r: 3 }));
    }
    return { dot: draw("circle", { class: `dot ${classes[c]}`, r: 4.5 }), curve, y };
  });
}

function upright(text, x, y) {
  const turn = `rotate(-90 ${x} ${y})`;
  return draw("text", { x, y, "text-anchor": "middle", transform: turn }, text);
}

function drawSteps(svg, scale, { low, high, bottom, width }) {
  const found = ticks(low, high, width / 80).filter((k) => Number.isInteger(k) && k >= low);
  for (const k of found) {
    svg.append(
      draw("line", { class: "frame", x1: scale.x(k), x2: scale.x(k), y1: bottom, y2: bottom + 4 }),
      draw("text", { x: scale.x(k), y: bottom + 16, "text-anchor": "middle" }, String(k)),
    );
  }
  const middle = (scale.x(low) + scale.x(high)) / 2;
  svg.append(draw("text", { x: middle, y: bottom + 32, "text-anchor": "middle" }, "steps k"));
}

function drawMarks(svg, path, scale, { bottom, width }) {
  const marks = [{ k: path.chosen, name: `chosen: ${path.chosen}`, style: "kept" }];
  // A model cut down to no step at all.
  if (path.chosen < path.ks[0]) marks.pop();
  if (path.k0 !== null && path.k0 <= path.ks.at(-1)) {
    if (path.k0 === path.chosen) marks[0].name = `chosen = k\u2080 = ${path.k0}`;
    else marks.push({ k: path.k0, name: `k\u2080 = ${path.k0}`, style: "mark" });
  }
  marks.sort((a, b) => a.k - b.k);
  const isClose = marks.length > 1 && scale.x(marks[1].k) - scale.x(marks[0].k) < 90;
  marks.forEach((mark, i) => {
    const x = scale.x(mark.k);
    svg.append(draw("line", { class: mark.style, x1: x, x2: x, y1: TOP, y2: bottom }));
    let anchor = x > width - 70 ? "end" : x < LEFT + 40 ? "start" : "middle";
    if (isClose) anchor = i === 0 && x > LEFT + 70 ? "end" : "start";
    if (isClose && i === 0 && anchor === "start") {
      // No room on the left: the second one's text follows the first one's.
      marks[1].name = `${mark.name}, ${marks[1].name}`;
      return;
    }
    svg.append(draw("text", { class: "strong", x, y: TOP - 7, "text-anchor": anchor }, mark.name));
  });
}
