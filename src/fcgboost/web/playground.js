// The playground: what is asked of the server, and when something is drawn.

// A fit that is slower than this is given up for a newer one; a faster one is drawn first.
const PATIENCE = 300;
const GONE = "The playground does not answer. Is it still running in the terminal?";
// The server leaves the older of two fits of the same tab, in whatever order they come in.
const tab = crypto.randomUUID();
let nSent = 0;

// What is shown: the answer to the last fit, and its steps that have come in.
const shown = { fit: null, settings: null, step: null, steps: new Map(), redraws: 0 };
let asked = null; // the settings of the last fit that was asked for
let wantedSteps = null; // null: the marked number
let cursor = null;
let stepAt = null;
let isPlaying = false;

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
  markBusy();
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
function newestOnly(path, take) {
  let current = null;
  let next = null;
  async function run(settings, k) {
    current = { abort: new AbortController(), started: performance.now() };
    markBusy();
    try {
      const body = { settings, k: k ?? "auto", tab, order: nSent++ };
      take(await ask(path, body, current.abort.signal), settings);
    } catch (error) {
      if (error.name !== "AbortError" && next === null) complain(error);
    }
    current = null;
    const following = next;
    next = null;
    if (following === null) markBusy();
    else run(...following);
  }
  const submit = (...job) => {
    if (current === null) return run(...job);
    next = job;
    const slow = current;
    const left = Math.max(0, PATIENCE - (performance.now() - slow.started));
    return setTimeout(() => current === slow && next !== null && slow.abort.abort(), left);
  };
  return { submit, isBusy: () => current !== null };
}

const fits = newestOnly("/fit", (answer, settings) => {
  const { milliseconds, path, step } = answer;
  Object.assign(shown, { fit: answer, settings, steps: new Map([[step.k, step]]) });
  showStep(step);
  // The steps may have been moved while the fit was under way.
  if (step.k !== sliderSteps()) goTo(wantedSteps);
  const isShort = milliseconds < 1000;
  const time = isShort ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
  const n = lastStep();
  say(`${n} ${n === 1 ? "step" : "steps"} in ${time}. ${path.status}`, path.is_cut);
});
const steps = newestOnly("/step", ({ step }, settings) => {
  // A fit that came in meanwhile has other steps.
  if (settings !== shown.settings) return;
  shown.steps.set(step.k, step);
  if (shown.step.k !== sliderSteps()) showStep(step);
});
const isBusy = () => fits.isBusy() || steps.isBusy();

const markBusy = () => (document.body.dataset.busy = isBusy());

