// The boundary after a step, for two inputs.

function valuesOf(boundary) {
  boundary.decoded ??= new Int32Array(bytes(boundary.values));
  return boundary.decoded;
}

function decisionAt(boundary, frame) {
  const size = boundary.outputs * boundary.xs.length * boundary.ys.length;
  const whole = valuesOf(boundary).subarray(frame * size, (frame + 1) * size);
  return Array.from(whole, (value) => value * boundary.units[frame]);
}

// Per class, how far its value is above the others': positive where the class wins.
function leads(boundary, decision) {
  const n = boundary.xs.length * boundary.ys.length;
  if (boundary.outputs === 1) return [decision.map((value) => -value), decision];
  return boundary.classes.map((_, c) =>
    Array.from({ length: n }, (__, i) => {
      let rival = -Infinity;
      for (let o = 0; o < boundary.outputs; o += 1) {
        if (o !== c) rival = Math.max(rival, decision[o * n + i]);
      }
      return decision[c * n + i] - rival;
    }),
  );
}

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function channels(color) {
  const hex = color.length === 4 ? color.replace(/[^#]/g, "$&$&") : color;
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// Colours of the classes; two have those of the whole page.
function classColors(n) {
  if (n === 2) return [ink("--first"), ink("--second")];
  const more = ["#CC79A7", "#E69F00", "#56B4E9", "#999999"];
  const all = [ink("--first"), ink("--second"), ink("--third"), ...more];
  return Array.from({ length: n }, (_, c) => all[c % all.length]);
}

// Classes differ by shape, too: paths around (0, 0), about 1 in each direction.
const SHAPES = [
  "M0-1.1L1 .7H-1Z", "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z", "M-.85-.85H.85V.85H-.85Z",
  "M0-1.2L1.2 0L0 1.2L-1.2 0Z", "M0 1.1L1-.7H-1Z",
  "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
  "M-1-.5L-.5-1L0-.5L.5-1L1-.5L.5 0L1 .5L.5 1L0 .5L-.5 1L-1 .5L-.5 0Z", "M-1.1 0L.7-1V1Z",
];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

function boundaryView(path, state) {
  const { boundary } = path;
  const canvas = make("canvas", { role: "application", tabindex: 0 });
  const reading = make("p", { class: "reading", "aria-live": "polite" }, "");
  const toggle = make("input", { type: "checkbox" });
  toggle.checked = boundary.atoms !== null && boundary.atoms.shown;
  const keys = make("ul", { class: "legend keys" }, ...classKeys(boundary));
  const tools = make("div", { class: "tools" });
  if (boundary.atoms) tools.append(make("label", {}, toggle, boundary.atoms.name));
  const view = make("div", { class: "view" }, canvas, keys, tools, reading);
  const seen = { frame: null, cursor: null };
  const paint = () => {
    if (!seen.frame) return;
    const k = path.frames[frameAt(path, state.place)];
    canvas.setAttribute(
      "aria-label", `Decision boundary after ${k} steps over ${boundary.names[0]} and ` +
      `${boundary.names[1]}; the arrow keys move a point that is read out`,
    );
    paintBoundary(canvas, seen, path, state.place, toggle.checked);
    const note = frameNote(path, state.place, "Boundary");
    reading.textContent = seen.cursor ? readPoint(path, state.place, seen.cursor) : note;
  };
  toggle.addEventListener("change", paint);
  watchPoint(canvas, boundary, seen, paint);
  keepDrawn(view, (width) => {
    seen.frame = makeFrame(canvas, width, boundary);
    for (const [i, swatch] of keys.querySelectorAll("path").entries()) {
      swatch.setAttribute("fill", classColors(boundary.classes.length)[i]);
    }
    paint();
  });
  state.views.push(paint);
  return view;
}

// A point of the grid that is read: under the mouse, a finger, or moved by the arrow keys.
function watchPoint(canvas, boundary, seen, paint) {
  const [nx, ny] = [boundary.xs.length, boundary.ys.length];
  const move = (cursor) => {
    seen.cursor = cursor;
    paint();
  };
  const point = (event) => move(gridPoint(canvas, seen.frame, boundary, event));
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("pointerleave", (event) => {
    // A finger that is lifted leaves what it has asked for.
    if (event.pointerType === "mouse") move(null);
  });
  canvas.addEventListener("blur", () => move(null));
  canvas.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    const [i, j] = seen.cursor ?? [(nx - 1) >> 1, (ny - 1) >> 1];
    move([clamp(i + step[0], 0, nx - 1), clamp(j + step[1], 0, ny - 1)]);
  });
}

function classKeys(boundary) {
  const names = boundary.classes.map((name, c) => {
    const swatch = draw("svg", { viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" });
    swatch.append(draw("path", { d: SHAPES[c % SHAPES.length] }));
    return make("li", {}, swatch, name);
  });
  return names;
}

function makeFrame(canvas, width, boundary) {
  const height = Math.round(clamp(width * 0.82, 240, 400));
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const box = { left: 50, top: 8, right: width - 8, bottom: height - 40 };
  const [xs, ys] = [boundary.xs, boundary.ys];
  const along = (values, from, to) => {
    const [low, high] = [values[0], values.at(-1)];
    return {
      low, high,
      to: (value) => from + ((value - low) / (high - low)) * (to - from),
      back: (place) => low + ((place - from) / (to - from)) * (high - low),
    };
  };
  return {
    width, height, ratio, box,
    x: along(xs, box.left, box.right),
    y: along(ys, box.bottom, box.top),
  };
}

function paintBoundary(canvas, seen, path, place, hasAtoms) {
  const { boundary } = path;
  const { frame } = seen;
  const { box } = frame;
  const context = canvas.getContext("2d");
  context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
  context.fillStyle = ink("--back");
  context.fillRect(0, 0, frame.width, frame.height);
  const ahead = leads(boundary, decisionAt(boundary, frameAt(path, place)));
  const colors = classColors(boundary.classes.length);
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  context.clip();
  paintFields(context, frame, boundary, ahead, colors);
  paintPoints(context, frame, boundary.points, colors);
  if (hasAtoms && boundary.atoms) paintAtoms(context, frame, path, frameAt(path, place));
  paintLines(context, frame, boundary, ahead);
  if (seen.cursor) paintCursor(context, frame, boundary, seen.cursor);
  context.restore();
  paintAxes(context, frame, boundary);
}

// The plane in the colour of the class that wins, stronger where it is surer.
function paintFields(context, frame, boundary, ahead, colors) {
  const [nx, ny] = [boundary.xs.length, boundary.ys.length];
  const small = make("canvas", { width: nx, height: ny });
  const brush = small.getContext("2d");
  const image = brush.createImageData(nx, ny);
  const paper = channels(ink("--back"));
  const mixes = colors.map(channels);
  for (let j = 0; j < ny; j += 1) {
    for (let i = 0; i < nx; i += 1) {
      const at = j * nx + i;
      let winner = 0;
      for (let c = 1; c < ahead.length; c += 1) if (ahead[c][at] > ahead[winner][at]) winner = c;
      const share = 0.5 * clamp(ahead[winner][at], 0, 1);
      const pixel = 4 * ((ny - 1 - j) * nx + i);
      for (let c = 0; c < 3; c += 1) {
        image.data[pixel + c] = paper[c] + share * (mixes[winner][c] - paper[c]);
      }
      image.data[pixel + 3] = 255;
    }
  }
  brush.putImageData(image, 0, 0);
  const { box } = frame;
  const [w, h] = [(box.right - box.left) / (nx - 1), (box.bottom - box.top) / (ny - 1)];
  context.imageSmoothingQuality = "high";
  // Pixels' centres are the grid's points.
  context.drawImage(small, box.left - w / 2, box.top - h / 2, w * nx, h * ny);
}

// Where a class begins to win: zero lines of every cell of the grid.
function paintLines(context, frame, boundary, ahead) {
  const { xs, ys } = boundary;
  const nx = xs.length;
  context.strokeStyle = ink("--text");
  context.lineWidth = 2;
  context.beginPath();
  for (const values of ahead.length === 2 ? [ahead[1]] : ahead) {
    for (let j = 0; j + 1 < ys.length; j += 1) {
      for (let i = 0; i + 1 < nx; i += 1) {
        const corners = [
          [xs[i], ys[j], values[j * nx + i]],
          [xs[i + 1], ys[j], values[j * nx + i + 1]],
          [xs[i + 1], ys[j + 1], values[(j + 1) * nx + i + 1]],
          [xs[i], ys[j + 1], values[(j + 1) * nx + i]],
        ];
        const cuts = crossings(corners);
        for (let c = 0; c + 1 < cuts.length; c += 2) {
          context.moveTo(frame.x.to(cuts[c][0]), frame.y.to(cuts[c][1]));
          context.lineTo(frame.x.to(cuts[c + 1][0]), frame.y.to(cuts[c + 1][1]));
        }
      }
    }
  }
  context.stroke();
}

function crossings(corners) {
  const cuts = [];
  for (let i = 0; i < 4; i += 1) {
    const [a, b] = [corners[i], corners[(i + 1) % 4]];
    if (a[2] > 0 === b[2] > 0) continue;
    const t = a[2] / (a[2] - b[2]);
    cuts.push([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]);
  }
  return cuts;
}

function paintPoints(context, frame, points, colors) {
  const shapes = colors.map((_, c) => sized(SHAPES[c % SHAPES.length], 3));
  const dot = sized(SHAPES[1], 2);
  context.lineWidth = 0.8;
  context.strokeStyle = ink("--back");
  points.x.forEach((x, i) => {
    const shape = shapes[points.c[i]] ?? dot;
    context.fillStyle = colors[points.c[i]] ?? ink("--faint");
    context.save();
    context.translate(frame.x.to(x), frame.y.to(points.y[i]));
    context.fill(shape);
    context.stroke(shape);
    context.restore();
  });
}

function sized(shape, size) {
  const larger = new Path2D();
  larger.addPath(new Path2D(shape), new DOMMatrix().scale(size));
  return larger;
}

function paintCursor(context, frame, boundary, [i, j]) {
  const [x, y] = [frame.x.to(boundary.xs[i]), frame.y.to(boundary.ys[j])];
  context.strokeStyle = ink("--link");
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 7, y);
  context.lineTo(x + 7, y);
  context.moveTo(x, y - 7);
  context.lineTo(x, y + 7);
  context.stroke();
}

// Which class every atom speaks about most, whether for it, and how large its share is.
function atomSigns(path, frame) {
  const coef = coefficientsAt(path, frame);
  path.coef.decodedCodes ??= new Uint8Array(bytes(path.coef.codes));
  const codes = path.coef.decodedCodes.subarray(coef.byteOffset / 4);
  const largest = Math.max(...Array.from(coef, Math.abs)) || 1;
  const isPair = path.boundary.outputs === 1;
  return Array.from(coef, (value, j) => ({
    code: isPair ? Number(value > 0) : codes[j],
    isFor: isPair || value > 0,
    size: Math.abs(value) / largest,
  }));
}

// In the colour of the class it speaks for, larger with its coefficient; hollow or dashed if against.
function paintAtoms(context, frame, path, place) {
  const { atoms } = path.boundary;
  const colors = classColors(path.boundary.classes.length);
  atomSigns(path, place).forEach(({ code, isFor, size }, j) => {
    const row = atoms.rows[j];
    context.beginPath();
    if (atoms.kind === "points") {
      context.arc(frame.x.to(row[0]), frame.y.to(row[1]), 3 + 5 * Math.sqrt(size), 0, 2 * Math.PI);
      context.fillStyle = colors[code];
      context.globalAlpha = 0.7;
      if (isFor) context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = isFor ? ink("--text") : colors[code];
      context.lineWidth = isFor ? 1.2 : 1.8;
    } else {
      line(context, frame, row);
      context.strokeStyle = colors[code];
      context.setLineDash(isFor ? [] : [6, 4]);
      context.globalAlpha = 0.8;
      context.lineWidth = 0.6 + 2.6 * size;
    }
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  });
}

// The line a x + b y + c = 0, from side to side of the picture.
function line(context, frame, [a, b, c]) {
  const { x, y } = frame;
  const [sx, sy] = [Math.abs(a) * (x.high - x.low), Math.abs(b) * (y.high - y.low)];
  const ends = sx > sy
    ? [y.low, y.high].map((v) => [-(b * v + c) / a, v])
    : [x.low, x.high].map((v) => [v, -(a * v + c) / b]);
  context.moveTo(x.to(ends[0][0]), y.to(ends[0][1]));
  context.lineTo(x.to(ends[1][0]), y.to(ends[1][1]));
}

function paintAxes(context, frame, boundary) {
  const { box } = frame;
  context.strokeStyle = ink("--line");
  context.lineWidth = 1;
  context.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  context.fillStyle = ink("--faint");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  const acrossTicks = ticks(frame.x.low, frame.x.high, frame.width / 90);
  for (const value of acrossTicks) {
    context.fillText(tickText(value, acrossTicks, false), frame.x.to(value), box.bottom + 5);
  }
  context.fillText(boundary.names[0], (box.left + box.right) / 2, box.bottom + 22);
  context.textAlign = "right";
  context.textBaseline = "middle";
  const upTicks = ticks(frame.y.low, frame.y.high, frame.height / 60);
  for (const value of upTicks) {
    context.fillText(tickText(value, upTicks, false), box.left - 5, frame.y.to(value));
  }
  context.save();
  context.translate(9, (box.top + box.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(boundary.names[1], 0, 0);
  context.restore();
}

function gridPoint(canvas, frame, boundary, event) {
  const area = canvas.getBoundingClientRect();
  const x = frame.x.back(((event.clientX - area.left) * frame.width) / area.width);
  const y = frame.y.back(((event.clientY - area.top) * frame.height) / area.height);
  const { xs, ys } = boundary;
  if (x < xs[0] || x > xs.at(-1) || y < ys[0] || y > ys.at(-1)) return null;
  const place = (value, side) =>
    Math.round(((value - side[0]) / (side.at(-1) - side[0])) * (side.length - 1));
  return [place(x, xs), place(y, ys)];
}

function readPoint(path, place, [i, j]) {
  const { boundary } = path;
  const { xs, ys } = boundary;
  const n = xs.length * ys.length;
  const frame = frameAt(path, place);
  const decision = decisionAt(boundary, frame);
  const values = Array.from({ length: boundary.outputs }, (_, o) => decision[o * n + j * xs.length + i]);
  const winner = values.length === 1 ? Number(values[0] > 0) : values.indexOf(Math.max(...values));
  const after = path.frames[frame] === path.ks[place] ? "" : `after ${path.frames[frame]} steps, `;
  return (
    `${after}${boundary.names[0]} ${number(xs[i])}, ${boundary.names[1]} ${number(ys[j])}: ` +
    `f = ${number(Math.max(...values))}, class ${boundary.classes[winner]}`
  );
}
