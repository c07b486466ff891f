// The explorer: the map of a taxonomy with panels to classify a text, look at a node, at findings, and to compare models.
import { Tree, visible } from "./tree.js";
import { Icicle } from "./icicle.js";
import { whenIdle, bdi, choice, confusionList, confusionsOf, facts, h, legend, number, percent, plural, searchBox, trail } from "./widgets.js";
import { FileSource, ServerSource } from "./source.js";
import { Classify, wordChips } from "./classify.js";
import { Compare } from "./compare.js";

const TABS = [["classify", "Classify"], ["node", "Node"], ["findings", "Findings"], ["compare", "Compare"]];

class Explorer {
  constructor(source) {
    this.source = source;
    this.frame();
  }

  // ------------------------------------------------------------ elements

  frame() {
    this.title = h("h1", {}, "cladist");
    this.facts = h("p", { class: "facts-line" });
    this.modelChoice = h("div", { class: "model" });
    this.tools = h("div", { class: "tools" });
    this.path = h("nav", { class: "trail", "aria-label": "Zoomed to" });
    this.key = h("div", { class: "key" });
    this.map = h("div", { class: "map", id: "map" });
    this.panels = Object.fromEntries(TABS.map(([name]) => [name, h("div", { id: "panel-" + name, role: "tabpanel", "aria-labelledby": "tab-" + name, tabindex: "-1", hidden: name !== "classify" })]));
    this.tabs = h("div", { role: "tablist", class: "tabs", "aria-label": "Panels" }, ...TABS.map(([name, words]) => h("button", {
      type: "button", role: "tab", id: "tab-" + name, "aria-controls": "panel-" + name, "aria-selected": String(name === "classify"),
      tabindex: name === "classify" ? "0" : "-1", onclick: () => this.openTab(name),
    }, words)));
    this.tabs.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], shown = [...this.tabs.children].filter((tab) => !tab.hidden);
      if (!step) return;
      const at = shown.indexOf(document.activeElement), to = shown[(at + step + shown.length) % shown.length];
      event.preventDefault();
      to.click();
      to.focus();
    });
    document.getElementById("app").replaceChildren(
      h("header", {}, this.title, this.facts, this.modelChoice),
      h("main", {}, h("section", { class: "side", "aria-label": "Panels" }, this.tabs, ...Object.values(this.panels)),
        h("section", { class: "stage", "aria-label": "Map of the taxonomy" }, this.tools, h("div", { class: "keyline" }, this.path, this.key), this.map)),
    );
  }

  openTab(name) {
    for (const tab of this.tabs.children) {
      const isOpen = tab.id === "tab-" + name;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
    }
    for (const [key, panel] of Object.entries(this.panels)) panel.hidden = key !== name;
  }

  // ------------------------------------------------------------ a model

  async start() {
    const first = this.load(), models = this.source.models();
    models.catch(() => {});
    this.columns = await first.columns;
    this.draw();
    this.models = await models;
    await this.open(this.models[0].name, first);
  }

  // Ask for the numbers of all nodes, and for the names, which are longer.
  load(model) {
    const columns = this.source.columns(model), after = (ask) => columns.then(() => ask(model));
    const loading = { columns, early: after((m) => this.source.early(m)).catch(() => []), more: after((m) => this.source.more(m)), texts: after((m) => this.source.texts(m)) };
    for (const promise of Object.values(loading)) promise.catch(() => {});
    return loading;
  }

  async open(model, loading = this.load(model)) {
    this.model = model;
    delete document.documentElement.dataset.ready;
    for (const panel of Object.values(this.panels)) panel.replaceChildren(h("p", { class: "soft", role: "status" }, "Loading …"));
    this.tools.replaceChildren();
    this.about = this.models.find((entry) => entry.name === model);
    this.title.replaceChildren(bdi(model));
    const { about } = this, right = about.evaluation ? `, ${percent(about.evaluation.accuracy)} of ${plural(about.evaluation.rows, "row")} right` : "";
    this.facts.textContent = `${about.class}, ${plural(about.n_nodes, "node")}, ${plural(about.n_classes, "label")}${right}`;
    document.title = visible(model) + " — cladist";
    if (this.models.length > 1 && !this.modelChoice.firstChild) {
      this.modelChoice.replaceChildren(choice("Model", this.models.map((entry) => [entry.name, visible(entry.name)]), (name) => this.open(name)));
    }
    const columns = await loading.columns, isCurrent = () => this.model === model; // unless another one is chosen meanwhile
    if (!isCurrent()) return;
    if (columns !== this.columns) {
      this.columns = columns;
      this.draw();
    }
    const early = await loading.early;
    if (early.length && isCurrent()) this.earlyNames(early);
    const more = await loading.more, texts = await loading.texts;
    if (!isCurrent()) return;
    Object.assign(this.columns, more);
    this.colours = this.readColours();
    this.tree.setTexts(texts.names, texts.titles && texts.titles.length ? texts.titles : null);
    this.icicle.wrapped.clear();
    this.icicle.draw();
    this.fill();
    whenIdle(() => this.tree.prepareSearch());
    document.documentElement.dataset.ready = model;
    await this.fillLater(model);
  }

  earlyNames(entries) {
    const names = [], titles = [];
    for (const { node, name, title } of entries) { names[node] = name; titles[node] = title; }
    this.tree.setTexts(names, titles);
    this.icicle.draw();
  }

  draw() {
    this.tree = new Tree(this.columns.parent);
    const { columns, tree } = this;
    this.map.replaceChildren();
    this.icicle = new Icicle(this.map, tree, {
      label: "Map of the taxonomy. Arrow keys move, Enter zooms in, Backspace out, Space folds a branch, slash searches.",
      wheel: "zoom", describe: (v) => this.describe(v), onselect: (v) => this.showNode(v),
      onview: (v) => this.path.replaceChildren(...trail(tree, v, (u) => this.icicle.zoomTo(u))),
    });
    this.icicle.weight = columns.support;
    this.icicle.place(true);
    this.colours = this.readColours();
    this.colour(Object.keys(this.colours)[0]);
    this.icicle.paint();
    performance.mark("first-picture");
    this.icicle.zoomTo(-1);
  }

  describe(v) {
    const c = this.columns, lines = [];
    if (c.support && c.support[v]) {
      lines.push(`${plural(c.support[v], "row")}, F1 ${(c.f1[v] || 0).toFixed(2)}`);
      if (c.error_cost) lines.push(`${number(c.error_cost[v])} edges per row`);
    } else if (c.support) lines.push("no rows");
    if (!this.tree.isLeaf(v)) lines.push(plural(this.tree.nLeaves[v], "leaf", "leaves") + " below");
    return lines;
  }

  // What nodes can be coloured by; values that take a pass over all nodes are computed when they are chosen.
  readColours() {
    const c = this.columns, shares = { palette: "score", low: 0, high: 1, ends: ["0", "1"] };
    const counts = (words, values, more) => {
      let highest;
      const most = () => (highest ??= values().reduce((a, b) => (b > a ? b : a), 0));
      return {
        words, palette: "count", low: 0, ...more, values: () => Float32Array.from(values(), (x) => Math.log(1 + x)),
        range: () => ({ high: Math.log(1 + most()), ends: ["1", number(most())] }),
      };
    };
    const size = counts("leaves below", () => this.tree.nLeaves, { absent: "none", all: true });
    if (!c.support) return { size };
    const f1 = { words: "F1", values: c.f1, ...shares };
    if (!c.error_cost) return { f1, size };
    const known = [...c.error_cost].filter((x, v) => c.support[v] && this.tree.isLeaf(v)).sort((a, b) => a - b);
    const high = Math.max(1, Math.round(known[Math.floor(0.95 * known.length)] || 1));
    return {
      f1,
      cost: { words: "error cost per row", values: c.error_cost, palette: "cost", low: 0, high, ends: ["0", `${number(high)} or more edges`] },
      recall: { words: "recall", values: c.recall, ...shares },
      precision: { words: "precision", values: c.precision, ...shares },
      rows: counts("rows (support)", () => c.support),
      size,
    };
  }

  colour(name) {
    const own = this.colours[name];
    if (own.range) Object.assign(own, own.range());
    const values = typeof own.values === "function" ? own.values() : own.values;
    this.icicle.setColours(values, own.palette, own.low, own.high, own.all ? null : this.columns.support);
    this.key.replaceChildren(legend(own));
  }

  // ------------------------------------------------------------ panels

  fill() {
    this.fillTools();
    this.classify = new Classify(this, (row, prediction) => this.compare.answer(row, prediction));
    this.panels.classify.replaceChildren(this.classify.element);
    this.panels.node.replaceChildren(h("p", { class: "soft" }, "Choose a node on the map, or search for one. On the map: click to zoom in, click the branch that fills it to zoom out, drag to move, scroll to zoom; or the arrow keys, Enter, Backspace, and Space to fold a branch."));
    this.compare = new Compare(this, this.models, (change, marks) => this.showChange(change, marks));
    this.panels.compare.replaceChildren(this.compare.element);
    this.classify.showSlider(true);
  }

  fillTools() {
    const button = (words, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, words);
    this.colourChoice = choice("Colour", Object.entries(this.colours).map(([name, own]) => [name, own.words]), (name) => this.colour(name));
    const heights = choice("Height", [["rows", "rows"], ["alike", "classes alike"]], (name) => { this.icicle.setWeight(name === "rows" ? this.columns.support : null); this.icicle.zoomTo(-1); });
    this.tools.replaceChildren(searchBox(this.tree, (v) => { this.icicle.show(null); this.choose(v); this.map.focus({ preventScroll: true }); }), this.colourChoice, ...(this.columns.support ? [heights] : []),
      h("div", { class: "buttons" }, button("Fold", "Fold or unfold the chosen branch", () => this.icicle.fold(this.icicle.selected)), button("−", "Zoom out", () => this.icicle.zoomBy(1 / 1.6)), button("+", "Zoom in", () => this.icicle.zoomBy(1.6)), button("All", "Show the whole taxonomy", () => { this.icicle.show(null); this.icicle.zoomTo(-1); })));
  }

  async fillLater(model) {
    const [curve, findings] = await Promise.all([this.source.automation(model).catch(() => null), this.source.findings(model).catch(() => [])]);
    if (this.model !== model) return;
    if (curve) this.classify.setCurve(curve);
    this.showFindings(findings || []);
  }

  choose(v) {
    if (v < 0) return this.icicle.zoomTo(-1);
    this.icicle.select(v);
    this.openTab("node");
  }

  async showNode(v) {
    if (v < 0 || !this.tree.names) return;
    if (!this.panels.classify.hidden && document.activeElement !== this.map) this.openTab("node");
    else if (document.activeElement === this.map) this.openTab("node");
    const { tree, columns: c } = this, panel = this.panels.node;
    const values = tree.isLeaf(v) ? [] : [["leaves below", number(tree.nLeaves[v])]];
    if (c.support && c.support[v] && c.recall) values.push(["rows", number(c.support[v])], ["precision", c.precision[v] >= 0 ? percent(c.precision[v]) : "never predicted"], ["recall", percent(c.recall[v])], ["F1", (c.f1[v] || 0).toFixed(3)], ["edges per row", number(c.error_cost[v])]);
    const head = [h("nav", { class: "trail", "aria-label": "Path" }, ...trail(tree, tree.parent[v], (u) => this.choose(u), "Taxonomy")), h("h2", { dir: "auto" }, visible(tree.title(v)))];
    if (tree.name(v) !== tree.title(v)) head.push(h("p", { class: "soft" }, bdi(tree.name(v))));
    panel.replaceChildren(...head, facts(values), ...this.nodeFindings(v));
    let told;
    try { told = await this.source.node(this.model, v); } catch { return; }
    if (this.icicle.selected !== v) return;
    if (told.words && told.words.length) panel.append(h("h3", {}, "Words that speak most for it"), wordChips(told.words.slice(0, 14).map(({ word, weight }) => ({ word, contribution: weight }))));
    for (const [title, pairs] of this.confusionsAt(v, told)) if (pairs.length) panel.append(h("h3", {}, title), confusionList(tree, pairs, (u) => this.choose(u)));
    if (told.errors && told.errors.length) panel.append(h("h3", {}, "Rows that go wrong"), ...told.errors.slice(0, 6).map((error) => this.errorItem(error)));
  }

  confusionsAt(v, told) {
    if (told.confusions === null) {
      this.pairs = this.pairs || this.source.pairs(this.model);
      if (!this.pairs) return [];
      const found = confusionsOf(this.tree, v, this.pairs);
      return [["Taken for siblings", found.siblings], ["Taken for other branches", found.far], ["What was taken for it", found.into]];
    }
    const pairs = (kind) => told.confusions.filter((entry) => entry.kind === kind).map((entry) => {
      const distance = this.tree.distance(v, entry.node);
      return { node: entry.node, count: entry.count, distance, cost: entry.count * distance };
    });
    return [["Taken for siblings", pairs("sibling")], ["Taken for other branches", pairs("far")], ["Stopped above", pairs("above")]];
  }

  errorItem(error) {
    const text = String(error.text), shown = text.length > 220 ? text.slice(0, 220) + " …" : text;
    return h("blockquote", {}, bdi(shown), h("small", {}, "predicted ", ...error.predicted.flatMap((p, k) => [k ? ", " : "", h("button", { type: "button", class: "link", dir: "auto", onclick: () => this.choose(p.node) }, visible(p.title))])));
  }

  // ------------------------------------------------------------ findings

  showFindings(findings) {
    const ids = new Map(this.tree.names.map((name, v) => [name, v]));
    this.findings = findings.map((finding) => ({ ...finding, ids: finding.nodes.map((name) => ids.get(name)).filter((v) => v !== undefined) }));
    const tab = this.tabs.querySelector("#tab-findings");
    tab.hidden = !findings.length;
    tab.textContent = findings.length ? `Findings (${number(findings.length)})` : "Findings";
    const kinds = new Map();
    for (const finding of this.findings) kinds.set(finding.kind, [...(kinds.get(finding.kind) || []), finding]);
    this.panels.findings.replaceChildren(...[...kinds].map(([kind, own]) => h("details", { open: kinds.size < 4 }, h("summary", {}, `${visible(kind)} (${number(own.length)})`), ...own.slice(0, 100).map((finding) => this.findingItem(finding)))));
    this.icicle.setMarks(this.findings.flatMap((finding) => finding.ids));
  }

  findingItem(finding) {
    return h("div", { class: "finding" }, h("p", {}, bdi(finding.evidence), h("small", {}, ` ${percent(finding.sure).replace(".0%", "%")} sure`)),
      ...finding.ids.slice(0, 3).map((v) => h("button", { type: "button", class: "link", dir: "auto", onclick: () => this.choose(v) }, this.tree.label(v))));
  }

  nodeFindings(v) {
    const own = (this.findings || []).filter((finding) => finding.ids.includes(v));
    return own.length ? [h("h3", {}, "Doctor's findings"), ...own.slice(0, 5).map((finding) => h("p", { class: "finding" }, bdi(finding.evidence)))] : [];
  }

  // ------------------------------------------------------------ comparison

  showChange(change, marks) {
    if (change) {
      this.colours.change = { words: "change of F1", values: change, palette: "change", low: -0.5, high: 0.5, ends: ["−0.5 or less", "+0.5 or more"], absent: "not in both" };
      this.fillTools();
      this.colourChoice.querySelector("select").value = "change";
      this.colour("change");
    } else if (this.colours.change) {
      delete this.colours.change;
      this.fillTools();
      this.colour(Object.keys(this.colours)[0]);
    }
    this.icicle.setMarks(marks || (this.findings || []).flatMap((finding) => finding.ids));
  }
}

const embedded = document.getElementById("explorer-data");
const explorer = new Explorer(embedded ? new FileSource(JSON.parse(embedded.textContent)) : new ServerSource());
explorer.start().catch((error) => {
  const words = error.status === 401 ? "This server needs its token: open the address with #token=TOKEN at its end." : error.message;
  document.body.append(h("p", { class: "failure", role: "alert" }, visible(words)));
});
