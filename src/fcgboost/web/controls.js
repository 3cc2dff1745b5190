// The playground's controls: their settings, their labels, and the address that holds both.

const find = (id) => document.getElementById(id);
const write = (texts) =>
  Object.entries(texts).forEach(([id, text]) => (find(id).textContent = text));
const DEFAULTS = JSON.parse(find("controls").dataset.defaults);
const MOST_STEPS = 200;
const PRESETS = ["auto", "compact"];
const TABLES = ["cancer", "wine", "digits"];

// Positions of a slider on a logarithmic scale, as round numbers.
const scale = (n, value) => Array.from({ length: n }, (_, i) => Number(value(i).toPrecision(2)));
const SCALES = {
  width: scale(41, (i) => 0.05 * 100 ** (i / 40)),
  l2: [0, ...scale(29, (i) => 10 ** (i / 4 - 6))],
};
const log = (value) => Math.log(value || 1e-9);
const isRidgeAuto = () => find("l2-auto").getAttribute("aria-pressed") === "true";
const pressRidgeAuto = (isPressed) => find("l2-auto").setAttribute("aria-pressed", isPressed);

function readControl(name) {
  const control = find(name);
  if (control.type === "checkbox") return control.checked;
  if (name === "l2" && isRidgeAuto()) return "auto";
  if (name in SCALES) return SCALES[name][Number(control.value)];
  const isText = control.options && Number.isNaN(Number(control.value));
  return isText ? control.value : Number(control.value);
}

function writeControl(name, value) {
  const control = find(name);
  if (name === "l2") pressRidgeAuto(value === "auto");
  if (control.type === "checkbox") control.checked = value;
  else if (!(name in SCALES)) control.value = value;
  else if (value !== "auto") control.value = nearest(SCALES[name].map(log), log(value));
  // A slider keeps its range by itself, a field does not.
  if (control.type === "number") {
    control.value = clamp(Math.round(value), Number(control.min), Number(control.max));
  }
}

const readSettings = () =>
  Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, readControl(name)]));
const writeSettings = (settings) =>
  Object.entries(settings).forEach(([name, value]) => writeControl(name, value));

function keepOutliersWithSimulation() {
  const isOutlier = find("noise").value === "outlier";
  if (find("data").value !== "simulation" && isOutlier) find("noise").value = "uniform";
}

// Labels, and which controls mean something.
function writeLabels() {
  const settings = readSettings();
  const { data, noise, level, n_samples: m, dictionary, width, degree, scheme, l2 } = settings;
  const corrects = scheme === "fully_corrective";
  const isPreset = PRESETS.includes(dictionary);
  const isTable = TABLES.includes(data);
  const ridge = l2 !== "auto" ? l2 : isTable ? "1 / m" : `1 / m = ${Number((1 / m).toPrecision(2))}`;
  const texts = {
    level: `${Math.round(100 * level)} %`,
    n_samples: isTable ? "all rows" : m,
    width,
    degree,
    l2: corrects ? ridge : "–",
  };
  for (const [id, text] of Object.entries(texts)) {
    document.querySelector(`output[for="${id}"]`).textContent = text;
    find(id).setAttribute("aria-valuetext", text);
  }
  enable("level", noise !== "none", "There is no noise.");
  find("noise").querySelector('[value="outlier"]').disabled = data !== "simulation";
  find("width-field").hidden = dictionary !== "gauss";
  find("degree-field").hidden = dictionary !== "polynomial";
  find("about-data").hidden = !isTable;
  find("about-preset").hidden = !isPreset;
  find("family-fields").hidden = isPreset;
  enable("n_samples", !isTable, "All rows of a table are used.");
  enable("l2", corrects, "Only full correction has a ridge penalty.");
  find("l2-auto").disabled = !corrects;
  if (l2 === "auto") find("l2").value = nearest(SCALES.l2.map(log), log(1 / m));
}

function enable(id, isOn, why) {
  find(id).disabled = !isOn;
  const field = find(id).closest(".field");
  field.classList.toggle("off", !isOn);
  field.title = isOn ? "" : why;
}

// Says what is wrong with the one setting that is typed; gives whether it is right.
function markSeed(drawnSeed) {
  const seed = find("seed");
  const isRight = seed.checkValidity();
  seed.setAttribute("aria-invalid", !isRight);
  const range = `Must be a whole number from ${seed.min} to ${seed.max}.`;
  const trouble = `${range} Until then the pictures are of seed ${drawnSeed}.`;
  write({ "seed-trouble": isRight ? "" : trouble });
  return isRight;
}

function rememberInAddress(settings, k) {
  const changed = Object.entries(settings).filter(([name, value]) => value !== DEFAULTS[name]);
  if (k !== null) changed.push(["k", k]);
  const fragment = new URLSearchParams(changed).toString();
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
}

// What a text of the address means to a control; undefined where it means nothing.
function meaning(name, text) {
  const { options } = find(name);
  if (options) return [...options].some((option) => option.value === text) ? text : undefined;
  if (typeof DEFAULTS[name] === "boolean") return { true: true, false: false }[text];
  if (DEFAULTS[name] === "auto" && text === "auto") return text;
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

// Sets what the address says; gives the step, and sentences on what could not be set like that.
function readAddress() {
  writeSettings(DEFAULTS);
  const given = [...new URLSearchParams(location.hash.slice(1))];
  const settings = given.filter(([name]) => Object.hasOwn(DEFAULTS, name));
  for (const [name, text] of settings) {
    const value = meaning(name, text);
    if (value !== undefined) writeControl(name, value);
  }
  keepOutliersWithSimulation();
  let k = null;
  const complaints = given.map(([name, text]) => {
    const said = `${name.slice(0, 20)}=${text.slice(0, 20)}`;
    if (name === "k") {
      k = /^\d{1,3}$/.test(text) && Number(text) <= MOST_STEPS ? Number(text) : null;
      return k === null && `${said} is no step`;
    }
    if (!Object.hasOwn(DEFAULTS, name)) return `${name.slice(0, 20)} is no setting`;
    const value = readControl(name);
    return String(value) !== String(meaning(name, text)) && `${said} became ${value}`;
  });
  return { k, complaints: complaints.filter(Boolean) };
}
