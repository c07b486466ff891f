// The page of an error report: the map of errors and the numbers of a node.
import { Tree, decode, visible } from "./tree.js";
import { Icicle } from "./icicle.js";
import { whenIdle, bdi, choice, confusionList, confusionsOf, facts, h, legend, number, percent, plural, searchBox, trail } from "./widgets.js";

const content = (id) => JSON.parse(document.getElementById(id).textContent);

const floats = (data, key) => (data[key] ? decode(data[key], Float32Array) : null);

// The numbers of the first picture: rows, and the mean cost of their errors.
function readFirst(data, n) {
  const support = floats(data, "support"), cost = floats(data, "cost");
  return { n, support, cost, mean: cost && cost.map((x, v) => x / support[v]) };
}

// Add the numbers that come later.
function readRest(m, data) {
  const tp = floats(data, "tp"), fp = floats(data, "fp"), all = (f) => m.support.map((rows, v) => f(tp[v], rows, fp[v]));
  const recall = all((t, rows) => t / rows), precision = all((t, _, f) => (t + f ? t / (t + f) : 0));
  return Object.assign(m, { tp, fp, turns: floats(data, "turns"), recall, precision, f1: all((t, rows, f) => (2 * t) / (t + f + rows)) });
}

// What nodes can be coloured by: values, palette, range, and the ends of the legend.
function readColours(m, data) {
  const shares = { palette: "score", low: 0, high: 1, ends: ["0", "1"] };
  const highest = data.high || 1, most = Math.log(1 + Math.max(...[0, ...data.roots.map((v) => m.support[v])]));
  const colours = !m.f1 ? {} : {
    f1: { words: "F1", values: m.f1, ...shares },
    recall: { words: "recall", values: m.recall, ...shares },
    precision: { words: "precision", values: m.precision, ...shares },
    rows: { words: "rows", values: m.support.map((x) => Math.log(1 + x)), palette: "count", low: 0, high: most, ends: ["1 row", "all"] },
  };
  if (!m.cost) return colours;
  const ends = ["0", `${number(highest)} or more edges`];
  return { cost: { words: "error cost per row", values: m.mean, palette: "cost", low: 0, high: highest, ends }, ...colours };
}

function start(root) {
  const data = content("tree-data"), tree = new Tree(decode(data.parent, Int32Array));
  data.roots = [...tree.children.slice(tree.firstChild(-1), tree.lastChild(-1))];
  const m = readFirst(data, tree.n), shown = m.support.map((x) => (x ? 1 : 0));
  if (data.tp) readRest(m, data);
  let colours = readColours(m, data), pairs = null;
  const early = { names: [], titles: [] };
  data.early.nodes.forEach((v, k) => { early.names[v] = data.early.names[k]; early.titles[v] = data.early.titles[k]; });
  tree.setTexts(early.names, early.titles);

  const describe = (v) => {
    if (!m.support[v]) return [m.fp && m.fp[v] ? `no rows; predicted ${plural(m.fp[v], "time")}` : "no rows"];
    const lines = [plural(m.support[v], "row") + (m.f1 ? `, F1 ${m.f1[v].toFixed(2)}` : "")];
    if (m.cost) lines.unshift(`${number(m.mean[v])} edges per row`);
    return lines;
  };
  const host = root.querySelector(".map"), panel = root.querySelector(".panel"), path = root.querySelector(".trail");
  const icicle = new Icicle(host, tree, {
    label: "Map of the taxonomy. Arrow keys move, Enter zooms in, Backspace out, Space folds a branch.",
    wheel: "ctrl", describe, onselect: (v) => showNode(v),
    onview: (v) => path.replaceChildren(...trail(tree, v, (u) => icicle.zoomTo(u))),
  });
  icicle.weight = m.support;
  icicle.place(true);

  const key = root.querySelector(".key");
  const colour = (name) => {
    const own = colours[name];
    icicle.setColours(own.values, own.palette, own.low, own.high, shown);
    key.replaceChildren(legend(own));
  };
  colour(Object.keys(colours)[0]);
  icicle.paint();
  performance.mark("first-picture");
  icicle.zoomTo(-1);

  function showNode(v) {
    if (v < 0) return;
    const heading = h("h3", { dir: "auto" }, visible(tree.title(v)));
    const name = tree.name(v) === tree.title(v) ? null : h("p", { class: "soft" }, bdi(tree.name(v)));
    const where = h("nav", { class: "trail", "aria-label": "Path" }, ...trail(tree, tree.parent[v], (u) => go(u), "Taxonomy"));
    const values = [["rows", number(m.support[v])], ["predicted", number(m.tp[v] + m.fp[v])]];
    if (m.support[v]) values.push(["precision", percent(m.precision[v])], ["recall", percent(m.recall[v])], ["F1", m.f1[v].toFixed(3)]);
    if (m.cost && m.support[v]) values.push(["edges per row", number(m.mean[v])]);
    if (m.turns && m.turns[v]) values.push(["cost of wrong turns here", `${number(m.turns[v])} edges`]);
    panel.replaceChildren(where, heading, ...(name ? [name] : []), facts(values));
    if (!pairs) return;
    const found = confusionsOf(tree, v, pairs);
    for (const [key, title] of [["siblings", "Taken for siblings"], ["far", "Taken for other branches"], ["into", "What was taken for it"]]) {
      if (found[key].length) panel.append(h("h4", {}, title), confusionList(tree, found[key], go));
    }
    if (!found.siblings.length && !found.far.length && m.support[v]) panel.append(h("p", { class: "soft" }, "No confusions."));
  }
  const go = (v) => (v < 0 ? icicle.zoomTo(-1) : icicle.select(v));

  const tools = root.querySelector(".tools");
  const button = (words, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, words);
  const fillTools = () => tools.replaceChildren(
    searchBox(tree, (v) => { icicle.select(v); host.focus({ preventScroll: true }); }),
    choice("Colour", Object.entries(colours).map(([name, own]) => [name, own.words]), colour),
    choice("Height", [["rows", "rows"], ["alike", "classes alike"]], (name) => { icicle.setWeight(name === "rows" ? m.support : null); icicle.zoomTo(-1); }),
    h("div", { class: "buttons" }, button("Fold", "Fold or unfold the chosen branch", () => icicle.fold(icicle.selected)), button("−", "Zoom out", () => icicle.zoomBy(1 / 1.6)), button("+", "Zoom in", () => icicle.zoomBy(1.6)), button("All", "Show the whole taxonomy", () => icicle.zoomTo(-1))),
  );

  // Names come last in the file: they are long, and the picture need not wait for them.
  const finish = () => {
    const texts = content("tree-texts"), more = content("tree-more");
    if (more.tp) readRest(m, more);
    if (more.pairs) pairs = { true: decode(more.pairs.true, Int32Array), pred: decode(more.pairs.pred, Int32Array), count: decode(more.pairs.count, Float32Array) };
    colours = readColours(m, data);
    tree.setTexts(texts.names, texts.titles);
    icicle.wrapped.clear();
    icicle.draw();
    icicle.zoomTo(icicle.focus);
    fillTools();
    for (const link of document.querySelectorAll("[data-node]")) {
      link.addEventListener("click", () => { go(Number(link.dataset.node)); root.scrollIntoView({ block: "start" }); });
    }
    whenIdle(() => tree.prepareSearch());
    document.documentElement.dataset.ready = "true";
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", finish);
  else finish();
  return icicle;
}

const map = document.querySelector(".error-map");
if (map) start(map);
