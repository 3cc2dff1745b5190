// The decision of a model over the plane of its two inputs, with points, atoms and a cursor.

// Classes differ by shape, too: paths around (0, 0), about 1 in each direction.
const SHAPES = [
  "M0-1.1L1 .7H-1Z", "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z", "M-.85-.85H.85V.85H-.85Z",
  "M0-1.2L1.2 0L0 1.2L-1.2 0Z", "M0 1.1L1-.7H-1Z",
  "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
  "M-1-.5L-.5-1L0-.5L.5-1L1-.5L.5 0L1 .5L.5 1L0 .5L-.5 1L-1 .5L-.5 0Z", "M-1.1 0L.7-1V1Z",
];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
// How much of a class's colour is mixed in where it is sure.
const STRONGEST = 0.5;

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// Per class, how far its value is above the others': positive where the class wins.
function leads(decision, nOutputs) {
  if (nOutputs === 1) return [decision.map((value) => -value), decision];
  const n = decision.length / nOutputs;
  const outputs = Array.from({ length: nOutputs }, (_, o) => decision.slice(o * n, (o + 1) * n));
  return outputs.map((own) => {
    const others = outputs.filter((other) => other !== own);
    return own.map((value, i) => value - Math.max(...others.map((other) => other[i])));
  });
}

// Which class every atom speaks about most, whether for it, and how large its share is; without
// codes of classes there are two, and an atom speaks for one of them.
function atomSigns(coef, codes) {
  const largest = Math.max(...Array.from(coef, Math.abs)) || 1;
  return Array.from(coef, (value, j) => ({
    code: codes ? codes[j] : Number(value > 0),
    isFor: !codes || value > 0,
    size: Math.abs(value) / largest,
  }));
}

// How two axes lie on a canvas.
function planeLayout(canvas, { xs, ys }) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const box = { left: 50, top: 8, right: width - 8, bottom: height - 40 };
  const axis = (values, from, to) => {
    const [low, high] = [values[0], values.at(-1)];
    return {
      low, high,
      to: (value) => from + ((value - low) / (high - low)) * (to - from),
      place: (at) => Math.round(((at - from) / (to - from)) * (values.length - 1)),
    };
  };
  return { width, height, box, x: axis(xs, box.left, box.right), y: axis(ys, box.bottom, box.top) };
}

// Draws a scene: {xs, ys, names, ahead, points, truth, atoms, cursor}, where `ahead` are leads.
function paintPlane(canvas, scene) {
  const layout = planeLayout(canvas, scene);
  const { box } = layout;
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  canvas.width = layout.width * ratio;
  canvas.height = layout.height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = colorOf("surface");
  pen.fillRect(0, 0, layout.width, layout.height);
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  pen.clip();
  const colors = scene.ahead.map((_, c) => colorOf(`class-${1 + (c % 7)}`));
  paintFields(pen, layout, scene, colors);
  if (scene.points) paintPoints(pen, layout, scene.points, colors);
  if (scene.atoms) paintAtoms(pen, layout, scene.atoms, colors);
  const boundaries = scene.ahead.length === 2 ? [scene.ahead[1]] : scene.ahead;
  for (const values of boundaries) strokeTwice(pen, zeros(layout, scene, values), 2.4);
  if (scene.truth) {
    pen.setLineDash([2, 2]);
    strokeTwice(pen, zeros(layout, scene, scene.truth), 1.4);
    pen.setLineDash([]);
  }
  if (scene.cursor) {
    const [i, j] = scene.cursor;
    const [x, y] = [layout.x.to(scene.xs[i]), layout.y.to(scene.ys[j])];
    strokeTwice(pen, new Path2D(`M${x - 8} ${y}h16M${x} ${y - 8}v16`), 1.6);
  }
  pen.restore();
  paintAxes(pen, layout, scene.names);
}

// In the colour of text, with a rim in that of paper.
function strokeTwice(pen, path, width) {
  for (const [color, wider] of [["surface", 2.4], ["text", 0]]) {
    pen.strokeStyle = colorOf(color);
    pen.lineWidth = width + wider;
    pen.stroke(path);
  }
}

// The plane in the colour of the class that wins, stronger where it is surer.
function paintFields(pen, { box }, { xs, ys, ahead }, colors) {
  const [nx, ny] = [xs.length, ys.length];
  const image = new ImageData(nx, ny);
  const paper = channels(colorOf("surface"));
  const mixes = colors.map(channels);
  for (let at = 0; at < nx * ny; at += 1) {
    let winner = 0;
    for (let c = 1; c < ahead.length; c += 1) if (ahead[c][at] > ahead[winner][at]) winner = c;
    const share = STRONGEST * clamp(ahead[winner][at], 0, 1);
    // The first row of the grid is the lowest, that of an image the highest.
    const pixel = 4 * ((ny - 1 - Math.floor(at / nx)) * nx + (at % nx));
    const mixed = paper.map((value, c) => value + share * (mixes[winner][c] - value));
    image.data.set([...mixed, 255], pixel);
  }
  const small = make("canvas", { width: nx, height: ny });
  small.getContext("2d").putImageData(image, 0, 0);
  const [w, h] = [(box.right - box.left) / (nx - 1), (box.bottom - box.top) / (ny - 1)];
  pen.imageSmoothingQuality = "high";
  // Pixels' centres are the grid's points.
  pen.drawImage(small, box.left - w / 2, box.top - h / 2, w * nx, h * ny);
}

