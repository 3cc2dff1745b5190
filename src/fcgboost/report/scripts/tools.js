// Small tools.

const data = JSON.parse(document.getElementById("page-data").textContent);
// What tests, and the curious in the console, can ask.
const api = {};
window.fcgboost = api;

function offer(parts) {
  Object.defineProperties(api, Object.getOwnPropertyDescriptors(parts));
}

// The name of SVG's elements is an address; the page holds none, so the parser is asked for it.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild
  .namespaceURI;

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

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

function minus(text) {
  return text.replace("-", "\u2212");
}

function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}\u202f%`;
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

function ticks(low, high, about) {
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / unit - 1e-9); i * unit <= high + unit * 1e-9; i += 1) {
    found.push(i * unit);
  }
  return found;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

function tickText(value, all, isPercent) {
  const step = (all.length > 1 ? all[1] - all[0] : 1) * (isPercent ? 100 : 1);
  if (!isPercent && Math.max(...all.map(Math.abs)) >= 1e5) return minus(COMPACT.format(value));
  const digits = clamp(Math.ceil(-Math.log10(step) - 1e-9), 0, 8);
  return isPercent ? percent(value, digits) : minus(value.toFixed(digits));
}

// Draw again when the place for a drawing changes its width, or colours change.
function keepDrawn(host, paint) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.round(host.clientWidth);
    if (now && now !== width) {
      width = now;
      paint(width);
    }
  }).observe(host);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => width && paint(width));
  }
  width = Math.round(host.clientWidth);
  if (width) paint(width);
}
