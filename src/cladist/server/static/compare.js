// Two models, or two versions of a tree, beside each other.
import { Tree, visible } from "./tree.js";
import { bdi, choice, h, number, percent } from "./widgets.js";

const MOST_LISTED = 40;

// What differs between two trees, by name: nodes that only one has, and nodes that moved.
export function treeDifference(old, now) {
  const before = new Map(old.names.map((name, v) => [name, v])), parentName = (tree, v) => (tree.parent[v] < 0 ? null : tree.names[tree.parent[v]]);
  const added = [], moved = [], renamed = [];
  now.names.forEach((name, v) => {
    const u = before.get(name);
    if (u === undefined) added.push(v);
    else {
      if (parentName(old, u) !== parentName(now, v)) moved.push({ v, from: parentName(old, u) });
      if (old.title(u) !== now.title(v)) renamed.push({ v, from: old.title(u) });
      before.delete(name);
    }
  });
  return { added, moved, renamed, removed: [...before.values()] };
}

export class Compare {
  // `app` as for `Classify`; `onmarks(colours, marks)` colours the map by what differs.
  constructor(app, models, oncolours) {
    Object.assign(this, { app, oncolours, other: null });
    this.result = h("div", {});
    this.answers = h("div", {});
    const others = models.filter((model) => model.name !== app.model);
    if (!others.length) {
      this.element = h("p", { class: "soft" }, app.source.isLive ? "Serve two models, or two versions of one, to compare them: cladist serve new old." : "Write the file with two models to compare them: cladist explore MODEL DATA --against OTHER --html FILE.");
      return;
    }
    this.models = new Map(models.map((model) => [model.name, model]));
    const pick = choice("Compare with", [["", "choose a model"], ...others.map((model) => [model.name, visible(model.name)])], (name) => this.open(name));
    this.element = h("div", {}, pick, this.answers, this.result);
  }

  async open(name) {
    this.other = null;
    this.oncolours(null, null);
    this.answers.replaceChildren();
    if (!name) return this.result.replaceChildren();
    this.result.replaceChildren(h("p", { class: "soft", role: "status" }, "Loading …"));
    const { source } = this.app, [columns, texts] = await Promise.all([source.columns(name), source.texts(name)]);
    this.other = { name, columns, tree: new Tree(columns.parent, texts.names, texts.titles) };
    this.show();
  }

  show() {
    const { tree, columns, about } = this.app, other = this.other, difference = treeDifference(other.tree, tree);
    const changes = [["added", "Only in this model"], ["moved", "Moved"], ["renamed", "Renamed"], ["removed", "Only in the other"]];
    const isSame = changes.every(([key]) => !difference[key].length);
    const evaluation = (model) => (model.evaluation ? [percent(model.evaluation.accuracy), number(model.evaluation.error_cost)] : ["–", "–"]);
    const row = (name, model) => h("tr", {}, h("th", { scope: "row" }, bdi(name)), ...[number(model.n_nodes), number(model.n_classes), ...evaluation(model)].map((cell) => h("td", {}, cell)));
    const table = h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...["model", "nodes", "labels", "right", "edges per row"].map((cell) => h("th", { scope: "col" }, cell)))),
      h("tbody", {}, row(this.app.model, about), row(other.name, this.models.get(other.name)))));
    const parts = [table];
    if (isSame) parts.push(h("p", {}, "Both have the same taxonomy."));
    else {
      parts.push(h("p", {}, "The taxonomies differ: ", changes.filter(([key]) => difference[key].length).map(([key, words]) => `${words.toLowerCase()} ${number(difference[key].length)}`).join(", ") + "."));
      for (const [key, words] of changes) if (difference[key].length) parts.push(this.changeList(key, words, difference[key]));
    }
    if (columns.f1 && other.columns.f1) parts.push(...this.scoreDifferences());
    this.result.replaceChildren(...parts);
    this.oncolours(columns.f1 && other.columns.f1 ? this.change : null, isSame ? null : [...difference.added, ...difference.moved.map((m) => m.v)]);
  }

  changeList(key, words, entries) {
    const { tree } = this.app, other = this.other.tree;
    const item = (entry) => {
      if (key === "removed") return h("li", {}, bdi(other.label(entry)));
      const v = key === "added" ? entry : entry.v, note = key === "added" ? null : h("small", {}, key === "moved" ? " was below " : " was ", bdi(entry.from === null ? "no node" : entry.from));
      return h("li", {}, h("button", { type: "button", class: "link", dir: "auto", onclick: () => this.app.choose(v) }, tree.label(v)), note);
    };
    const more = entries.length > MOST_LISTED ? h("li", { class: "soft" }, `and ${number(entries.length - MOST_LISTED)} more`) : null;
    return h("details", { open: entries.length <= 10 }, h("summary", {}, `${words} (${number(entries.length)})`), h("ul", { class: "plain" }, ...entries.slice(0, MOST_LISTED).map(item), more));
  }

  // Nodes by the change of their F1, weighted by their rows.
  scoreDifferences() {
    const { tree, columns } = this.app, other = this.other, before = new Map(other.tree.names.map((name, v) => [name, v]));
    this.change = new Float32Array(tree.n).fill(NaN);
    const listed = [];
    for (let v = 0; v < tree.n; v++) {
      const u = before.get(tree.names[v]);
      if (u === undefined || !columns.support[v]) continue;
      const change = (columns.f1[v] || 0) - (other.columns.f1[u] || 0);
      this.change[v] = change;
      if (change) listed.push({ v, change, weight: Math.abs(change) * columns.support[v] });
    }
    listed.sort((a, b) => b.weight - a.weight);
    const item = ({ v, change }) => h("li", {}, h("button", { type: "button", class: "link", dir: "auto", onclick: () => this.app.choose(v) }, tree.label(v)), h("small", { class: change > 0 ? "better" : "worse" }, ` ${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(3)} F1`));
    const group = (title, part) => (part.length ? [h("h3", {}, title), h("ul", { class: "plain" }, ...part.slice(0, 12).map(item))] : []);
    return [...group("Better here", listed.filter((entry) => entry.change > 0)), ...group("Worse here", listed.filter((entry) => entry.change < 0))];
  }

  // Both answers for a text.
  async answer(row, prediction) {
    if (!this.other || !this.app.source.isLive) return;
    try {
      const theirs = await this.app.source.predict(this.other.name, row, this.models.get(this.other.name).probabilities);
      const line = (name, found) => h("p", {}, h("small", {}, bdi(name)), h("br"), ...found.path.flatMap((step, k) => [k ? " › " : "", bdi(step.title)]), found.probability === undefined ? "" : " " + percent(found.probability));
      const [a, b] = [prediction.candidates[0], theirs.candidates[0]];
      const same = a && b && this.app.tree.name(a.node) === this.other.tree.name(b.node);
      this.answers.replaceChildren(h("h3", {}, same ? "Both give the same label" : "They give different labels"), ...(a ? [line(this.app.model, a)] : []), ...(b ? [line(this.other.name, b)] : []));
    } catch (error) { this.answers.replaceChildren(h("p", { class: "status" }, visible(error.message))); }
  }
}
