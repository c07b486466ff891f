// The icicle plot on a canvas: levels from left to right, one block per node, as high as its weight, coloured by a
// measure. It zooms, pans and folds by mouse, touch and keyboard, and tells assistive technology the current node.
import { layOut, visible } from "./tree.js";

const LEAST = 2; // pixels; blocks that are smaller share a strip in the mean of their colours
const LINE = 15, PADDING = 7; // pixels
const FONT = "12px system-ui, 'Segoe UI', 'Noto Sans', sans-serif", BOLD = "600 " + FONT;
const COLUMN = 150; // the least width of a level
const DEEPEST = 1e-9; // the smallest part of the height that can fill the view
const ZOOM_TIME = 240; // milliseconds
const NONE = 256; // the colour of nodes without a value

// Light to dark, so that the order can be seen without colour. ColorBrewer's YlGnBu and YlOrRd, with ends that contrast
// with light and dark pages; a third one for counts.
export const PALETTES = {
  score: ["#f3f0a3", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#2b3a96"],
  cost: ["#f7efc9", "#fbd98a", "#f9b457", "#f28a3a", "#df5a27", "#b92e22", "#86172a"],
  change: ["#a3480b", "#d97b2f", "#eec08d", "#dfe2e6", "#9cc6e6", "#4393c3", "#1b5fa0"],
  count: ["#e6e4f0", "#c9c5e3", "#a9a3d2", "#8a80c0", "#6d5dae", "#54409a", "#3d2583"],
};

export function colourTable(stops) {
  const rgb = stops.map((stop) => [1, 3, 5].map((i) => parseInt(stop.slice(i, i + 2), 16))), table = [], text = [];
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    const [r, g, b] = rgb[k].map((part, j) => Math.round(part + (rgb[k + 1][j] - part) * (at - k)));
    table.push(`rgb(${r},${g},${b})`);
    const [x, y, z] = [r, g, b].map((p) => (p / 255 <= 0.04045 ? p / 3294.6 : ((p / 255 + 0.055) / 1.055) ** 2.4));
    text.push(0.2126 * x + 0.7152 * y + 0.0722 * z > 0.24 ? "#101418" : "#ffffff");
  }
  return { table, text };
}

export class Icicle {
  // Options: `label`: what the plot is, in words; `describe(v)`: a line of numbers of a node; `onselect(v)`;
  // `onview(v)`: after zooming to a node, -1 for all; `wheel`: "zoom" or "ctrl", if the wheel zooms only with Ctrl.
  constructor(host, tree, options = {}) {
    Object.assign(this, { host, tree, options });
    this.top = new Float64Array(tree.n);
    this.size = new Float64Array(tree.n);
    this.colour = new Uint16Array(tree.n).fill(NONE);
    this.closed = new Uint8Array(tree.n);
    this.nClosed = 0;
    this.weight = null;
    this.opened = null; // nodes of a path that is shown, with a note for each
    this.marks = null;
    this.selected = this.hovered = this.focus = -1;
    this.view = { y: 0, h: 1, x: 0 };
    this.wrapped = new Map();
    this.setPalette("score");
    host.icicle = this;
    this.build();
    this.readTheme();
    this.measure();
    this.listen();
  }

  // ------------------------------------------------------------ what is shown

  setWeight(weight) { this.weight = weight; this.place(); }

  // Colour nodes by `values`, from `low` to `high`; those that `has` says 0 of have none.
  setColours(values, palette, low, high, has = null) {
    this.setPalette(palette);
    const scale = high > low ? 255 / (high - low) : 0;
    for (let v = 0; v < this.tree.n; v++) {
      const value = values[v];
      const known = (!has || has[v]) && value === value;
      this.colour[v] = known ? Math.max(0, Math.min(255, Math.round((value - low) * scale))) : NONE;
    }
    this.draw();
  }

  setPalette(name) { this.colours = colourTable(PALETTES[name]); }

  // Mark nodes with a corner, such as those that something was found about; null for none.
  setMarks(nodes) { this.marks = nodes ? new Set(nodes) : null; this.draw(); }

  // Show paths: the nodes of `notes`, a map from node to a short text, are opened and the others fade; null for none.
  show(notes) {
    this.opened = notes && notes.size ? notes : null;
    if (this.opened) for (const v of this.opened.keys()) this.unfold(v);
    this.place(true);
    this.zoomTo(-1);
  }

  unfold(v) {
    for (let u = this.tree.parent[v]; u >= 0; u = this.tree.parent[u]) {
      if (this.closed[u]) { this.closed[u] = 0; this.nClosed--; }
    }
  }

