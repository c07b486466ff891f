// The panel that classifies a text: candidates, the path with probabilities and words, the level of confidence, and corrections.
import { visible } from "./tree.js";
import { bdi, h, number, percent, searchBox } from "./widgets.js";

const OUTCOMES = [["at_leaf", "filed at a leaf", "full"], ["above", "stopped higher", "partial"], ["unanswered", "for a person", "person"]];
const MOST_WORDS = 6;
const LEAST_LIT = 0.01; // probability of the candidates whose paths are shown on the map

export class Classify {
  // `app` has source, model, tree, icicle; `onresult(row, prediction)` is called with each answer.
  constructor(app, onresult) {
    Object.assign(this, { app, onresult, level: 0.9, prediction: null, chosen: 0, curve: null, whys: new Map() });
    this.status = h("p", { class: "status", role: "status" });
    this.result = h("div", { class: "result" });
    this.slider = h("div", { class: "slider" });
    this.element = h("div", {}, this.form(), this.status, this.result, this.slider);
  }

  form() {
    if (!this.app.source.isLive) return this.sampleForm();
    const takesTexts = this.app.about.takes === "texts";
    const words = takesTexts ? "Text to classify" : 'Values by feature, as JSON, such as {"width": 1.5}';
    this.field = h("textarea", { id: "text", rows: "3", spellcheck: "false", placeholder: takesTexts ? "Type or paste a text" : '{"width": 1.5}' });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || (!event.shiftKey && takesTexts))) { event.preventDefault(); this.classify(); }
    });
    return h("form", { class: "try", onsubmit: (event) => { event.preventDefault(); this.classify(); } },
      h("label", { for: "text" }, words), this.field, h("button", { class: "button primary", type: "submit" }, "Classify"));
  }

  // Without a server, rows that were classified when the file was written.
  sampleForm() {
    const samples = this.app.source.samples(this.app.model);
    const serve = h("p", { class: "soft" }, `This file cannot classify new ${this.app.about.takes === "texts" ? "texts" : "rows"}: the model is not in it. `, h("code", {}, "cladist serve MODEL"), " shows the same page with the model.");
    if (!samples.length) return h("div", { class: "try" }, serve, h("p", { class: "soft" }, "Nor has it rows that were classified; ", h("code", {}, "cladist explore MODEL DATA --html FILE"), " adds some of DATA."));
    const list = h("ul", { class: "samples", role: "listbox", "aria-label": "Rows", tabindex: "0" });
    const filter = h("input", { type: "search", id: "sample-filter", placeholder: "Filter the rows", "aria-label": "Filter the rows" });
    const show = () => {
      const query = filter.value.toLowerCase(), found = samples.filter((sample) => sample.text.toLowerCase().includes(query)).slice(0, 200);
      list.replaceChildren(...found.map((sample) => h("li", { role: "option", "aria-selected": "false", class: sample.wrong ? "wrong" : "", onclick: (event) => pick(event.currentTarget, sample) },
        bdi(sample.text), h("span", { class: "visually-hidden" }, sample.wrong ? " (wrong)" : ""))));
    };
    const pick = (item, sample) => {
      for (const other of list.children) other.setAttribute("aria-selected", String(other === item));
      this.row = { sample };
      this.whys = new Map([[0, sample.explanation]]);
      this.receive(sample.prediction);
    };
    list.addEventListener("keydown", (event) => {
      const items = [...list.children], at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
      const to = event.key === "ArrowDown" ? at + 1 : event.key === "ArrowUp" ? at - 1 : -2;
      if (to < 0 || to >= items.length) return;
      event.preventDefault();
      items[to].click();
      items[to].scrollIntoView({ block: "nearest" });
    });
    filter.addEventListener("input", show);
    show();
    return h("div", { class: "try" }, h("label", { for: "sample-filter" }, "Rows of the data, classified when the file was written"), filter, list, serve);
  }

  async classify() {
    const text = this.field.value.trim();
    if (!text) return this.say("Type a text first.");
    try {
      this.row = this.app.about.takes === "texts" ? { texts: [text] } : { rows: [JSON.parse(text)] };
    } catch {
      return this.say('That is not JSON; write {"name": value, …}.');
    }
    this.say("Classifying …");
    try {
      const prediction = await this.app.source.predict(this.app.model, this.row, this.app.about.probabilities);
      this.whys = new Map();
      this.say(prediction.known === false ? "The model knows none of these words; its answer says little." : "");
      this.receive(prediction);
      this.onresult(this.row, prediction);
    } catch (error) { this.say(error.message); }
  }

  say(words) { this.status.textContent = visible(words); }

  receive(prediction) {
    this.prediction = prediction;
    this.chosen = 0;
    this.show();
    if (prediction.candidates.length) this.explain();
  }

  async explain() {
    const k = this.chosen, candidate = this.prediction.candidates[k];
    if (!this.whys.has(k) && this.app.source.isLive) {
      try { this.whys.set(k, await this.app.source.explain(this.app.model, this.row, this.app.tree.name(candidate.node))); } catch { this.whys.set(k, null); }
    }
    if (this.chosen === k && this.prediction.candidates[k] === candidate) this.show();
  }

  // ------------------------------------------------------------ what is shown

  show() {
    const { candidates } = this.prediction;
    if (!candidates.length) {
      this.result.replaceChildren(h("p", {}, "No label."));
      return;
    }
    this.result.replaceChildren(this.candidateList(candidates), this.pathList(candidates[this.chosen]), ...this.leadList(), ...this.correction());
    this.showSlider();
    this.light(candidates);
  }

  light(candidates) {
    const notes = new Map();
    const likely = candidates.filter((c, k) => k === this.chosen || c.probability === undefined || c.probability >= LEAST_LIT);
    for (const candidate of likely.reverse()) {
      for (const step of candidate.path) notes.set(step.node, step.probability === undefined ? "" : percent(step.probability));
    }
    const stop = this.stop(candidates[this.chosen]);
    for (const [k, step] of candidates[this.chosen].path.entries()) {
      const shown = step.probability === undefined ? "on the path" : percent(step.probability);
      notes.set(step.node, k === stop ? shown + " — stops here" : shown);
    }
    this.app.icicle.show(notes);
    this.app.icicle.select(candidates[this.chosen].node, { reveals: false, quiet: true });
  }

  // The place on the path of the deepest node whose probability reaches the level; -1 for none, the last without probabilities.
  stop(candidate) {
    if (candidate.path.some((step) => step.probability === undefined)) return candidate.path.length - 1;
    let last = -1;
    candidate.path.forEach((step, k) => { if (step.probability >= this.level) last = k; });
    return last;
  }

  candidateList(candidates) {
    const value = (c) => (c.probability === undefined ? (c.score === undefined ? "" : number(c.score)) : percent(c.probability));
    return h("ol", { class: "candidates", "aria-label": "Best labels" }, ...candidates.map((candidate, k) =>
      h("li", {}, h("button", { type: "button", class: "candidate", "aria-pressed": String(k === this.chosen), onclick: () => { this.chosen = k; this.show(); this.explain(); } },
        h("span", { dir: "auto" }, visible(candidate.title)), h("b", {}, value(candidate))))));
  }

  pathList(candidate) {
    const stop = this.stop(candidate), why = this.whys.get(this.chosen);
    const parts = new Map(why ? why.nodes.map((part) => [part.node, part.words || Object.entries(part.features || {}).map(([word, contribution]) => ({ word, contribution }))]) : []);
    return h("ol", { class: "path", "aria-label": "Path of the label" }, ...candidate.path.map((step, k) => {
      const item = h("li", { class: k === stop ? "stop" : k > stop ? "beyond" : "" },
        h("button", { type: "button", class: "link", dir: "auto", onclick: () => this.app.choose(step.node) }, visible(step.title)));
      if (step.probability !== undefined) {
        const bar = h("i", { class: "amount", "aria-hidden": "true" });
        bar.style.width = `${100 * step.probability}%`;
        item.append(h("b", {}, percent(step.probability)), h("div", { class: "rail" }, bar));
      }
      const words = (parts.get(step.name) || []).filter((w) => w.word !== "(intercept)").slice(0, MOST_WORDS);
      if (words.length) item.append(wordChips(words));
      if (k === stop && stop < candidate.path.length - 1) item.append(h("em", {}, "At this level of confidence it stops here."));
      return item;
    }), ...(stop < 0 ? [h("li", { class: "stop" }, h("em", {}, "At this level of confidence a person decides."))] : []));
  }

  leadList() {
    const why = this.whys.get(this.chosen);
    if (!why || !why.runner_up) return [];
    const other = this.app.tree.names ? this.app.tree.names.indexOf(why.runner_up.label) : -1;
    const words = why.runner_up.lead.filter((w) => w.word !== "(intercept)").slice(0, MOST_WORDS);
    if (!words.length) return [];
    return [h("p", { class: "lead" }, "Against ", bdi(other >= 0 ? this.app.tree.title(other) : why.runner_up.label), ": ", wordChips(words))];
  }

  // ------------------------------------------------------------ the level of confidence

  async setCurve(curve) { this.curve = curve; this.showSlider(true); }

  showSlider(anew = false) {
    if (!this.app.about.probabilities) {
      this.slider.replaceChildren(h("p", { class: "soft" }, "This model has no calibrated probabilities, so it cannot stop where it is unsure; cladist train --calibrate adds them."));
      return;
    }
    if (!this.range || anew) this.buildSlider();
    const k = Number(this.range.value);
    this.level = this.curve ? this.curve.level[k] : (k + 1) / 100;
    this.output.textContent = percent(this.level).replace(".0%", "%");
    this.range.setAttribute("aria-valuetext", percent(this.level));
    if (!this.curve) return;
    OUTCOMES.forEach(([key], i) => {
      const share = this.curve[key][k];
      this.bars[i].style.width = `${100 * share}%`;
      this.shares[i].textContent = percent(share);
    });
    this.errors.textContent = `${percent(this.curve.error[k])} of the answers are wrong.`;
  }

  buildSlider() {
    const n = this.curve ? this.curve.level.length : 100, start = this.curve ? this.curve.level.findIndex((x) => x >= this.level - 1e-9) : Math.round(100 * this.level) - 1;
    this.range = h("input", { type: "range", id: "level", min: "0", max: String(n - 1), value: String(start), oninput: () => { this.showSlider(); if (this.prediction && this.prediction.candidates.length) this.show(); } });
    this.output = h("output", { for: "level" });
    const parts = [h("label", { for: "level" }, "Level of confidence ", this.output), this.range];
    if (this.curve) {
      this.bars = OUTCOMES.map(([, , kind]) => h("i", { class: kind, "aria-hidden": "true" }));
      this.shares = OUTCOMES.map(() => h("b", {}));
      this.errors = h("p", { class: "soft" });
      parts.push(h("div", { class: "outcomes" }, ...this.bars), h("ul", { class: "shares", "aria-label": "Shares of rows" }, ...OUTCOMES.map(([, words, kind], i) => h("li", {}, h("i", { class: kind, "aria-hidden": "true" }), this.shares[i], " ", words))), this.errors);
    }
    this.slider.replaceChildren(...parts);
  }

  // ------------------------------------------------------------ corrections

  correction() {
    if (!this.app.source.isLive) {
      const truth = this.row.sample ? this.row.sample.truth : [];
      if (!truth.length) return [];
      const names = truth.map((v) => this.app.tree.label(v)).join(", ");
      return [h("p", { class: this.row.sample.wrong ? "truth wrong" : "truth" }, this.row.sample.wrong ? "Wrong; the label is " : "Right: ", bdi(names))];
    }
    if (this.correcting) return [this.correcting];
    return [h("button", { type: "button", class: "link correct", onclick: () => this.startCorrection() }, "Wrong? Correct it")];
  }

  startCorrection() {
    const message = h("p", { class: "status", role: "status" }), close = () => { this.correcting = null; this.show(); };
    const token = this.app.source.token ? null : h("input", { type: "password", id: "token", "aria-label": "Token of the server", placeholder: "Token of the server", autocomplete: "off" });
    const send = async (v) => {
      if (token && token.value) this.app.source.token = token.value.trim();
      try {
        const kept = await this.app.source.correct(this.app.model, this.row, this.app.tree.name(v));
        message.textContent = `Kept as correction ${kept.sequence}: ${this.app.tree.label(v)}.` + (kept.learnt ? " The model has learnt it." : "");
      } catch (error) {
        if (error.status === 401) this.app.source.token = "";
        message.textContent = error.status === 401 ? "That needs the server's token, which cladist serve prints or was given." : visible(error.message);
      }
    };
    const box = searchBox(this.app.tree, send, { id: "correction", label: "Search the right label" });
    this.correcting = h("div", { class: "correction" }, h("h3", {}, "What is the right label?"), ...(token ? [token] : []), box, message, h("button", { type: "button", class: "link", onclick: close }, "Close"));
    this.show();
    box.querySelector("input").focus();
  }
}

// Words with what they add: blue ones speak for a node, orange ones against it.
export function wordChips(words) {
  return h("span", { class: "words" }, ...words.map(({ word, contribution }) =>
    h("mark", { class: contribution >= 0 ? "for" : "against" }, bdi(word), " ", h("small", {}, (contribution >= 0 ? "+" : "−") + Math.abs(contribution).toPrecision(2)))));
}
