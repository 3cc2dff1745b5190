// The playground: controls, what is asked of the server, and when something is drawn.

const find = (id) => document.getElementById(id);
const DEFAULTS = JSON.parse(find("controls").dataset.defaults);
// A fit that is slower than this is given up for a newer one; a faster one is drawn first.
const PATIENCE = 300;
const MOST_STEPS = 200;
// What takes longer is announced.
const WAIT = 400;
const WAITING = "Waiting for a fit … Fits of several tabs are made one after another.";
const GONE = "The playground does not answer. Is it still running in the terminal?";
// The server leaves the older of two fits of the same tab, in whatever order they come in.
const tab = crypto.randomUUID();
let nSent = 0;

// What is shown: the answer to the last fit, and its steps that have come in.
const shown = { fit: null, settings: null, step: null, steps: new Map(), redraws: 0, latency: 0 };
let asked = null; // the settings of the last fit that was asked for
let wantedSteps = null; // null: the theory's number
let lastMove = 0; // numbers the moves of the steps, so that none is drawn over a newer one
let drawnMove = 0;
let cursor = null;
let chosenAtom = null;
let stepAt = () => null;
let atomAt = () => null;
let isPlaying = false;

// ---- Controls ----

// Positions of a slider on a logarithmic scale, as round numbers.
const scale = (n, value) => Array.from({ length: n }, (_, i) => Number(value(i).toPrecision(2)));
const scales = {
  width: scale(41, (i) => 0.05 * 100 ** (i / 40)),
  l2: [0, ...scale(29, (i) => 10 ** (i / 4 - 6))],
};
const log = (value) => Math.log(value || 1e-9);
const isRidgeAuto = () => find("l2-auto").getAttribute("aria-pressed") === "true";
const pressRidgeAuto = (isPressed) => find("l2-auto").setAttribute("aria-pressed", isPressed);
const slide = (name, value) => {
  find(name).value = nearest(scales[name].map(log), log(value));
};

function readControl(name) {
  const control = find(name);
  if (control.type === "checkbox") return control.checked;
  if (name === "l2" && isRidgeAuto()) return "auto";
  if (name in scales) return scales[name][Number(control.value)];
  const isText = control.options && Number.isNaN(Number(control.value));
  return isText ? control.value : Number(control.value);
}

function writeControl(name, value) {
  const control = find(name);
  if (name === "l2") pressRidgeAuto(value === "auto");
  if (control.type === "checkbox") control.checked = value;
  // A slider keeps its range by itself, a field does not.
  else if (control.type === "number") {
    control.value = clamp(Math.round(value), Number(control.min), Number(control.max));
  } else if (!(name in scales)) control.value = value;
  else if (value !== "auto") slide(name, value);
}

const names = Object.keys(DEFAULTS);
const readSettings = () => Object.fromEntries(names.map((name) => [name, readControl(name)]));
const writeSettings = (settings) => names.forEach((name) => writeControl(name, settings[name]));

// ---- What is asked of the server ----

let token = "";

// A ticket of the address works once; its token is kept for all tabs of this page's origin.
async function enter() {
  const ticket = new URLSearchParams(location.search).get("ticket");
  if (ticket !== null) history.replaceState(null, "", location.pathname + location.hash);
  token = storage((kept) => kept.getItem("fcgboost-token")) ?? "";
  if (ticket !== null) {
    try {
      token = (await ask("/enter", { ticket })).token;
      storage((kept) => kept.setItem("fcgboost-token", token));
    } catch (error) {
      // An address that was used before is no harm to a browser that was let in.
      if (error.status !== 403) return complain(error);
    }
  }
  return token ? start() : refuse();
}