  fold(v) {
    if (v < 0 || this.tree.isLeaf(v)) return;
    this.closed[v] = 1 - this.closed[v];
    this.nClosed += this.closed[v] ? 1 : -1;
    this.place();
    this.tell(v);
  }

  place(quiet = false) {
    layOut(this.tree, this.weight, this.nClosed ? this.closed : null, this.opened && [...this.opened.keys()], this.top, this.size);
    this.wrapped.clear();
    if (!quiet) { this.clamp(this.view); this.draw(); }
  }

  isHidden(v) {
    if (!this.nClosed) return false;
    for (let u = this.tree.parent[v]; u >= 0; u = this.tree.parent[u]) if (this.closed[u]) return true;
    return false;
  }

  // ------------------------------------------------------------ elements

  build() {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.host.classList.add("icicle-host");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "tree");
    this.host.setAttribute("aria-label", this.options.label || "Taxonomy");
    this.tip = document.createElement("div");
    this.tip.className = "icicle-tip";
    this.tip.hidden = true;
    this.host.append(this.canvas, this.tip);
    this.nTold = 0;
  }

  // Name the current node to assistive technology: the one item of the tree that has the focus.
  tell(v) {
    const tree = this.tree, item = document.createElement("div");
    item.id = (this.host.id || "icicle") + "-item-" + (this.nTold++ % 2);
    item.className = "visually-hidden";
    item.setAttribute("role", "treeitem");
    item.setAttribute("aria-level", String(tree.depth[v] + 1));
    item.setAttribute("aria-posinset", String(tree.rank[v] + 1));
    item.setAttribute("aria-setsize", String(tree.nChildren(tree.parent[v])));
    item.setAttribute("aria-selected", String(v === this.selected));
    if (!tree.isLeaf(v)) item.setAttribute("aria-expanded", String(!this.closed[v]));
    item.textContent = tree.label(v) + this.describe(v).map((line) => ", " + line).join("");
    if (this.item) this.item.remove();
    this.item = item;
    this.host.append(item);
    this.host.setAttribute("aria-activedescendant", item.id);
  }

  describe(v) { return this.options.describe ? this.options.describe(v) : []; }

  readTheme() {
    const style = getComputedStyle(this.host), get = (name, or) => style.getPropertyValue(name).trim() || or;
    this.theme = {
      page: get("--page", "#ffffff"), text: get("--text", "#1b1f24"), soft: get("--soft", "#59636e"),
      none: get("--none", "#e6eaee"), ring: get("--ring", "#d9480f"),
    };
  }

  measure() {
    const ratio = window.devicePixelRatio || 1, width = this.host.clientWidth, height = this.host.clientHeight;
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    const fits = Math.max(2, Math.floor(width / COLUMN));
    this.nColumns = Math.max(1, Math.min(this.tree.nLevels, fits));
    this.column = width / this.nColumns;
    this.wrapped.clear();
    this.clamp(this.view);
    this.paint();
  }

  // ------------------------------------------------------------ drawing

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    if (!this.width || !this.height) return;
    const { context: c, tree, view } = this, first = Math.floor(view.x), last = Math.ceil(view.x + this.nColumns);
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = this.theme.page;
    c.fillRect(0, 0, this.width, this.height);
    c.textBaseline = "middle";
    for (let level = Math.max(0, first); level < Math.min(tree.nLevels, last); level++) {
      this.paintLevel(level, (level - view.x) * this.column);
    }
    for (const v of [this.hovered, this.selected]) if (v >= 0) this.outline(v, v === this.selected ? 2.5 : 1.5);
    this.nPaints = (this.nPaints || 0) + 1;
  }

  // The first place in the order of a level whose block ends below `y`.
  findFirst(level, y) {
    const { order, levelStart } = this.tree;
    let low = levelStart[level], high = levelStart[level + 1];
    while (low < high) {
      const middle = (low + high) >> 1, v = order[middle];
      if (this.top[v] + this.size[v] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  paintLevel(level, x) {
    const { order, levelStart } = this.tree, { view, top, size, colour, context: c } = this;
    const scale = this.height / view.h, bottom = view.y + view.h, width = this.column - 1;
    const last = levelStart[level + 1], fades = this.opened !== null;
    let from = 0, high = 0, sum = 0, weight = 0; // a strip of small blocks
    const flush = () => {
      if (high <= 0) return;
      c.fillStyle = weight > 0 ? this.colours.table[Math.round(sum / weight)] : this.theme.none;
      c.globalAlpha = fades ? 0.22 : 1;
      c.fillRect(x, from, width, Math.max(high, 0.5));
      c.globalAlpha = 1;
      high = sum = weight = 0;
    };
    for (let i = this.findFirst(level, view.y); i < last; i++) {
      const v = order[i];
      if (top[v] >= bottom) break;
      if (this.nClosed && this.isHidden(v)) continue;
      const y = (top[v] - view.y) * scale, h = size[v] * scale;
      if (h >= LEAST) {
        flush();
        this.paintBlock(v, x, y, width, h, fades);
        continue;
      }
      if (high > 0 && (y - from - high > 1 || high >= LEAST)) flush();
      if (high <= 0) from = y;
      high = y + h - from;
      if (colour[v] !== NONE) { sum += colour[v] * h; weight += h; }
    }
    flush();
  }

  paintBlock(v, x, y, width, h, fades) {
    const c = this.context, lit = !fades || this.opened.has(v), top = Math.max(y, 0);
    const height = Math.min(y + h, this.height) - top - (h > 4 ? 1 : 0);
    const own = this.colour[v];
    c.globalAlpha = lit ? 1 : 0.22;
    c.fillStyle = own === NONE ? this.theme.none : this.colours.table[own];
    c.fillRect(x, top, width, height);
    if (this.closed[v]) this.paintFold(x, top, width, height);
    c.globalAlpha = 1;
    if (lit && this.marks && this.marks.has(v) && height > 6) this.paintMark(x + width, top);
    if (height >= LINE && width > 34) this.paintLabel(v, x, top, width, height, own, lit);
  }

  // A closed branch: lines across its right edge.
  paintFold(x, y, width, height) {
    const c = this.context;
    c.fillStyle = this.theme.page;
    for (let k = 1; k <= 3; k++) c.fillRect(x + width - 5 * k, y, 2, height);
  }

  paintMark(right, y) {
    const c = this.context;
    c.fillStyle = this.theme.ring;
    c.strokeStyle = this.theme.page;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(right - 11, y);
    c.lineTo(right, y);
    c.lineTo(right, y + 11);
    c.closePath();
    c.stroke();
    c.fill();
  }

  paintLabel(v, x, y, width, height, own, lit) {
    if (!this.tree.names) return;
    const c = this.context, note = this.opened && this.opened.get(v), room = width - 2 * PADDING;
    const nNotes = note && height >= 2 * LINE ? 1 : 0;
    const nLines = Math.max(1, Math.min(3, Math.floor((height - 4) / LINE) - nNotes));
    c.font = note ? BOLD : FONT;
    const lines = this.wrap(v, room, nLines);
    const extra = nNotes ? [] : !note && height >= (lines.length + 1.6) * LINE && lit ? this.describe(v).slice(0, 1) : [];
    const n = lines.length + nNotes + extra.length, colour = own === NONE ? this.theme.text : this.colours.text[own];
    c.fillStyle = lit ? colour : this.theme.soft;
    let line = y + height / 2 - ((n - 1) * LINE) / 2;
    for (const text of lines) { c.fillText(text, x + PADDING, line); line += LINE; }
    c.globalAlpha = 0.82;
    if (nNotes) { c.font = FONT; c.fillText(this.cut(note, room), x + PADDING, line); }
    for (const text of extra) c.fillText(this.cut(text, room), x + PADDING, line);
    c.globalAlpha = 1;
  }

  cut(text, room) {
    const c = this.context;
    if (c.measureText(text).width <= room) return text;
    let n = text.length;
    while (n > 1 && c.measureText(text.slice(0, n) + "…").width > room) n -= Math.max(1, n >> 3);
    return n > 1 ? text.slice(0, n).trimEnd() + "…" : "";
  }

  // The label of a node in at most `nLines` lines; kept until the blocks are placed anew.
  wrap(v, room, nLines) {
    const key = v * 8 + nLines * 2 + (this.opened && this.opened.has(v) ? 1 : 0);
    let lines = this.wrapped.get(key);
    if (lines) return lines;
    lines = [];
    const text = visible(this.tree.title(v)).slice(0, 200);
    let line = "";
    for (const word of text.split(" ")) {
      const longer = line ? line + " " + word : word;
      if (lines.length + 1 >= nLines || this.context.measureText(longer).width <= room || !line) line = longer;
      else { lines.push(line); line = word; }
    }
    lines.push(line);
    lines = lines.map((part) => this.cut(part, room));
    if (this.wrapped.size > 20000) this.wrapped.clear();
    this.wrapped.set(key, lines);
    return lines;
  }

  outline(v, thickness) {
    const scale = this.height / this.view.h, x = (this.tree.depth[v] - this.view.x) * this.column;
    const y = Math.max(-3, (this.top[v] - this.view.y) * scale);
    const end = Math.min(this.height + 3, (this.top[v] + this.size[v] - this.view.y) * scale);
    const c = this.context, h = Math.max(end - y, 2);
    c.strokeStyle = this.theme.page;
    c.lineWidth = thickness + 2;
    c.strokeRect(x, y, this.column - 1, h);
    c.strokeStyle = this.theme.text;
    c.lineWidth = thickness;
    c.strokeRect(x, y, this.column - 1, h);
  }

  // ------------------------------------------------------------ the view

  clamp(view) {
    view.h = Math.min(1, Math.max(DEEPEST, view.h));
    view.y = Math.min(1 - view.h, Math.max(0, view.y));
    view.x = Math.min(Math.max(0, this.tree.nLevels - this.nColumns), Math.max(0, view.x));
    return view;
  }

  panBy(pixels, levels = 0) {
    this.stop();
    this.view.y += (pixels * this.view.h) / this.height;
    this.view.x += levels;
    this.clamp(this.view);
    this.draw();
  }

  // Zoom by a factor and keep what is at the height `y` of the canvas where it is.
  zoomBy(factor, y = this.height / 2) {
    this.stop();
    const at = this.view.y + (y / this.height) * this.view.h, h = Math.min(1, Math.max(DEEPEST, this.view.h / factor));
    this.view.y = at - (y / this.height) * h;
    this.view.h = h;
    this.clamp(this.view);
    this.draw();
  }

  // Let the branch of a node fill the height; -1: the whole tree.
  zoomTo(v) {
    this.focus = v;
    const target = v < 0 ? { y: 0, h: 1, x: 0 } : { y: this.top[v], h: this.size[v], x: this.tree.depth[v] - 1 };
    if (v >= 0 && this.opened) target.x = 0;
    this.glide(this.clamp(target));
    if (this.options.onview) this.options.onview(v);
  }

  glide(target) {
    this.stop();
    const start = { ...this.view }, begun = performance.now();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || !this.nPaints) {
      this.view = target;
      this.draw();
      return;
    }
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - begun) / ZOOM_TIME)), ease = t * t * (3 - 2 * t);
      const h = start.h * (target.h / start.h) ** ease, share = start.h === target.h ? ease : (h - start.h) / (target.h - start.h);
      this.view = { h, y: start.y + (target.y - start.y) * share, x: start.x + (target.x - start.x) * ease };
      this.paint();
      this.gliding = t < 1 ? requestAnimationFrame(step) : 0;
    };
    this.gliding = requestAnimationFrame(step);
  }

  stop() { if (this.gliding) cancelAnimationFrame(this.gliding); this.gliding = 0; }

  // Move the view where a node can be seen, without zooming further than its parent.
  reveal(v) {
    this.unfold(v);
    const { view } = this, x = this.tree.depth[v] - view.x;
    const high = (this.size[v] / view.h) * this.height;
    const inside = this.top[v] + this.size[v] > view.y && this.top[v] < view.y + view.h && x >= 0 && x <= this.nColumns - 1;
    if (inside && high >= LINE) return this.draw();
    let u = v;
    while (u >= 0 && (this.size[v] / this.size[u]) * this.height >= LINE && this.tree.parent[u] >= 0) u = this.tree.parent[u];
    this.zoomTo(u === v && this.tree.parent[v] >= 0 ? this.tree.parent[v] : u);
  }

  select(v, { reveals = true, quiet = false } = {}) {
    this.selected = v;
    if (v >= 0) {
      if (this.nClosed) { this.unfold(v); this.place(true); }
      if (reveals) this.reveal(v);
      this.tell(v);
    }
    this.draw();
    if (!quiet && this.options.onselect) this.options.onselect(v);
  }

  // The node at a point of the canvas; -1 if there is none.
  at(x, y) {
    const level = Math.floor(x / this.column + this.view.x);
    if (level < 0 || level >= this.tree.nLevels) return -1;
    const place = this.view.y + (y / this.height) * this.view.h, i = this.findFirst(level, place);
    if (i >= this.tree.levelStart[level + 1]) return -1;
    const v = this.tree.order[i];
    return this.top[v] <= place && !this.isHidden(v) ? v : -1;
  }

  // ------------------------------------------------------------ mouse, touch, keyboard

  listen() {
    const { canvas, host } = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.pressed = { x: event.clientX, y: event.clientY, moved: false };
      if (event.pointerType === "mouse" && event.isTrusted) canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => this.released(event));
    canvas.addEventListener("pointercancel", () => (this.pressed = null));
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    host.addEventListener("keydown", (event) => this.typed(event));
    host.addEventListener("focus", () => {
      if (this.selected < 0 && host.matches(":focus-visible")) this.select(this.tree.order[0], { reveals: false });
    });
    new ResizeObserver(() => this.measure()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readTheme(); this.draw(); });
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  moved(event) {
    const pressed = this.pressed, [x, y] = this.point(event);
    if (pressed && event.pointerType === "mouse") {
      const dx = event.clientX - pressed.x, dy = event.clientY - pressed.y;
      if (pressed.moved || Math.hypot(dx, dy) > 4) {
        pressed.moved = true;
        this.host.classList.add("dragged");
        this.panBy(-dy, -dx / this.column);
        pressed.x = event.clientX;
        pressed.y = event.clientY;
        this.hover(-1);
        return;
      }
    }
    if (event.pointerType === "mouse") this.hover(this.at(x, y), x, y);
  }

  released(event) {
    const pressed = this.pressed;
    this.pressed = null;
    this.host.classList.remove("dragged");
    if (!pressed || pressed.moved) return;
    const [x, y] = this.point(event), v = this.at(x, y);
    this.hover(-1);
    if (v >= 0) this.open(v);
  }

  // What a click does: select a node and zoom to its branch, or out again from the branch that fills the view.
  open(v) {
    this.select(v, { reveals: false });
    if (this.opened) return;
    if (v === this.focus) this.zoomTo(this.tree.parent[v]);
    else if (!this.tree.isLeaf(v)) this.zoomTo(v);
    else if ((this.size[v] / this.view.h) * this.height < LINE) this.reveal(v);
  }

  wheeled(event) {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (this.options.wheel === "ctrl" && !event.ctrlKey && !event.metaKey && !sideways) return;
    event.preventDefault();
    if (sideways) this.panBy(0, (event.deltaX || event.deltaY) / 200);
    else this.zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? 0.008 : 0.0025)), this.point(event)[1]);
  }

  hover(v, x = 0, y = 0) {
    if (v < 0) {
      if (this.hovered >= 0) { this.hovered = -1; this.tip.hidden = true; this.draw(); }
      return;
    }
    if (v !== this.hovered) {
      this.hovered = v;
      const name = document.createElement("strong"), lines = this.describe(v);
      name.textContent = this.tree.label(v);
      name.dir = "auto";
      this.tip.replaceChildren(name, ...lines.map((line) => {
        const part = document.createElement("div");
        part.textContent = line;
        return part;
      }));
      this.tip.hidden = false;
      this.draw();
    }
    const { offsetWidth: w, offsetHeight: h } = this.tip;
    this.tip.style.left = Math.max(4, Math.min(x + 14, this.width - w - 4)) + "px";
    this.tip.style.top = (y + 18 + h < this.height ? y + 18 : Math.max(4, y - h - 12)) + "px";
  }

  typed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.host) return;
    const tree = this.tree, v = this.selected, key = event.key;
    const go = (u) => { if (u >= 0) this.select(u); };
    const sibling = (step) => {
      const level = tree.depth[v], i = this.findFirst(level, this.top[v] + this.size[v] / 2) + step;
      if (i >= tree.levelStart[level] && i < tree.levelStart[level + 1]) go(tree.order[i]);
    };
    const actions = {
      ArrowUp: () => (v < 0 ? go(tree.order[0]) : sibling(-1)),
      ArrowDown: () => (v < 0 ? go(tree.order[0]) : sibling(1)),
      ArrowLeft: () => v >= 0 && go(tree.parent[v]),
      ArrowRight: () => (v < 0 ? go(tree.order[0]) : !tree.isLeaf(v) && go(tree.children[tree.firstChild(v)])),
      Home: () => v >= 0 && go(tree.children[tree.firstChild(tree.parent[v])]),
      End: () => v >= 0 && go(tree.children[tree.lastChild(tree.parent[v]) - 1]),
      Enter: () => v >= 0 && this.zoomTo(v === this.focus ? tree.parent[v] : tree.isLeaf(v) ? tree.parent[v] : v),
      " ": () => this.fold(v),
      Backspace: () => this.zoomTo(this.focus >= 0 ? tree.parent[this.focus] : -1),
      Escape: () => this.zoomTo(-1),
      "+": () => this.zoomBy(1.5),
      "-": () => this.zoomBy(1 / 1.5),
      PageUp: () => this.panBy(-0.8 * this.height),
      PageDown: () => this.panBy(0.8 * this.height),
    };
    if (!actions[key]) return;
    event.preventDefault();
    actions[key]();
  }
}
