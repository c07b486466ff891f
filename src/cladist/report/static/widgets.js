// Elements of pages about a taxonomy. Texts become text nodes, never HTML.
import { visible } from "./tree.js";
import { PALETTES } from "./icicle.js";

const FOUND = 40; // nodes that a search lists

// Do something when nothing else is to be done.
export const whenIdle = (work) => ("requestIdleCallback" in window ? requestIdleCallback(work) : setTimeout(work, 200));

// Return an element with attributes and children; functions among the attributes listen to events.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A text of somebody else: shown as it is, in its own direction.
export function bdi(text, attributes = {}) {
  return h("bdi", attributes, visible(text));
}

export const number = (x) => {
  if (Number.isInteger(x)) return x.toLocaleString("en");
  return Math.abs(x) >= 100 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(3)));
};
export const percent = (x) => {
  if (x > 0 && x < 0.0005) return "<0.1%";
  if (x < 1 && x >= 0.9995) return ">99.9%";
  return (100 * x).toFixed(x === 1 || x === 0 ? 0 : 1) + "%";
};
export const plural = (n, one, many = one + "s") => number(n) + " " + (n === 1 ? one : many);

// A field that finds nodes while one types; arrow keys choose among them.
export function searchBox(tree, onpick, { id = "search", label = "Search the taxonomy" } = {}) {
  const list = h("ul", { id: id + "-list", role: "listbox", hidden: true, "aria-label": "Nodes found" });
  const status = h("span", { class: "visually-hidden", role: "status" });
  const input = h("input", {
    id, type: "search", placeholder: label + " ( / )", "aria-label": label, autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
  });
  let nodes = [], at = -1;
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const pick = (v) => { close(); input.value = ""; onpick(v); };
  const mark = (k) => {
    at = k;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === k)));
    if (k >= 0) {
      input.setAttribute("aria-activedescendant", list.children[k].id);
      list.children[k].scrollIntoView({ block: "nearest" });
    }
  };
  const show = () => {
    nodes = tree.search(input.value, FOUND);
    list.replaceChildren(...nodes.map((v, k) => {
      const above = tree.path(v).slice(0, -1).map((u) => visible(tree.title(u))).join(" › ");
      const item = h("li", { id: `${id}-${k}`, role: "option", "aria-selected": "false", onpointerdown: (event) => event.preventDefault(),
        onclick: () => pick(v) }, h("strong", { dir: "auto" }, tree.label(v)), h("small", { dir: "auto" }, above));
      return item;
    }));
    const typed = input.value.trim() !== "";
    list.hidden = !typed;
    input.setAttribute("aria-expanded", String(typed));
    status.textContent = typed ? (nodes.length ? plural(nodes.length, "node") + " found" : "Nothing found") : "";
    if (typed && !nodes.length) list.replaceChildren(h("li", { class: "nothing" }, "No node has these words."));
    mark(nodes.length ? 0 : -1);
  };
  input.addEventListener("input", show);
  input.addEventListener("blur", close);
  input.addEventListener("focus", () => input.value && show());
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && nodes.length) mark((at + 1) % nodes.length);
    else if (event.key === "ArrowUp" && nodes.length) mark((at - 1 + nodes.length) % nodes.length);
    else if (event.key === "Enter" && at >= 0 && !list.hidden) pick(nodes[at]);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    input.focus();
  });
  return h("div", { class: "search" }, input, list, status);
}

// The legend of a measure: its colours with the ends in words.
export function legend(measure) {
  const bar = h("i", { class: "bar", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(to right, ${PALETTES[measure.palette].join(", ")})`;
  return h("div", { class: "legend" }, h("span", {}, measure.ends[0]), bar, h("span", {}, measure.ends[1]),
    h("i", { class: "none", "aria-hidden": "true" }), h("span", {}, measure.absent || "no rows"));
}

// The path to a node, each part a button that zooms there.
export function trail(tree, v, onpick, all = "Whole taxonomy") {
  const parts = [h("button", { type: "button", class: "link", onclick: () => onpick(-1) }, all)];
  for (const u of v < 0 ? [] : tree.path(v)) {
    const link = h("button", { type: "button", class: "link", dir: "auto", onclick: () => onpick(u) }, visible(tree.title(u)));
    parts.push(h("span", { class: "step" }, h("span", { "aria-hidden": "true" }, "›"), link));
  }
  return parts;
}

// A choice among some values; `options` are pairs of value and words.
export function choice(label, options, onchange) {
  const select = h("select", { onchange: () => onchange(select.value) }, ...options.map(([value, words]) => h("option", { value }, words)));
  return h("label", { class: "field" }, h("span", {}, label), select);
}

// Numbers with their names, as a list of definitions.
export function facts(pairs) {
  return h("dl", { class: "facts" }, ...pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// Confusions as rows with a bar as long as their cost.
export function confusionList(tree, pairs, onpick, most = 6) {
  const highest = Math.max(...pairs.map((pair) => pair.cost), 1e-9);
  const row = (pair) => {
    const bar = h("i", { class: "amount", "aria-hidden": "true" });
    bar.style.width = `${Math.max(2, (100 * pair.cost) / highest)}%`;
    return h("li", {}, h("button", { type: "button", class: "link", dir: "auto", onclick: () => onpick(pair.node) }, tree.label(pair.node)),
      h("small", {}, `${plural(pair.count, "row")}, ${plural(pair.distance, "edge")} away`), bar);
  };
  const list = h("ul", { class: "confusions" }, ...pairs.slice(0, most).map(row));
  if (pairs.length <= most) return list;
  return h("div", {}, list, h("details", {}, h("summary", {}, `${number(pairs.length - most)} more`), h("ul", { class: "confusions" }, ...pairs.slice(most, 60).map(row))));
}

// Sort the confusions below a node by cost: `from` are the pairs of true and predicted node with their counts.
export function confusionsOf(tree, v, pairs) {
  const siblings = new Map(), far = new Map(), into = new Map(), d = (pair) => pair.distance;
  const add = (map, node, count, cost, distance) => {
    const entry = map.get(node) || { node, count: 0, cost: 0, distance: 0 };
    entry.count += count;
    entry.cost += cost;
    entry.distance = Math.max(entry.distance, distance);
    map.set(node, entry);
  };
  for (let k = 0; k < pairs.true.length; k++) {
    const t = pairs.true[k], p = pairs.pred[k], count = pairs.count[k];
    if (t < 0 || p < 0) continue;
    const inside = tree.contains(v, t), ends = tree.contains(v, p);
    if (inside === ends) continue; // the mistake is made elsewhere
    const distance = tree.distance(t, p), other = inside ? p : t;
    const near = tree.parent[other] === tree.parent[v] || tree.contains(tree.parent[v], other);
    // Seen from a branch, a confusion is one with the sibling it ends in, or with a node of another branch.
    let node = other;
    if (near) while (node >= 0 && tree.parent[node] !== tree.parent[v]) node = tree.parent[node];
    if (node < 0) node = other;
    add(inside ? (near ? siblings : far) : into, inside ? node : other, count, count * distance, distance);
  }
  const sorted = (map) => [...map.values()].sort((a, b) => b.cost - a.cost || d(a) - d(b));
  return { siblings: sorted(siblings), far: sorted(far), into: sorted(into) };
}