function say(sentence, isTrouble) {
  find("status").textContent = sentence;
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
const cursorPoint = () => cursor && [shown.fit.grid.xs[cursor[0]], shown.fit.grid.ys[cursor[1]]];

function showStep(step) {
  shown.step = step;
  if (shown.redraws === 0) listenToPictures();
  redraw();
  shown.redraws += 1;
  document.body.dataset.redraws = shown.redraws;
}

function redraw() {
  redrawPlane();
  redrawPath();
  writeLabels();
}

function redrawPlane() {
  const { grid, truth, points, atoms, axes, labels } = shown.fit;
  const { decision, coef } = shown.step;
  const isOn = (id) => find(id).checked;
  paintPlane(find("plane"), {
    ...grid,
    names: axes,
    ahead: leads(decision, 1),
    points: isOn("show-points") && points,
    truth: isOn("show-truth") && truth,
    atoms: atoms && isOn("show-atom") && { ...atoms, signs: atomSigns(coef) },
    cursor,
  });
  write({ "label-0": labels[0], "label-1": labels[1] });
  if (cursor === null) return write({ readout: "Point at the plane to read its value." });
  const value = decision[cursor[1] * grid.xs.length + cursor[0]];
  const [x, y, f] = [...cursorPoint(), value].map((one) => minus(one.toFixed(2)));
  return write({ readout: `x = (${x}, ${y}):  f = ${f}, ${labels[Number(value > 0)]}` });
}

function redrawPath() {
  const { path, flipped, bayes, truth, atoms } = shown.fit;
  const { k, coef } = shown.step;
  const n = lastStep();
  const curves = [
    { name: "training error", values: path.training, style: "training" },
    { name: "test error", values: path.test, style: "test" },
  ];
  const panels = [{ title: "error", percent: true, level: flipped, curves, height: 150 }];
  const mark = `${path.mark} = ${path.marked}`;
  const marks = [{ k: path.marked, name: mark, style: "mark" }];
  const ks = path.test.map((_, step) => step);
  const chart = drawCurves(find("path"), find("path").clientWidth, { ks, panels, marks });
  chart.show(k);
  stepAt = chart.placeAt;
  find("path-legend").replaceChildren(...legendItems(panels, k));
  const label = `Errors along the path of ${n} steps, test error ${percent(path.test[k])}`;
  find("path").setAttribute("aria-label", label);
  find("steps").max = n;
  find("steps").value = sliderSteps();
  find("theory").disabled = path.marked > n;
  for (const [id, what] of [["atom", atoms], ["truth", truth]]) {
    find(`${id}-key`).hidden = !what;
    find(`show-${id}`).parentElement.hidden = !what;
  }
  write({
    "test-error": percent(path.test[k]),
    bayes: bayes === null ? `${path.n_test} clean rows` : `at best ${percent(bayes)}`,
    "training-error": percent(path.training[k]),
    flipped: `${percent(flipped)} flipped`,
    "n-atoms": coef.length,
    "after-steps": `after ${k} ${k === 1 ? "step" : "steps"}`,
    "steps-value": `${k} of ${n}`,
    theory: path.mark === "k₀" ? `theory: ${mark}` : mark,
  });
}

// ---- When something is moved ----

function refit() {
  notify([]);
  keepOutliersWithSimulation();
  writeLabels();
  if (!markSeed(asked?.seed)) return;
  asked = readSettings();
  rememberInAddress(asked, wantedSteps);
  fits.submit(asked, wantedSteps);
}

function goTo(k) {
  wantedSteps = k;
  rememberInAddress(asked, k);
  const step = shown.steps.get(sliderSteps());
  if (step) showStep(step);
  else steps.submit(shown.settings, sliderSteps());
}

function followAddress() {
  const { k, complaints } = readAddress();
  wantedSteps = k;
  refit();
  notify(complaints);
}

function notify(complaints) {
  find("notice").hidden = complaints.length === 0;
  write({ notice: `Changed from the address: ${complaints.slice(0, 8).join(", ")}.` });
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

function dragSteps(event) {
  if (event.type === "pointermove" && !event.buttons) return;
  const k = stepAt(placeOf(event)[0]);
  if (k !== wantedSteps) goTo(k);
}

async function copyCode() {
  try {
    await navigator.clipboard.writeText(shown.step.code);
    write({ copied: "Copied." });
  } catch {
    getSelection().selectAllChildren(find("code-text"));
    write({ copied: "Selected: press Ctrl+C to copy." });
  }
}

function showCode() {
  write({ "code-text": shown.step.code, copied: "" });
  find("code").showModal();
}

function on(id, kinds, act) {
  for (const kind of kinds.split(" ")) find(id).addEventListener(kind, act);
}

function start() {
  on("controls", "input", (event) => {
    if (event.target.id === "l2") pressRidgeAuto(false);
    refit();
  });
  on("controls", "submit", (event) => event.preventDefault());
  on("l2-auto", "click", () => {
    pressRidgeAuto(!isRidgeAuto());
    refit();
  });
  on("new-sample", "click", () => {
    writeControl("seed", (readControl("seed") + 1) % 10000);
    refit();
  });
  on("reset", "click", () => {
    writeSettings(DEFAULTS);
    wantedSteps = null;
    refit();
  });
  addEventListener("hashchange", followAddress);
  followAddress();
}

// Once there are some.
function listenToPictures() {
  on("steps", "input", () => goTo(Number(find("steps").value)));
  on("theory", "click", () => goTo(shown.fit.path.marked));
  on("play", "click", play);
  on("path", "pointerdown pointermove", dragSteps);
  for (const id of ["show-points", "show-atom", "show-truth"]) on(id, "change", redrawPlane);
  on("show-code", "click", showCode);
  on("copy", "click", copyCode);
  on("close-code", "click", () => find("code").close());
  watchPlane(find("plane"), () => shown.fit.grid, (to) => {
    cursor = to;
    redrawPlane();
  });
  new ResizeObserver(redrawPlane).observe(find("plane"));
  keepDrawn(find("path-card"), redraw);
}

// For tests and the curious: what is on the screen, and the very numbers it was painted from.
window.fcgboost = {
  state: () => {
    const { fit, step, settings, redraws } = shown;
    const drawn = { ...step, grid: fit?.grid, path: fit?.path, cursor: cursorPoint() };
    return { ...drawn, settings, redraws, wanted: readSettings(), isBusy: isBusy() };
  },
  box: () => planeLayout(find("plane"), shown.fit.grid).box,
};

enter();
