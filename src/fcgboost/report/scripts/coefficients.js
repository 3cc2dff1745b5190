// The coefficients after a step, for any other inputs.

// Of every output, one after the other.
function coefficientsAt(path, frame) {
  const { coef } = path;
  coef.decoded ??= new Float32Array(bytes(coef.values));
  const size = (i) => path.nAtoms[path.frames[i] - 1] * coef.outputs.length;
  let start = 0;
  for (let i = 0; i < frame; i += 1) start += size(i);
  return coef.decoded.subarray(start, start + size(frame));
}

function coefficientView(path, state) {
  const svg = draw("svg", { class: "chart", role: "img" });
  svg.setAttribute("aria-label", "Coefficient of every atom after k steps");
  const largest = make("ul", { class: "inside" });
  const choice = make("select", { "aria-label": "class" });
  path.coef.outputs.forEach((name, o) => choice.append(make("option", { value: o }, name)));
  const view = make("div", { class: "view" }, svg);
  if (path.coef.outputs.length > 1) {
    view.prepend(make("div", { class: "tools" }, make("label", {}, "class", choice)));
  }
  const note = make("p", { class: "reading" });
  view.append(note, largest);
  let width = 0;
  const paint = () => {
    if (!width) return;
    const output = Number(choice.value || 0);
    const frame = frameAt(path, state.place);
    const k = path.frames[frame];
    const n = path.nAtoms[k - 1];
    const coef = coefficientsAt(path, frame).subarray(output * n, (output + 1) * n);
    const before = k === 1 ? 0 : path.nAtoms[k - 2];
    const several = path.coef.outputs.length > 1 ? ` for ${path.coef.outputs[output]}` : "";
    drawStems(svg, width, path, { coef, before, title: `coefficient${several}` });
    largest.replaceChildren(...largestAtoms(path, coef, before));
    note.textContent = frameNote(path, state.place, "Coefficients");
    note.hidden = note.textContent === "";
  };
  choice.addEventListener("change", paint);
  keepDrawn(view, (now) => {
    width = now;
    paint();
  });
  state.views.push(paint);
  return view;
}

function drawStems(svg, width, path, { coef, before, title }) {
  const [top, height] = [TOP, 210];
  const nAtoms = path.atoms.length;
  const high = Math.max(...Array.from(coef, Math.abs), 1e-12) * 1.08;
  const x = (j) => LEFT + ((j + 0.5) / nAtoms) * (width - LEFT - RIGHT);
  const y = (value) => top + height / 2 - (value / high) * (height / 2);
  svg.setAttribute("viewBox", `0 0 ${width} ${top + height + 38}`);
  svg.replaceChildren(
    draw("rect", { class: "frame", x: LEFT, y: top, width: width - LEFT - RIGHT, height }),
    draw("line", { class: "frame", x1: LEFT, x2: width - RIGHT, y1: y(0), y2: y(0) }),
  );
  const levels = ticks(-high, high, 5);
  for (const level of levels) {
    svg.append(
      draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }),
      draw("text", { x: LEFT - 7, y: y(level) + 4, "text-anchor": "end" }, tickText(level, levels, false)),
    );
  }
  // Many atoms have less room each.
  const size = clamp((0.45 * (width - LEFT - RIGHT)) / nAtoms, 1, 3.5);
  for (let j = 0; j < nAtoms; j += 1) {
    // Not in yet, or another class's.
    if (j >= coef.length || coef[j] === 0) {
      svg.append(draw("circle", { class: "waiting", cx: x(j), cy: y(0), r: 1.5 }));
      continue;
    }
    const kind = coef[j] < 0 ? "c1" : "c0";
    const isNewest = j >= before;
    const dot = draw("circle", {
      class: `dot ${kind}${isNewest ? " newest" : ""}`, cx: x(j), cy: y(coef[j]), r: isNewest ? 5 : size,
    });
    dot.append(draw("title", {}, `${path.atoms[j].label}: ${number(coef[j])}`));
    svg.append(draw("line", { class: `stem ${kind}`, "stroke-width": Math.min(2, size), x1: x(j), x2: x(j), y1: y(0), y2: y(coef[j]) }), dot);
  }
  for (const j of ticks(1, nAtoms, width / 80).filter((tick) => Number.isInteger(tick))) {
    svg.append(draw("text", { x: x(j - 1), y: top + height + 16, "text-anchor": "middle" }, String(j)));
  }
  svg.append(
    upright(title, 12, top + height / 2),
    draw("text", { x: (LEFT + width - RIGHT) / 2, y: top + height + 32, "text-anchor": "middle" },
      "atoms in order of entry"),
  );
}

function largestAtoms(path, coef, before) {
  const order = Array.from(coef.keys()).sort((a, b) => Math.abs(coef[b]) - Math.abs(coef[a]));
  return order.slice(0, 6).map((j) => {
    const isNewest = j >= before;
    const name = `${path.atoms[j].label}${isNewest ? " (new)" : ""}`;
    return make("li", {}, make("b", {}, number(coef[j])), make("span", {}, name));
  });
}