// A browser may forbid to keep anything; then only this tab is let in.
function storage(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

function refuse() {
  find("refused").hidden = false;
  document.body.dataset.busy = "false";
}

async function ask(path, body, signal) {
  const headers = { "Content-Type": "application/json", "X-Fcgboost-Token": token };
  const options = { method: "POST", headers, body: JSON.stringify(body), signal };
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
  return answer;
}

// One request at a time; of those that come in meanwhile, the newest is next.
function newestOnly(work) {
  let current = null;
  let next = null;
  async function run(job) {
    current = { abort: new AbortController(), started: performance.now() };
    markBusy();
    try {
      await work(job, current.abort.signal);
    } catch (error) {
      if (error.name !== "AbortError" && next === null) complain(error);
    }
    current = null;
    const following = next;
    next = null;
    if (following === null) markBusy();
    else run(following);
  }
  const submit = (job) => {
    if (current === null) return run(job);
    next = job;
    const slow = current;
    const left = Math.max(0, PATIENCE - (performance.now() - slow.started));
    return setTimeout(() => current === slow && next !== null && slow.abort.abort(), left);
  };
  return { submit, isBusy: () => current !== null };
}

const fits = newestOnly(async ({ settings, k, since }, signal) => {
  const answer = await ask("/fit", { settings, k: k ?? "auto", tab, order: nSent++ }, signal);
  Object.assign(shown, { fit: answer, settings, steps: new Map() });
  takeStep(answer.step, { move: lastMove, since });
  // The steps may have been moved while the fit was under way.
  if (wantedSteps !== null && sliderSteps() !== answer.step.k) goTo(wantedSteps);
  const { milliseconds, path } = answer;
  const isShort = milliseconds < 1000;
  const time = isShort ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
  say(`${lastStep()} steps in ${time}. ${path.status}`, path.is_cut);
});
const steps = newestOnly(async (move, signal) => {
  const { settings, k } = move;
  const answer = await ask("/step", { settings, k, tab, order: nSent++ }, signal);
  // A fit that came in meanwhile has other steps.
  if (settings === shown.settings) takeStep(answer.step, move);
});
const isBusy = () => fits.isBusy() || steps.isBusy();

function takeStep(step, origin) {
  shown.steps.set(step.k, step);
  if (origin.move >= drawnMove) showStep(step, origin);
}

function showStep(step, { move, since }) {
  shown.step = step;
  drawnMove = move;
  if (chosenAtom >= step.coef.length) chosenAtom = null;
  redraw();
  shown.redraws += 1;
  shown.latency = performance.now() - since;
  document.body.dataset.redraws = shown.redraws;
}

let told = ["Fitting …", false];
let waiting = null;

function markBusy() {
  document.body.dataset.busy = isBusy();
  if (isBusy()) waiting ??= setTimeout(() => writeStatus(WAITING, false), WAIT);
  else say(...told);
}

function say(sentence, isTrouble = false) {
  clearTimeout(waiting);
  waiting = null;
  told = [sentence, isTrouble];
  writeStatus(sentence, isTrouble);
}

function writeStatus(sentence, isTrouble) {
  if (find("status").textContent !== sentence) find("status").textContent = sentence;
  find("status").classList.toggle("trouble", isTrouble);
}

function complain(error) {
  if (error.status === 403) refuse();
  say(error.status ? error.message : GONE, true);
}

// ---- What is drawn ----

const lastStep = () => shown.fit.path.test.length - 1;
// Where the slider stands: where it was moved to, also while that step has not come in.
const sliderSteps = () => Math.min(wantedSteps ?? shown.step.k, lastStep());

function redraw() {
  if (shown.fit === null) return;
  redrawPlane();
  redrawPath();
  redrawAtoms();
  writeLabels();
}

function redrawPlane() {
  if (shown.fit === null) return;
  const { grid, truth, points, atoms } = shown.fit;
  const { decision, coef } = shown.step;
  const isOn = (id) => find(id).checked;
  const largest = Math.max(...coef.map(Math.abs), 1e-300);
  const signs = coef.map((value) => ({
    code: Number(value > 0), isFor: true, size: Math.abs(value) / largest,
  }));
  paintPlane(find("plane"), {
    ...grid,
    names: ["x₁", "x₂"],
    ahead: leads(decision, 1),
    points: isOn("show-points") && points,
    truth: isOn("show-truth") && truth,
    atoms: isOn("show-atoms") && { ...atoms, signs, selected: chosenAtom },
    cursor,
  });
  find("readout").textContent = readoutText();
}

function readoutText() {
  if (cursor === null) return "Point at the plane to read its value.";
  const { xs, ys } = shown.fit.grid;
  const value = shown.step.decision[cursor[1] * xs.length + cursor[0]];
  const [x, y] = cursorPoint().map((coordinate) => minus(coordinate.toFixed(2)));
  const label = value > 0 ? "+1" : "−1";
  return `x = (${x}, ${y}):  f = ${minus(value.toFixed(2))}, label ${label}`;
}

const cursorPoint = () => cursor && [shown.fit.grid.xs[cursor[0]], shown.fit.grid.ys[cursor[1]]];

function redrawPath() {
  const { path, flipped, bayes } = shown.fit;
  const { k, coef } = shown.step;
  const n = lastStep();
  const curves = [
    { name: "training error", values: path.training, style: "training" },
    { name: "clean test error", values: path.test, style: "test" },
  ];
  const panels = [{ title: "error", percent: true, level: flipped, curves }];
  const marks = [{ k: path.k0, name: `k₀ = ${path.k0}`, style: "mark" }];
  const ks = path.test.map((_, step) => step);
  const chart = drawCurves(find("path"), find("path").clientWidth, { ks, panels, marks });
  chart.show(k);
  stepAt = chart.placeAt;
  find("path-legend").replaceChildren(...legendItems(panels, k));
  const score = `after ${k} steps ${percent(path.test[k])}`;
  const label = `Errors along the path of ${n} steps. Clean test error ${score}.`;
  find("path").setAttribute("aria-label", label);
  find("steps").max = n;
  find("steps").value = sliderSteps();
  find("theory").disabled = path.k0 > n;
  const texts = {
    "test-error": percent(path.test[k]),
    bayes: `best possible ${percent(bayes)}`,
    "training-error": percent(path.training[k]),
    flipped: `${percent(flipped)} flipped`,
    "n-atoms": coef.length,
    "after-steps": `after ${k} ${k === 1 ? "step" : "steps"}`,
    "steps-value": `${k} of ${n}`,
    theory: `theory: k₀ = ${path.k0}`,
  };
  for (const [id, text] of Object.entries(texts)) find(id).textContent = text;
}

function redrawAtoms() {
  const { coef } = shown.step;
  atomAt = drawStems(find("atoms"), find("atoms").clientWidth, {
    coef, n: Math.max(12, coef.length), height: 110, title: "coefficient",
    styleOf: (j) => (j === chosenAtom ? "selected" : ""),
    textOf: (j) => `atom ${j + 1}: ${number(coef[j])}`,
  });
  find("atom-text").textContent = atomText();
}

function atomText() {
  const { coef, intercept } = shown.step;
  const fixed = (value, digits) => minus(value.toFixed(digits));
  if (chosenAtom === null) return `Constant ${fixed(intercept, 3)}. Point at a bar to see its atom.`;
  const { kind, rows, entered } = shown.fit.atoms;
  const [x, y] = rows[chosenAtom];
  const where = kind === "points" ? `, centre (${fixed(x, 2)}, ${fixed(y, 2)})` : "";
  const name = `Atom ${chosenAtom + 1}, entered at step ${entered[chosenAtom]}`;
  return `${name}: coefficient ${fixed(coef[chosenAtom], 3)}${where}`;
}

// ---- Labels, and which controls mean something ----

function enable(id, isOn, why) {
  find(id).disabled = !isOn;
  const field = find(id).closest(".field");
  field.classList.toggle("off", !isOn);
  field.title = isOn ? "" : why;
}

function writeLabels() {
  const { data, noise, level, n_samples: m, dictionary, width, degree, scheme, l2 } = readSettings();
  const corrects = scheme === "fully_corrective";
  const ridge = l2 === "auto" ? `1 / m = ${Number((1 / m).toPrecision(2))}` : l2;
  const texts = {
    level: `${Math.round(100 * level)} %`,
    n_samples: m,
    width: dictionary === "gauss" ? width : "–",
    degree,
    l2: corrects ? ridge : "–",
  };
  for (const [id, text] of Object.entries(texts)) {
    document.querySelector(`output[for="${id}"]`).textContent = text;
    find(id).setAttribute("aria-valuetext", text);
  }
  enable("level", noise !== "none", "There is no noise.");
  find("noise").querySelector('[value="outlier"]').disabled = data !== "simulation";
  find("width-field").hidden = dictionary === "polynomial";
  find("degree-field").hidden = dictionary !== "polynomial";
  enable("width", dictionary === "gauss", "These atoms have no width.");
  enable("l2", corrects, "Only full correction has a ridge.");
  find("l2-auto").disabled = !corrects;
  if (l2 === "auto") slide("l2", 1 / m);
}

// ---- When something is moved ----

function refit() {
  notify([]);
  keepOutliersWithSimulation();
  writeLabels();
  if (!markSeed()) return;
  asked = readSettings();
  rememberInAddress(asked);
  fits.submit({ settings: asked, k: wantedSteps, since: performance.now() });
}

function keepOutliersWithSimulation() {
  const isOutlier = find("noise").value === "outlier";
  if (find("data").value !== "simulation" && isOutlier) find("noise").value = "uniform";
}

// Says what is wrong with the one setting that is typed; gives whether it is right.
function markSeed() {
  const seed = find("seed");
  const isRight = seed.checkValidity();
  const range = `Must be a whole number from ${seed.min} to ${seed.max}.`;
  seed.setAttribute("aria-invalid", !isRight);
  const text = isRight ? "" : `${range} Until then the pictures are of seed ${asked.seed}.`;
  find("seed-trouble").textContent = text;
  return isRight;
}

function goTo(k) {
  wantedSteps = k;
  rememberInAddress(asked);
  if (shown.fit === null) return;
  lastMove += 1;
  const origin = { move: lastMove, since: performance.now() };
  const step = shown.steps.get(sliderSteps());
  if (step) showStep(step, origin);
  else steps.submit({ ...origin, settings: shown.settings, k: sliderSteps() });
}

function rememberInAddress(settings) {
  const changed = Object.entries(settings).filter(([name, value]) => value !== DEFAULTS[name]);
  if (wantedSteps !== null) changed.push(["k", wantedSteps]);
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

// Sets what the address says; gives sentences on what could not be set like that.
function readAddress() {
  const given = [...new URLSearchParams(location.hash.slice(1))];
  const known = given
    .filter(([name]) => Object.hasOwn(DEFAULTS, name))
    .map(([name, text]) => ({ name, text, value: meaning(name, text) }));
  const meant = known.filter(({ value }) => value !== undefined);
  const settings = Object.fromEntries(meant.map(({ name, value }) => [name, value]));
  writeSettings({ ...DEFAULTS, ...settings });
  keepOutliersWithSimulation();
  const k = given.findLast(([name]) => name === "k")?.[1];
  const isStep = /^\d{1,3}$/.test(k ?? "") && Number(k) <= MOST_STEPS;
  wantedSteps = isStep ? Number(k) : null;
  const strange = given.filter(([name]) => name !== "k" && !Object.hasOwn(DEFAULTS, name));
  const differs = ({ name, value }) => String(readControl(name)) !== String(value);
  const changed = ({ name, text }) => `${name}=${text.slice(0, 20)} became ${readControl(name)}`;
  return [
    ...strange.map(([name]) => `${name.slice(0, 20)} is no setting`),
    ...known.filter(differs).map(changed),
    ...(k === undefined || isStep ? [] : [`k=${k.slice(0, 20)} is no step`]),
  ];
}

function followAddress() {
  const complaints = readAddress();
  refit();
  notify(complaints);
}

function notify(complaints) {
  find("notice").hidden = complaints.length === 0;
  const list = complaints.slice(0, 8).join(", ");
  find("notice").textContent = list && `Not all is as the address said: ${list}.`;
}

async function play() {
  isPlaying = !isPlaying;
  find("play").textContent = isPlaying ? "❚❚" : "▶";
  find("play").setAttribute("aria-label", isPlaying ? "Pause" : "Play the path");
  if (!isPlaying) return;
  if (shown.step.k >= lastStep()) goTo(0);
  while (isPlaying && wantedSteps !== lastStep()) {
    await new Promise((done) => setTimeout(done, 90));
    if (isPlaying && !isBusy()) goTo(Math.min(shown.step.k + 1, lastStep()));
  }
  if (isPlaying) play();
}

function chooseAtom(wanted) {
  if (shown.fit === null || wanted === chosenAtom) return;
  chosenAtom = wanted;
  redrawAtoms();
  redrawPlane();
}

function moveAtom(event) {
  const n = shown.step?.coef.length ?? 0;
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move || n === 0) return;
  event.preventDefault();
  chooseAtom(clamp((chosenAtom ?? (move > 0 ? -1 : n)) + move, 0, n - 1));
}

function dragSteps(event) {
  if (shown.fit === null || (event.type === "pointermove" && !event.buttons)) return;
  const k = stepAt(placeOf(event)[0]);
  if (k !== wantedSteps) goTo(k);
}

async function copyCode() {
  try {
    await navigator.clipboard.writeText(find("code-text").textContent);
    find("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(find("code-text"));
    find("copied").textContent = "Selected: press Ctrl+C to copy.";
  }
}

function showCode() {
  find("code-text").textContent = shown.step?.code ?? "";
  find("copied").textContent = "";
  find("code").showModal();
}

function listen() {
  const on = (id, kinds, act) => {
    for (const kind of kinds.split(" ")) find(id).addEventListener(kind, act);
  };
  on("controls", "input", (event) => {
    if (event.target.id === "l2") pressRidgeAuto(false);
    refit();
  });
  on("controls", "submit", (event) => event.preventDefault());
  on("l2-auto", "click", () => {
    pressRidgeAuto(!isRidgeAuto());
    refit();
  });
  on("steps", "input", () => goTo(Number(find("steps").value)));
  on("theory", "click", () => goTo(shown.fit.path.k0));
  on("play", "click", play);
  on("path", "pointerdown pointermove", dragSteps);
  on("atoms", "pointerdown pointermove", (event) => chooseAtom(atomAt(placeOf(event)[0])));
  on("atoms", "pointerleave blur", () => chooseAtom(null));
  on("atoms", "keydown", moveAtom);
  for (const id of ["show-points", "show-atoms", "show-truth"]) on(id, "change", redrawPlane);
  on("new-sample", "click", () => {
    writeControl("seed", (readControl("seed") + 1) % 10000);
    refit();
  });
  on("reset", "click", () => {
    writeSettings(DEFAULTS);
    wantedSteps = null;
    refit();
  });
  on("show-code", "click", showCode);
  on("copy", "click", copyCode);
  on("close-code", "click", () => find("code").close());
  addEventListener("hashchange", followAddress);
  watchPlane(find("plane"), () => shown.fit?.grid, (to) => {
    cursor = to;
    redrawPlane();
  });
  new ResizeObserver(redrawPlane).observe(find("plane"));
  keepDrawn(find("path-card"), redraw);
}

// For tests and the curious: what is on the screen, and the very numbers it was painted from.
offer({
  state: () => ({
    ...shown,
    fit: undefined,
    wanted: readSettings(),
    k: shown.step?.k ?? null,
    decision: shown.step?.decision ?? null,
    coef: shown.step?.coef ?? null,
    grid: shown.fit?.grid ?? null,
    path: shown.fit?.path ?? null,
    cursor: cursorPoint(),
    chosenAtom,
    isBusy: isBusy(),
  }),
  box: () => planeLayout(find("plane"), shown.fit.grid).box,
});

function start() {
  listen();
  followAddress();
}

enter();
