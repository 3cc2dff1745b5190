"use strict";
// Pictures: numbers in, a canvas or an SVG filled. Nothing here asks the server or knows a control.

const drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 34, right: 8, top: 8, bottom: 26 };

  function colors() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ["surface", "plane", "edge", "ink", "quiet", "faint", "negative", "positive", "boundary", "chosen"];
    return { ...Object.fromEntries(names.map((name) => [name, color(name)])), fill: Number(color("fill")) };
  }

  function channels(hex) {
    return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  }

  // Rounds to a few digits, with the minus of print.
  function number(value, digits = 2) {
    return value.toFixed(digits).replace("-", "−");
  }

  function percent(share) {
    return `${(100 * share).toFixed(1)}\u00a0%`;
  }

  // One, two or five times a power of ten, so that about n of them make up the span.
  function niceStep(span, n) {
    const power = 10 ** Math.floor(Math.log10(span / n));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => span / step <= n);
  }

  function ticks(low, high, n) {
    const step = niceStep(high - low, n);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
    return found.map((value) => ({ value, text: number(value + 0, digits) }));
  }

  // The sides of the grid's cells that a level crosses, two by two: [[key, [x, y]], [key, [x, y]]].
  function crossings(values, size, level) {
    const pairs = [];
    for (let place = 0; place < size * (size - 1); place++) {
      if (place % size === size - 1) continue;
      const corners = [place, place + 1, place + size + 1, place + size];
      const isAbove = corners.map((corner) => values[corner] >= level);
      if (isAbove.every((is) => is === isAbove[0])) continue;
      const found = [];
      for (let side = 0; side < 4; side++) {
        const [from, to] = [corners[side], corners[(side + 1) % 4]].sort((a, b) => a - b);
        if (isAbove[side] === isAbove[(side + 1) % 4]) continue;
        const share = (level - values[from]) / (values[to] - values[from]);
        const isAcross = to - from === 1;
        const [x, y] = [from % size, Math.floor(from / size)];
        found.push([2 * from + (isAcross ? 0 : 1), isAcross ? [x + share, y] : [x, y + share]]);
      }
      for (let n = 0; n + 1 < found.length; n += 2) pairs.push([found[n], found[n + 1]]);
    }
    return pairs;
  }

  // The lines along which values have a level, in units of the grid. Whole lines can be dashed.
  function trace(values, size, level) {
    const pairs = crossings(values, size, level);
    const touching = new Map();
    pairs.forEach((pair, i) => pair.forEach(([key]) => touching.set(key, [...(touching.get(key) ?? []), i])));
    const isUsed = new Array(pairs.length).fill(false);
    const follow = (key, line) => {
      for (let i; (i = touching.get(key).find((pair) => !isUsed[pair])) !== undefined; ) {
        isUsed[i] = true;
        const [end] = pairs[i].filter(([other]) => other !== key);
        line.push(end[1]);
        key = end[0];
      }
    };
    const lines = [];
    pairs.forEach(([[first, start], [second, next]], i) => {
      if (isUsed[i]) return;
      isUsed[i] = true;
      const [forth, back] = [[start, next], []];
      follow(second, forth);
      follow(first, back);
      lines.push([...back.reverse(), ...forth]);
    });
    return lines;
  }

  // Pointers move more often than values do.
  const traced = new WeakMap();
  function contour(values, size) {
    if (!traced.has(values)) traced.set(values, trace(values, size, 0));
    return traced.get(values);
  }

  // A canvas as sharp as the screen, cleared, in units of CSS pixels.
  function prepare(canvas) {
    const { clientWidth: width, clientHeight: height } = canvas;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { pen, width, height };
  }

  // How the plane lies on a canvas of some size.
  function layout(canvas, frame) {
    const box = {
      left: MARGIN.left,
      top: MARGIN.top,
      width: canvas.clientWidth - MARGIN.left - MARGIN.right,
      height: canvas.clientHeight - MARGIN.top - MARGIN.bottom,
    };
    const [[x0, x1], [y0, y1]] = frame;
    return {
      box,
      toScreen: ([x, y]) => [
        box.left + ((x - x0) / (x1 - x0)) * box.width,
        box.top + (1 - (y - y0) / (y1 - y0)) * box.height,
      ],
      toPlane: ([left, top]) => [
        x0 + ((left - box.left) / box.width) * (x1 - x0),
        y0 + (1 - (top - box.top) / box.height) * (y1 - y0),
      ],
    };
  }

  // The decision value at a point, between those of the grid.
  function valueAt(grid, decision, [x, y]) {
    const n = grid.size - 1;
    const [[x0, x1], [y0, y1]] = grid.frame;
    const a = Math.min(Math.max(((x - x0) / (x1 - x0)) * n, 0), n);
    const b = Math.min(Math.max(((y - y0) / (y1 - y0)) * n, 0), n);
    const [j, i] = [Math.min(Math.floor(a), n - 1), Math.min(Math.floor(b), n - 1)];
    const at = (row, column) => decision[row * grid.size + column];
    const low = at(i, j) + (a - j) * (at(i, j + 1) - at(i, j));
    const high = at(i + 1, j) + (a - j) * (at(i + 1, j + 1) - at(i + 1, j));
    return low + (b - i) * (high - low);
  }

  function fillPlane(pen, box, grid, decision, color) {
    const [ground, negative, positive] = [color.plane, color.negative, color.positive].map(channels);
    const image = new ImageData(grid.size, grid.size);
    decision.forEach((value, place) => {
      // The first row of the grid is the lowest, that of an image the highest.
      const row = grid.size - 1 - Math.floor(place / grid.size);
      const start = 4 * (row * grid.size + (place % grid.size));
      const share = color.fill * Math.min(1, Math.abs(value));
      const target = value < 0 ? negative : positive;
      for (let c = 0; c < 3; c++) image.data[start + c] = ground[c] + share * (target[c] - ground[c]);
      image.data[start + 3] = 255;
    });
    const small = document.createElement("canvas");
    small.width = small.height = grid.size;
    small.getContext("2d").putImageData(image, 0, 0);
    // The grid's outer points lie on the frame: half a pixel of the image hangs over it.
    const [dx, dy] = [box.width / (grid.size - 1), box.height / (grid.size - 1)];
    pen.imageSmoothingQuality = "high";
    pen.drawImage(small, box.left - dx / 2, box.top - dy / 2, box.width + dx, box.height + dy);
  }

  // Strokes where values are 0.
  function strokeZero(pen, box, grid, values) {
    const [dx, dy] = [box.width / (grid.size - 1), box.height / (grid.size - 1)];
    pen.beginPath();
    for (const line of contour(values, grid.size)) {
      line.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"](box.left + x * dx, box.top + box.height - y * dy));
    }
    pen.stroke();
  }

  function drawPoints(pen, points, toScreen, color) {
    const radius = points.x.length > 800 ? 2.2 : 3;
    pen.lineWidth = 1.3;
    points.x.forEach((point, i) => {
      const [x, y] = toScreen(point);
      const isPositive = points.label[i] > 0;
      pen.beginPath();
      if (isPositive) {
        pen.arc(x, y, radius, 0, 2 * Math.PI);
      } else {
        pen.moveTo(x, y - 1.25 * radius);
        pen.lineTo(x + 1.15 * radius, y + 0.85 * radius);
        pen.lineTo(x - 1.15 * radius, y + 0.85 * radius);
        pen.closePath();
      }
      const tint = isPositive ? color.positive : color.negative;
      pen.fillStyle = points.flipped[i] ? color.plane : tint;
      pen.strokeStyle = tint;
      pen.fill();
      if (points.flipped[i]) pen.stroke();
    });
  }

  // Where the line <w, x> + c = 0 enters and leaves the frame.
  function ends([w1, w2, c], [[x0, x1], [y0, y1]]) {
    const found = [];
    if (w2 !== 0) for (const x of [x0, x1]) found.push([x, -(w1 * x + c) / w2]);
    if (w1 !== 0) for (const y of [y0, y1]) found.push([-(w2 * y + c) / w1, y]);
    const slack = 1e-9 * (x1 - x0 + y1 - y0);
    const inside = found.filter(
      ([x, y]) => x >= x0 - slack && x <= x1 + slack && y >= y0 - slack && y <= y1 + slack,
    );
    inside.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
    return inside.length < 2 ? null : [inside[0], inside[inside.length - 1]];
  }

  function drawAtom(pen, scene, place, size, toScreen, color) {
    const { atoms, coef, grid } = scene;
    const isChosen = place === scene.chosen;
    const tint = coef[place] < 0 ? color.negative : color.positive;
    const stroke = (style, width) => {
      pen.strokeStyle = style;
      pen.lineWidth = width;
      pen.stroke();
    };
    pen.beginPath();
    if (atoms.centers) {
      const [x, y] = toScreen(atoms.centers[place]);
      pen.arc(x, y, 4 + 7 * size, 0, 2 * Math.PI);
      stroke(color.plane, 4);
      stroke(isChosen ? color.chosen : tint, isChosen ? 3.5 : 2);
      if (isChosen && atoms.radii) {
        const [right, up] = toScreen(atoms.centers[place].map((value, axis) => value + atoms.radii[axis]));
        pen.beginPath();
        pen.setLineDash([5, 4]);
        pen.ellipse(x, y, right - x, y - up, 0, 0, 2 * Math.PI);
        stroke(color.chosen, 1.8);
        pen.setLineDash([]);
      }
    } else {
      const line = ends(atoms.lines[place], grid.frame);
      if (!line) return;
      pen.moveTo(...toScreen(line[0]));
      pen.lineTo(...toScreen(line[1]));
      pen.globalAlpha = isChosen ? 1 : 0.25 + 0.7 * size;
      stroke(isChosen ? color.chosen : tint, isChosen ? 4 : 1 + 1.6 * size);
      pen.globalAlpha = 1;
    }
  }

  function drawAtoms(pen, scene, toScreen, color) {
    const largest = Math.max(...scene.coef.map(Math.abs), 1e-300);
    const places = scene.coef.map((_, place) => place);
    // Large ones last, on top; the chosen one above all.
    places.sort((a, b) => (a === scene.chosen) - (b === scene.chosen) || Math.abs(scene.coef[a]) - Math.abs(scene.coef[b]));
    for (const place of places) {
      drawAtom(pen, scene, place, Math.sqrt(Math.abs(scene.coef[place]) / largest), toScreen, color);
    }
  }

  function drawAxes(pen, box, frame, toScreen, color, fonts) {
    pen.strokeStyle = color.edge;
    pen.lineWidth = 1;
    pen.strokeRect(box.left, box.top, box.width, box.height);
    pen.fillStyle = color.quiet;
    pen.font = `11.5px ${fonts}`;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const { value, text } of ticks(...frame[0], 6)) {
      pen.fillText(text, toScreen([value, 0])[0], box.top + box.height + 7);
    }
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const { value, text } of ticks(...frame[1], 6)) {
      pen.fillText(text, box.left - 6, toScreen([0, value])[1]);
    }
  }

  // The plane: decision values, boundary, points, atoms. `scene.decision` is all that is painted.
  function plane(canvas, scene) {
    const { pen, width, height } = prepare(canvas);
    const { box, toScreen } = layout(canvas, scene.grid.frame);
    const color = colors();
    pen.clearRect(0, 0, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.width, box.height);
    pen.clip();
    fillPlane(pen, box, scene.grid, scene.decision, color);
    if (scene.shows.points) drawPoints(pen, scene.points, toScreen, color);
    if (scene.shows.atoms) drawAtoms(pen, scene, toScreen, color);
    pen.lineCap = "round";
    if (scene.shows.truth) {
      pen.setLineDash([7, 6]);
      pen.strokeStyle = color.boundary;
      pen.lineWidth = 1.4;
      strokeZero(pen, box, scene.grid, scene.truth);
      pen.setLineDash([]);
    }
    for (const [style, thickness] of [[color.plane, 5], [color.boundary, 2.6]]) {
      pen.strokeStyle = style;
      pen.lineWidth = thickness;
      strokeZero(pen, box, scene.grid, scene.decision);
    }
    if (scene.cursor) drawCursor(pen, toScreen(scene.cursor), color);
    pen.restore();
    drawAxes(pen, box, scene.grid.frame, toScreen, color, getComputedStyle(canvas).fontFamily);
  }

  function drawCursor(pen, [x, y], color) {
    for (const [style, width] of [[color.plane, 4], [color.ink, 1.6]]) {
      pen.beginPath();
      pen.moveTo(x - 8, y);
      pen.lineTo(x + 8, y);
      pen.moveTo(x, y - 8);
      pen.lineTo(x, y + 8);
      pen.strokeStyle = style;
      pen.lineWidth = width;
      pen.stroke();
    }
  }

  function element(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  // An empty picture with horizontal lines; gives how values lie on it.
  function chart(svg, [low, high], n, format) {
    const { clientWidth: width, clientHeight: height } = svg;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const box = { left: 44, right: width - 12, top: 12, bottom: height - 20 };
    const y = (value) => box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top);
    for (const { value } of ticks(low, high, n)) {
      element(svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: y(value), y2: y(value) });
      element(svg, "text", { x: box.left - 7, y: y(value) + 4, "text-anchor": "end" }, format(value));
    }
    return { box, y };
  }

  // Names above the curves' ends; where these are close, the lower one's name is below it.
  function labelCurves(svg, box, heights) {
    const texts = { training: "training error", test: "clean test error" };
    const gap = heights.test - heights.training;
    const lower = gap >= 0 ? "test" : "training";
    for (const [name, height] of Object.entries(heights)) {
      const isBelow = name === lower && Math.abs(gap) < 24 && height + 18 < box.bottom;
      element(svg, "text", { class: name, x: box.right, y: height + (isBelow ? 17 : -8), "text-anchor": "end" }, texts[name]);
    }
  }

  // Errors over steps; gives the ends of the axis, for the slider below and for the pointer.
  function path(svg, { training, test, k0, k, flipped }) {
    const n = training.length - 1;
    const top = Math.max(0.1, 1.08 * Math.max(...training, ...test, flipped));
    const { box, y } = chart(svg, [0, top], 4, (value) => `${Math.round(100 * value)} %`);
    const x = (step) => box.left + (step / Math.max(1, n)) * (box.right - box.left);
    const vertical = (name, step) =>
      element(svg, "line", { class: name, x1: x(step), x2: x(step), y1: box.top, y2: box.bottom });
    const share = element(svg, "line", { class: "share", x1: box.left, x2: box.right, y1: y(flipped), y2: y(flipped) });
    element(share, "title", {}, "Share of flipped labels");
    if (k0 <= n) {
      vertical("theory", k0);
      element(svg, "text", { x: x(k0) + 4, y: box.top + 6 }, `k₀ = ${k0}`);
    }
    for (const { value, text } of ticks(0, Math.max(1, n), 6)) {
      if (Number.isInteger(value)) element(svg, "text", { x: x(value), y: box.bottom + 15, "text-anchor": "middle" }, text);
    }
    const curves = { training, test };
    for (const [name, curve] of Object.entries(curves)) {
      const points = curve.map((value, step) => `${x(step).toFixed(2)},${y(value).toFixed(2)}`);
      element(svg, "polyline", { class: `curve ${name}`, points: points.join(" ") });
    }
    vertical("now", k);
    for (const [name, curve] of Object.entries(curves)) {
      element(svg, "circle", { class: `dot ${name}`, cx: x(k), cy: y(curve[k]), r: 4.5 });
    }
    labelCurves(svg, box, { training: y(training[n]), test: y(test[n]) });
    return { left: box.left, right: box.right, n };
  }

  // A number beside others, the largest of which is known; four or five signs at most.
  function short(value, largest) {
    const size = Math.floor(Math.log10(largest));
    if (value === 0 || (size >= -2 && size < 3)) return number(value + 0, Math.min(3, Math.max(0, 1 - size)));
    const style = size < 0 ? { notation: "scientific" } : { notation: "compact" };
    return value.toLocaleString("en", { ...style, maximumFractionDigits: 1 }).replace("-", "−");
  }

  // A bar per atom; gives which atom lies at a place of the picture.
  function bars(svg, { coef, chosen }) {
    const largest = Math.max(...coef.map(Math.abs), 1e-12);
    const { box, y } = chart(svg, [-1.1 * largest, 1.1 * largest], 4, (value) => short(value, largest));
    const slot = (box.right - box.left) / Math.max(12, coef.length);
    const width = Math.max(1, Math.min(slot * 0.7, 18));
    coef.forEach((value, place) => {
      const name = `bar ${value < 0 ? "negative" : "positive"}${place === chosen ? " chosen" : ""}`;
      const [top, bottom] = [Math.min(y(value), y(0)), Math.max(y(value), y(0))];
      const left = box.left + place * slot + (slot - width) / 2;
      element(svg, "rect", { class: name, x: left, y: top, width, height: Math.max(0.5, bottom - top), rx: Math.min(2, width / 4) });
    });
    element(svg, "line", { class: "zero", x1: box.left, x2: box.right, y1: y(0), y2: y(0) });
    return (left) => {
      const place = Math.floor((left - box.left) / slot);
      return place >= 0 && place < coef.length ? place : null;
    };
  }

  return { plane, layout, valueAt, path, bars, number, percent };
})();
