// Scores of several methods, with intervals.

function intervalExplorer(host, intervals) {
  const svg = draw("svg", { class: "chart", role: "img" });
  const buttons = intervals.metrics.map((metric, m) => {
    const button = make("button", { type: "button" }, metric.title);
    button.addEventListener("click", () => show(m));
    return button;
  });
  const view = make("div", { class: "view" }, make("div", { class: "tools" }, ...buttons), svg);
  host.replaceChildren(make("p", { class: "hint" }, host.dataset.hint), view);
  let [width, shown] = [0, 0];
  function show(m) {
    shown = m;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === m)));
    if (width) drawIntervals(svg, width, intervals, intervals.metrics[m]);
  }
  keepDrawn(view, (now) => {
    width = now;
    show(shown);
  });
  offer({
    setMetric: (name) => show(intervals.metrics.findIndex((metric) => metric.name === name)),
    get metric() {
      return intervals.metrics[shown].name;
    },
    methods: () => Array.from(svg.querySelectorAll("text.method"), (text) => text.textContent),
  });
}

function drawIntervals(svg, width, intervals, metric) {
  const sign = metric.larger ? -1 : 1;
  const rows = intervals.rows
    .filter((row) => row.scores[metric.name])
    .sort((a, b) => sign * (a.scores[metric.name][0] - b.scores[metric.name][0]));
  const left = width < 520 ? 138 : 180;
  const [step, top] = [30, 30];
  const bottom = top + rows.length * step;
  const ends = rows.flatMap((row) => row.scores[metric.name]);
  const pad = (Math.max(...ends) - Math.min(...ends)) * 0.05 || 0.01;
  const [low, high] = [Math.min(...ends) - pad, Math.max(...ends) + pad];
  const x = (value) => left + ((value - low) / (high - low)) * (width - left - RIGHT);
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 26}`);
  svg.setAttribute("aria-label", `${metric.title} of every method with its 95 % interval`);
  svg.replaceChildren();
  const levels = ticks(low, high, (width - left) / 65);
  for (const level of levels) {
    svg.append(
      draw("line", { class: "grid", x1: x(level), x2: x(level), y1: top, y2: bottom }),
      draw("text", { x: x(level), y: bottom + 16, "text-anchor": "middle" },
        tickText(level, levels, metric.percent)),
    );
  }
  const better = metric.larger ? "larger is better \u2192" : "\u2190 smaller is better";
  const anchor = metric.larger ? "end" : "start";
  svg.append(draw("text", { class: "strong", x: metric.larger ? left : width - RIGHT, y: top - 12, "text-anchor": metric.larger ? "start" : "end" }, metric.title));
  svg.append(draw("text", { x: metric.larger ? width - RIGHT : left, y: top - 12, "text-anchor": anchor }, better));
  rows.forEach((row, i) => {
    const [value, from, to] = row.scores[metric.name];
    const y = top + (i + 0.5) * step;
    const kind = row.ours ? "c1" : "c0";
    const all = [value, from, to].map((end) => written(end, metric.percent));
    const group = draw("g", {}, draw("title", {}, `${row.method}: ${all[0]}, from ${all[1]} to ${all[2]}`));
    group.append(
      draw("text", { class: `method${row.ours ? " ours" : ""}`, x: left - 10, y: y + 4, "text-anchor": "end" }, row.method),
      draw("line", { class: `span ${kind}`, x1: x(from), x2: x(to), y1: y, y2: y }),
      draw("circle", { class: `dot ${kind}`, cx: x(value), cy: y, r: 5 }),
    );
    svg.append(group);
  });
}
