// The page: controls, what is asked of the server, and when something is drawn.

(() => {
  const find = (id) => document.getElementById(id);
  const DEFAULTS = {
    data: "simulation", noise: "uniform", level: 0.3, n_samples: 500, seed: 0, dictionary: "gauss", width: 0.5,
    degree: 3, loss: "squared_hinge", scheme: "fully_corrective", l2: "auto", fit_intercept: true, max_iter: "auto",
  };
  // A fit that is slower than this is given up for a newer one; a faster one is drawn first.
  const PATIENCE = 300;
  const MOST_STEPS = 200;
  // What takes longer is announced.
  const WAIT = 400;
  const WAITING = "Waiting for a fit … Fits of several tabs are made one after another.";
  // The server leaves the older of two fits of the same tab, in whatever order they come in.
  const tab = crypto.randomUUID();
  let nSent = 0;

  // Positions of a slider on a logarithmic scale, as round numbers.
  const scale = (n, value) => Array.from({ length: n }, (_, i) => Number(value(i).toPrecision(2)));
  const WIDTHS = scale(41, (i) => 0.05 * 100 ** (i / 40));
  const RIDGES = [0, ...scale(29, (i) => 10 ** (i / 4 - 6))];

  function nearest(values, wanted) {
    const gap = (value) => Math.abs(Math.log((value || 1e-9) / (wanted || 1e-9)));
    return values.reduce((best, value, i) => (gap(value) < gap(values[best]) ? i : best), 0);
  }

  const text = (id) => ({ read: () => find(id).value, write: (value) => { find(id).value = value; } });
  const numeric = (id) => ({ read: () => Number(find(id).value), write: (value) => { find(id).value = value; } });
  const whole = (id) => ({
    read: () => Number(find(id).value),
    // A slider keeps its range by itself, a field does not.
    write: (value) => { find(id).value = Math.min(find(id).max, Math.max(find(id).min, Math.round(value))); },
  });
  const onScale = (id, values) => ({
    read: () => values[Number(find(id).value)],
    write: (value) => { find(id).value = nearest(values, value); },
  });
  const ridge = onScale("l2", RIDGES);
  const controls = {
    data: text("data"),
    noise: text("noise"),
    level: numeric("level"),
    n_samples: numeric("n_samples"),
    seed: whole("seed"),
    dictionary: text("dictionary"),
    width: onScale("width", WIDTHS),
    degree: numeric("degree"),
    loss: text("loss"),
    scheme: text("scheme"),
    l2: {
      read: () => (isRidgeAuto() ? "auto" : ridge.read()),
      write: (value) => {
        pressRidgeAuto(value === "auto");
        if (value !== "auto") ridge.write(value);
      },
    },
    fit_intercept: {
      read: () => find("fit_intercept").checked,
      write: (value) => { find("fit_intercept").checked = value; },
    },
    max_iter: {
      read: () => (find("max_iter").value === "auto" ? "auto" : Number(find("max_iter").value)),
      write: (value) => { find("max_iter").value = String(value); },
    },
  };
  const isRidgeAuto = () => find("l2-auto").getAttribute("aria-pressed") === "true";
  const pressRidgeAuto = (isPressed) => find("l2-auto").setAttribute("aria-pressed", String(isPressed));

  // What is shown: the answer to the last fit, and its steps that have come in.
  const shown = { fit: null, settings: null, step: null, steps: new Map(), redraws: 0, latency: 0 };
  let asked = null; // the settings of the last fit that was asked for
  let wantedSteps = null; // null: the theory's number
  let lastMove = 0; // numbers the moves of the steps, so that none is drawn over a newer one
  let drawnMove = 0;
  let cursor = null;
  let chosenAtom = null;
  let atomAt = () => null;
  let stepAxis = null;
  let isPlaying = false;

  const readSettings = () =>
    Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.read()]));
  const writeSettings = (settings) => Object.entries(settings).forEach(([name, value]) => controls[name].write(value));

  // ---- What is asked of the server ----

  let token = "";

  // A ticket of the address works once; the token it gives is kept for all tabs of this page's origin.
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
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    const answer = await response.json();
    if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
    return answer;
  }

  // One request at a time; of those that come in meanwhile, the newest is next.
  function newestOnly(work) {
    let current = null;
    let next = null;
    async function run(job) {
      const mine = { abort: new AbortController(), started: performance.now() };
      current = mine;
      markBusy();
      try {
        await work(job, mine.abort.signal);
      } catch (error) {
        if (error.name !== "AbortError" && next === null) complain(error);
      }
      current = null;
      if (next !== null) {
        const job = next;
        next = null;
        run(job);
      } else {
        markBusy();
      }
    }
    const submit = (job) => {
      if (current === null) {
        run(job);
        return;
      }
      next = job;
      const slow = current;
      const left = PATIENCE - (performance.now() - slow.started);
      setTimeout(() => { if (current === slow && next !== null) slow.abort.abort(); }, Math.max(0, left));
    };
    return { submit, isBusy: () => current !== null };
  }

  const fits = newestOnly(async ({ settings, k, since }, signal) => {
    const answer = await ask("/fit", { settings, k: k ?? "auto", tab, order: nSent++ }, signal);
    shown.fit = answer;
    shown.settings = settings;
    shown.steps = new Map();
    takeStep(answer.step, { move: lastMove, since });
    // The steps may have been moved while the fit was under way.
    if (wantedSteps !== null && sliderSteps() !== answer.step.k) goTo(wantedSteps);
    say(`${answer.path.test.length - 1} steps in ${duration(answer.milliseconds)}. ${answer.path.status}`, answer.path.is_cut);
  });
  const steps = newestOnly(async (move, signal) => {
    const answer = await ask("/step", { settings: move.settings, k: move.k, tab, order: nSent++ }, signal);
    // A fit that came in meanwhile has other steps.
    if (move.settings === shown.settings) takeStep(answer.step, move);
  });

  function takeStep(step, origin) {
    shown.steps.set(step.k, step);
    if (origin.move >= drawnMove) showStep(step, origin);
  }

  function showStep(step, { move, since }) {
    shown.step = step;
    drawnMove = move;
    if (chosenAtom !== null && chosenAtom >= step.coef.length) chosenAtom = null;
    draw();
    shown.redraws += 1;
    shown.latency = performance.now() - since;
    document.body.dataset.redraws = shown.redraws;
  }

  const duration = (milliseconds) =>
    milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;

  let told = { sentence: "Fitting …", isTrouble: false };
  let waiting = null;

  function markBusy() {
    const isBusy = fits.isBusy() || steps.isBusy();
    document.body.dataset.busy = String(isBusy);
    if (isBusy) waiting ??= setTimeout(() => writeStatus({ sentence: WAITING, isTrouble: false }), WAIT);
    else say(told.sentence, told.isTrouble);
  }

  function say(sentence, isTrouble = false) {
    clearTimeout(waiting);
    waiting = null;
    told = { sentence, isTrouble };
    writeStatus(told);
  }

  function writeStatus({ sentence, isTrouble }) {
    if (find("status").textContent !== sentence) find("status").textContent = sentence;
    find("status").classList.toggle("trouble", isTrouble);
  }

  function complain(error) {
    if (error.status === 403) refuse();
    say(error.status ? error.message : "The playground does not answer. Is it still running in the terminal?", true);
  }

  // ---- What is drawn ----

  function scene() {
    const { fit, step } = shown;
    return {
      grid: fit.grid, decision: step.decision, truth: fit.truth, points: fit.points,
      atoms: fit.atoms, coef: step.coef, chosen: chosenAtom, cursor,
      shows: {
        points: find("show-points").checked,
        atoms: find("show-atoms").checked,
        truth: find("show-truth").checked,
      },
    };
  }

  function draw() {
    if (shown.fit === null) return;
    drawPlane();
    drawPath();
    drawAtoms();
    writeScores();
    writeLabels();
  }

  function drawPlane() {
    drawing.plane(find("plane"), scene());
    writeReadout();
  }

  function drawPath() {
    const { path, flipped } = shown.fit;
    stepAxis = drawing.path(find("path"), { ...path, k: shown.step.k, flipped });
    const slider = find("steps");
    slider.max = stepAxis.n;
    slider.value = sliderSteps();
    // The middle of the thumb, 16 pixels wide, stands under the same step of the picture.
    slider.style.left = `${stepAxis.left - 8}px`;
    slider.style.width = `${stepAxis.right - stepAxis.left + 16}px`;
    find("steps-value").textContent = `${shown.step.k} of ${stepAxis.n}`;
    find("theory").textContent = `theory: k₀ = ${path.k0}`;
    find("theory").disabled = path.k0 > stepAxis.n;
    const at = `after ${shown.step.k} steps ${drawing.percent(path.test[shown.step.k])}`;
    find("path").setAttribute("aria-label", `Errors along the path of ${stepAxis.n} steps. Clean test error ${at}.`);
  }

  // Where the slider stands: where it was moved to, also while that step has not come in.
  function sliderSteps() {
    return wantedSteps === null ? shown.step.k : Math.min(wantedSteps, shown.fit.path.test.length - 1);
  }

  function drawAtoms() {
    atomAt = drawing.bars(find("atoms"), { coef: shown.step.coef, chosen: chosenAtom });
    find("atom-text").textContent = atomText();
  }

  function atomText() {
    const { atoms } = shown.fit;
    const { coef, intercept } = shown.step;
    if (chosenAtom === null) return `Constant ${drawing.number(intercept, 3)}. Point at a bar to see its atom.`;
    const place = chosenAtom;
    const [x, y] = atoms.centers?.[place] ?? [];
    const where = atoms.centers ? `, centre (${drawing.number(x)}, ${drawing.number(y)})` : "";
    return `Atom ${place + 1}, entered at step ${atoms.entered[place]}: coefficient ${drawing.number(coef[place], 3)}${where}`;
  }

  function writeScores() {
    const { path, flipped, bayes } = shown.fit;
    const { k, coef } = shown.step;
    const entries = {
      "test-error": drawing.percent(path.test[k]),
      bayes: `best possible ${drawing.percent(bayes)}`,
      "training-error": drawing.percent(path.training[k]),
      flipped: `${drawing.percent(flipped)} flipped`,
      "n-atoms": coef.length,
      "after-steps": `after ${k} ${k === 1 ? "step" : "steps"}`,
    };
    for (const [id, value] of Object.entries(entries)) find(id).textContent = value;
  }

  function writeReadout() {
    if (cursor === null) {
      find("readout").textContent = "Point at the plane to read its value.";
      return;
    }
    const value = drawing.valueAt(shown.fit.grid, shown.step.decision, cursor);
    const [x, y] = cursor.map((coordinate) => drawing.number(coordinate));
    find("readout").textContent = `x = (${x}, ${y}):  f ≈ ${drawing.number(value)}, label ${value > 0 ? "+1" : "−1"}`;
  }

  // ---- Labels, and which controls mean something ----

  const output = (id) => document.querySelector(`output[for="${id}"]`);

  function enable(id, isOn, why) {
    find(id).disabled = !isOn;
    const field = find(id).closest(".field");
    field.classList.toggle("off", !isOn);
    field.title = isOn ? "" : why;
  }

  function writeLabels() {
    const settings = readSettings();
    const label = (id, value) => {
      output(id).textContent = value;
      find(id).setAttribute("aria-valuetext", value);
    };
    label("level", `${Math.round(100 * settings.level)} %`);
    label("n_samples", String(settings.n_samples));
    label("width", settings.dictionary === "gauss" ? String(settings.width) : "–");
    label("degree", String(settings.degree));
    const ridgeText = settings.l2 === "auto" ? `1 / m = ${Number((1 / settings.n_samples).toPrecision(2))}` : String(settings.l2);
    const corrects = settings.scheme === "fully_corrective";
    label("l2", corrects ? ridgeText : "–");
    enable("level", settings.noise !== "none", "There is no noise.");
    find("noise").querySelector('[value="outlier"]').disabled = settings.data !== "simulation";
    find("width-field").hidden = settings.dictionary === "polynomial";
    find("degree-field").hidden = settings.dictionary !== "polynomial";
    enable("width", settings.dictionary === "gauss", "These atoms have no width.");
    enable("l2", corrects, "Only full correction has a ridge.");
    find("l2-auto").disabled = !corrects;
    if (settings.l2 === "auto") ridge.write(1 / settings.n_samples);
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
    if (find("data").value !== "simulation" && find("noise").value === "outlier") find("noise").value = "uniform";
  }

  // Says what is wrong with the one setting that is typed; gives whether it is right.
  function markSeed() {
    const seed = find("seed");
    const isRight = seed.checkValidity();
    seed.setAttribute("aria-invalid", String(!isRight));
    find("seed-trouble").textContent = isRight
      ? ""
      : `Must be a whole number from ${seed.min} to ${seed.max}. Until then the pictures are of seed ${asked.seed}.`;
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
    const fragment = new URLSearchParams(changed.map(([name, value]) => [name, String(value)])).toString();
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
  }

  // What a text of the address means to a control; undefined where it means nothing.
  function meaning(name, text) {
    const standard = DEFAULTS[name];
    const options = find(name).options;
    if (options) return [...options].some((option) => option.value === text) ? text : undefined;
    if (typeof standard === "boolean") return ["true", "false"].includes(text) ? text === "true" : undefined;
    if (standard === "auto" && text === "auto") return text;
    return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  }

  // Sets what the address says; gives sentences on what could not be set like that.
  function readAddress() {
    const given = [...new URLSearchParams(location.hash.slice(1))];
    const known = given.filter(([name]) => Object.hasOwn(DEFAULTS, name));
    const meant = known.map(([name, text]) => [name, meaning(name, text)]);
    writeSettings({ ...DEFAULTS, ...Object.fromEntries(meant.filter(([, value]) => value !== undefined)) });
    keepOutliersWithSimulation();
    const k = given.findLast(([name]) => name === "k")?.[1];
    const isStep = /^\d{1,3}$/.test(k ?? "") && Number(k) <= MOST_STEPS;
    wantedSteps = isStep ? Number(k) : null;
    const differs = ([name, value]) => value === undefined || String(controls[name].read()) !== String(value);
    return [
      ...given.filter(([name]) => name !== "k" && !Object.hasOwn(DEFAULTS, name)).map(([name]) => `${name.slice(0, 20)} is no setting`),
      ...known.filter((_, i) => differs(meant[i])).map(([name, text]) => `${name}=${text.slice(0, 20)} became ${controls[name].read()}`),
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
    find("notice").textContent = complaints.length ? `Not all is as the address said: ${complaints.slice(0, 8).join(", ")}.` : "";
  }

  async function play() {
    isPlaying = !isPlaying;
    find("play").textContent = isPlaying ? "❚❚" : "▶";
    find("play").setAttribute("aria-label", isPlaying ? "Pause" : "Play the path");
    if (!isPlaying) return;
    if (shown.step.k >= stepAxis.n) goTo(0);
    while (isPlaying && wantedSteps !== stepAxis.n) {
      await new Promise((done) => setTimeout(done, 90));
      if (isPlaying && !fits.isBusy() && !steps.isBusy()) goTo(Math.min(shown.step.k + 1, stepAxis.n));
    }
    if (isPlaying) play();
  }

  function place(event) {
    const bounds = event.currentTarget.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  }

  function pointAt(event) {
    if (shown.fit === null) return;
    const { box, toPlane } = drawing.layout(find("plane"), shown.fit.grid.frame);
    const [left, top] = place(event);
    const isInside = left >= box.left && left <= box.left + box.width && top >= box.top && top <= box.top + box.height;
    cursor = isInside ? toPlane([left, top]) : null;
    drawPlane();
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

  function movePointer(event) {
    if (!(event.key in ARROWS) || shown.fit === null) return;
    event.preventDefault();
    const frame = shown.fit.grid.frame;
    cursor ??= frame.map(([low, high]) => (low + high) / 2);
    cursor = cursor.map((value, axis) => {
      const [low, high] = frame[axis];
      return Math.min(high, Math.max(low, value + (ARROWS[event.key][axis] * (high - low)) / 50));
    });
    drawPlane();
  }

  function chooseAtom(wanted) {
    if (shown.fit === null || wanted === chosenAtom) return;
    chosenAtom = wanted;
    drawAtoms();
    drawPlane();
  }

  function moveAtom(event) {
    const n = shown.step?.coef.length ?? 0;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || n === 0) return;
    event.preventDefault();
    const start = chosenAtom ?? (move > 0 ? -1 : n);
    chooseAtom(Math.min(n - 1, Math.max(0, start + move)));
  }

  function stepAt(event) {
    if (stepAxis === null || (event.type === "pointermove" && !event.buttons)) return;
    const share = (place(event)[0] - stepAxis.left) / (stepAxis.right - stepAxis.left);
    const k = Math.round(Math.min(1, Math.max(0, share)) * stepAxis.n);
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

  function listen() {
    find("controls").addEventListener("input", (event) => {
      if (event.target.id === "l2") pressRidgeAuto(false);
      refit();
    });
    find("controls").addEventListener("submit", (event) => event.preventDefault());
    find("l2-auto").addEventListener("click", () => {
      pressRidgeAuto(!isRidgeAuto());
      refit();
    });
    find("steps").addEventListener("input", () => goTo(Number(find("steps").value)));
    find("theory").addEventListener("click", () => goTo(shown.fit.path.k0));
    find("play").addEventListener("click", play);
    find("path").addEventListener("pointerdown", stepAt);
    find("path").addEventListener("pointermove", stepAt);
    find("plane").addEventListener("pointermove", pointAt);
    find("plane").addEventListener("pointerdown", pointAt);
    find("plane").addEventListener("pointerleave", () => { cursor = null; if (shown.fit) drawPlane(); });
    find("plane").addEventListener("keydown", movePointer);
    for (const name of ["pointermove", "pointerdown"]) {
      find("atoms").addEventListener(name, (event) => chooseAtom(atomAt(place(event)[0])));
    }
    find("atoms").addEventListener("pointerleave", () => chooseAtom(null));
    find("atoms").addEventListener("keydown", moveAtom);
    find("atoms").addEventListener("blur", () => chooseAtom(null));
    for (const id of ["show-points", "show-atoms", "show-truth"]) find(id).addEventListener("change", draw);
    find("new-sample").addEventListener("click", () => {
      controls.seed.write((controls.seed.read() + 1) % 10000);
      refit();
    });
    find("reset").addEventListener("click", () => {
      writeSettings(DEFAULTS);
      wantedSteps = null;
      refit();
    });
    find("show-code").addEventListener("click", () => {
      find("code-text").textContent = shown.step?.code ?? "";
      find("copied").textContent = "";
      find("code").showModal();
    });
    find("copy").addEventListener("click", copyCode);
    find("close-code").addEventListener("click", () => find("code").close());
    addEventListener("hashchange", followAddress);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    new ResizeObserver(draw).observe(find("plane"));
    new ResizeObserver(draw).observe(find("path"));
  }

  // For tests and the curious: what is on the screen, and the very numbers it was painted from.
  window.fcgboost = {
    state: () => ({
      settings: shown.settings,
      wanted: readSettings(),
      k: shown.step?.k ?? null,
      decision: shown.step?.decision ?? null,
      coef: shown.step?.coef ?? null,
      grid: shown.fit?.grid ?? null,
      path: shown.fit?.path ?? null,
      cursor,
      chosenAtom,
      redraws: shown.redraws,
      latency: shown.latency,
      isBusy: fits.isBusy() || steps.isBusy(),
    }),
  };

  function start() {
    listen();
    followAddress();
  }

  enter();
})();