// Where values are 0: a line through every cell of the grid that they cross.
function zeros({ x, y }, { xs, ys }, values) {
  const [path, nx] = [new Path2D(), xs.length];
  const cut = (a, b) => {
    const share = values[a] / (values[a] - values[b]);
    const [i, j, k, l] = [a % nx, Math.floor(a / nx), b % nx, Math.floor(b / nx)];
    return [x.to(xs[i] + share * (xs[k] - xs[i])), y.to(ys[j] + share * (ys[l] - ys[j]))];
  };
  for (let at = 0; at < nx * (ys.length - 1); at += 1) {
    if (at % nx === nx - 1) continue;
    const corners = [at, at + 1, at + nx + 1, at + nx];
    const sides = corners.map((a, s) => [a, corners[(s + 1) % 4]]);
    const cuts = sides.filter(([a, b]) => values[a] > 0 !== values[b] > 0);
    cuts.forEach((side, c) => path[c % 2 ? "lineTo" : "moveTo"](...cut(...side)));
  }
  return path;
}

// Hollow where a label is flipped.
function paintPoints(pen, layout, points, colors) {
  const shapes = SHAPES.map((shape) => new Path2D(shape));
  const size = points.x.length > 800 ? 2.2 : 3;
  const paper = colorOf("surface");
  points.x.forEach((x, i) => {
    // A label that is no class is a grey dot.
    const [c, isHollow] = [points.c[i], points.flipped?.[i]];
    const shape = shapes[c < 0 ? 1 : c % shapes.length];
    const color = colors[c] ?? colorOf("muted");
    pen.fillStyle = isHollow ? paper : color;
    pen.strokeStyle = isHollow ? color : paper;
    pen.lineWidth = (isHollow ? 1.4 : 0.7) / size;
    pen.save();
    pen.translate(layout.x.to(x), layout.y.to(points.y[i]));
    pen.scale(size, size);
    pen.fill(shape);
    pen.stroke(shape);
    pen.restore();
  });
}

// In the colour of the class an atom speaks for, larger with its coefficient; hollow or dashed if
// it speaks against the class.
function paintAtoms(pen, layout, { kind, rows, signs }, colors) {
  const paint = kind === "points" ? paintCenter : paintLine;
  const marks = signs.map((sign, j) => ({ ...sign, row: rows[j] }));
  // Large ones last, on top.
  marks.sort((a, b) => a.size - b.size);
  for (const mark of marks) paint(pen, layout, mark.row, mark, colors);
}

function paintCenter(pen, { x, y }, row, { code, isFor, size }, colors) {
  pen.beginPath();
  pen.arc(x.to(row[0]), y.to(row[1]), 3 + 5 * Math.sqrt(size), 0, 2 * Math.PI);
  pen.fillStyle = colors[code];
  pen.globalAlpha = 0.7;
  if (isFor) pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = isFor ? colorOf("text") : colors[code];
  pen.lineWidth = isFor ? 1.2 : 1.8;
  pen.stroke();
}

// The line a x + b y + c = 0, from side to side of the picture.
function paintLine(pen, { x, y }, [a, b, c], { code, isFor, size }, colors) {
  const [across, up] = [Math.abs(a) * (x.high - x.low), Math.abs(b) * (y.high - y.low)];
  const ends = across > up
    ? [y.low, y.high].map((v) => [-(b * v + c) / a, v])
    : [x.low, x.high].map((v) => [v, -(a * v + c) / b]);
  pen.beginPath();
  for (const [h, v] of ends) pen.lineTo(x.to(h), y.to(v));
  pen.strokeStyle = colors[code];
  pen.setLineDash(isFor ? [] : [6, 4]);
  pen.globalAlpha = 0.8;
  pen.lineWidth = 0.6 + 2.6 * size;
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

function paintAxes(pen, { box, x, y, width, height }, names) {
  pen.strokeStyle = colorOf("line");
  pen.lineWidth = 1;
  pen.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  pen.fillStyle = colorOf("muted");
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const across = ticks(x.low, x.high, width / 90);
  for (const value of across) pen.fillText(tickText(value, across), x.to(value), box.bottom + 5);
  pen.fillText(names[0], (box.left + box.right) / 2, box.bottom + 22);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const up = ticks(y.low, y.high, height / 60);
  for (const value of up) pen.fillText(tickText(value, up), box.left - 5, y.to(value));
  pen.translate(9, (box.top + box.bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText(names[1], 0, 0);
}

// A point of the grid that is read: under the mouse, a finger, or moved by the arrow keys.
function watchPlane(canvas, gridOf, move) {
  let cursor = null;
  const set = (to) => move((cursor = to));
  const isOn = (i, values) => i >= 0 && i < values.length;
  const point = (event) => {
    const grid = gridOf();
    if (!grid) return;
    const layout = planeLayout(canvas, grid);
    const [left, top] = placeOf(event);
    const [i, j] = [layout.x.place(left), layout.y.place(top)];
    set(isOn(i, grid.xs) && isOn(j, grid.ys) ? [i, j] : null);
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("pointerleave", (event) => {
    // A finger that is lifted leaves what it has asked for.
    if (event.pointerType === "mouse") set(null);
  });
  canvas.addEventListener("blur", () => set(null));
  canvas.addEventListener("keydown", (event) => {
    const grid = gridOf();
    if (!(event.key in ARROWS) || !grid) return;
    event.preventDefault();
    const sizes = [grid.xs.length, grid.ys.length];
    const start = cursor ?? sizes.map((n) => (n - 1) >> 1);
    set(start.map((at, axis) => clamp(at + ARROWS[event.key][axis], 0, sizes[axis] - 1)));
  });
}
