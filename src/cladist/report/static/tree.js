// A taxonomy in typed arrays: parents, levels, children, places in the drawing, and search by name.
// Nodes are numbered from the roots down: a parent comes before its children.

const SMALLEST_FOLD = 1 / 240; // the share of the height that a folded branch keeps
const OPEN_SHARE = 0.62; // of its parent's height, which the nodes of an opened path get at least

// Return the array of a base64 text; `Kind` is a typed array, little-endian as all machines that run browsers are.
export function decode(text, Kind) {
  if (Uint8Array.fromBase64) return new Kind(Uint8Array.fromBase64(text).buffer);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Kind(bytes.buffer);
}

// Show characters that a page obeys instead of showing: control characters and marks that turn the direction of writing.
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;
export function visible(text) {
  return String(text).replace(OBEYED, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

export class Tree {
  // `parent` has -1 at roots; `names` and `titles` are arrays of texts, which may come later (`setTexts`).
  constructor(parent, names = null, titles = null) {
    const n = (this.n = parent.length);
    this.parent = parent;
    this.childStart = new Int32Array(n + 2);
    for (let v = 0; v < n; v++) this.childStart[parent[v] + 2]++;
    for (let v = 0; v <= n; v++) this.childStart[v + 1] += this.childStart[v];
    const next = this.childStart.slice(), children = (this.children = new Int32Array(n));
    const depth = (this.depth = new Uint16Array(n)), rank = (this.rank = new Int32Array(n)); // among its siblings
    for (let v = 0; v < n; v++) {
      const p = parent[v], k = next[p + 1]++;
      children[k] = v;
      rank[v] = k - this.childStart[p + 1];
      depth[v] = p < 0 ? 0 : depth[p] + 1;
    }
    this.orderLevels();
    this.setTexts(names, titles);
  }

  // Sort each level as it is drawn, from top to bottom: the children of the nodes of the level before, in their order.
  orderLevels() {
    const { children, childStart } = this, order = (this.order = new Int32Array(this.n)), starts = [0];
    let filled = 0;
    for (let k = childStart[0]; k < childStart[1]; k++) order[filled++] = children[k];
    for (let from = 0; from < filled; ) {
      const to = filled;
      starts.push(to);
      for (; from < to; from++) {
        const v = order[from];
        for (let k = childStart[v + 1]; k < childStart[v + 2]; k++) order[filled++] = children[k];
      }
    }
    this.levelStart = Int32Array.from(starts);
    this.nLevels = starts.length - 1;
  }

  // The number of leaves at or below each node; computed when it is asked for, as the first picture needs none.
  get nLeaves() {
    if (this.leaves) return this.leaves;
    const leaves = (this.leaves = new Int32Array(this.n));
    for (let v = this.n - 1; v >= 0; v--) {
      if (this.isLeaf(v)) leaves[v] = 1;
      if (this.parent[v] >= 0) leaves[this.parent[v]] += leaves[v];
    }
    return leaves;
  }

  // Places in a walk that visits a node before its children: the nodes below v are those from place[v] on, nBelow[v] many.
  walk() {
    const { parent, order } = this, nBelow = (this.nBelow = new Int32Array(this.n).fill(1)), free = new Int32Array(this.n + 1);
    for (let v = this.n - 1; v >= 0; v--) if (parent[v] >= 0) nBelow[parent[v]] += nBelow[v];
    this.place = new Int32Array(this.n);
    for (let i = 0; i < this.n; i++) {
      const v = order[i], p = parent[v] + 1;
      this.place[v] = free[p];
      free[p] += nBelow[v];
      free[v + 1] = this.place[v] + 1;
    }
  }

  setTexts(names, titles) {
    this.names = names;
    this.titles = titles && titles.length ? titles : null;
    this.folded = null;
  }

  // The children of v are children[firstChild(v) … lastChild(v) - 1]; those of -1 are the roots.
  firstChild(v) { return this.childStart[v + 1]; }
  lastChild(v) { return this.childStart[v + 2]; }
  nChildren(v) { return this.childStart[v + 2] - this.childStart[v + 1]; }
  isLeaf(v) { return this.nChildren(v) === 0; }
  contains(v, other) {
    if (!this.place) this.walk();
    return v < 0 || (this.place[other] >= this.place[v] && this.place[other] < this.place[v] + this.nBelow[v]);
  }
  name(v) { return (this.names && this.names[v]) || ""; }
  title(v) { return (this.titles && this.titles[v]) || (this.names && this.names[v]) || ""; }

  // The title, and the name where it says something else.
  label(v) {
    const name = this.name(v), title = this.title(v);
    return title === name || !name ? visible(title) : visible(title) + " (" + visible(name) + ")";
  }

  path(v) {
    const nodes = [];
    for (; v >= 0; v = this.parent[v]) nodes.push(v);
    return nodes.reverse();
  }

  // The deepest node at or above both; -1 if they meet nowhere.
  meet(u, v) {
    while (u !== v) {
      if (u < 0 || v < 0) return -1;
      if (this.depth[u] >= this.depth[v]) u = this.parent[u];
      else v = this.parent[v];
    }
    return u;
  }

  // The number of the edges between two nodes.
  distance(u, v) {
    const m = this.meet(u, v), at = (x) => (x < 0 ? -1 : this.depth[x]);
    return at(u) + at(v) - 2 * at(m);
  }

  // Keep all names and titles in lower case: what searches read.
  prepareSearch() {
    if (!this.folded) this.folded = this.names.map((name, v) => (this.titles ? name + "\n" + this.title(v) : name).toLowerCase());
  }

  // Nodes whose name and title have all words of a query: names that are the query first, then by where they match.
  search(query, limit = 50) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length || !this.names) return [];
    this.prepareSearch();
    const whole = query.trim().toLowerCase(), found = [];
    for (let v = 0; v < this.n; v++) {
      const text = this.folded[v];
      let k = 0;
      while (k < words.length && text.includes(words[k])) k++;
      if (k === words.length) found.push(v);
    }
    const name = (v) => this.names[v].toLowerCase();
    const rank = (v) => {
      const own = name(v), title = this.folded[v].slice(own.length + 1);
      if (own === whole || title === whole) return 0;
      if (own.startsWith(whole) || title.startsWith(whole)) return 1;
      return title.includes(whole) || own.includes(whole) ? 2 : 3;
    };
    const some = found.length > 5000 ? found.slice(0, 5000) : found; // from the roots down, which comes first anyway
    const ranks = new Map(some.map((v) => [v, rank(v)]));
    return some.sort((a, b) => ranks.get(a) - ranks.get(b) || a - b).slice(0, limit);
  }
}

// Compute where each node is drawn: `top` and `size`, as shares of the whole height.
// `weight`: what the height of a node is in proportion to; `folded`: 1 for branches that are closed;
// `opened`: an array of nodes that get much of their parent's height, so that a path can be seen from the root to a leaf.
export function layOut(tree, weight, folded, opened, top, size) {
  const { n, parent, order } = tree, own = new Float64Array(n), below = new Float64Array(n + 1);
  const rest = folded ? new Float64Array(n) : null; // what a node has beside its children
  for (let v = n - 1; v >= 0; v--) {
    const least = tree.isLeaf(v) ? 1 : 0;
    own[v] = Math.max(weight ? weight[v] : 0, below[v + 1], least);
    if (rest) rest[v] = own[v] - below[v + 1];
    below[parent[v] + 1] += own[v];
  }
  const total = below[0] || 1;
  if (folded) {
    for (let v = 0; v < n; v++) if (folded[v]) own[v] = Math.min(own[v], total * SMALLEST_FOLD);
    below.fill(0);
    for (let v = n - 1; v >= 0; v--) {
      if (!folded[v] && !tree.isLeaf(v)) own[v] = below[v + 1] + rest[v];
      below[parent[v] + 1] += own[v];
    }
  }
  const shares = opened ? openedShares(tree, own, opened, below) : null, free = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) {
    const v = order[i], p = parent[v];
    const room = p < 0 ? 1 : size[p];
    const whole = p < 0 ? below[0] || 1 : Math.max(own[p], below[p + 1]);
    size[v] = (own[v] / whole) * room;
    if (shares) size[v] = shares.has(v) ? shares.get(v) * room : size[v] * (shares.get(-2 - p) ?? 1);
    top[v] = free[p + 1];
    free[p + 1] += size[v];
    free[v + 1] = top[v];
  }
}

// Return the share of its parent of every opened node, and under -2 - p by what the other children of p shrink.
function openedShares(tree, own, opened, below) {
  const shares = new Map();
  for (const p of new Set(opened.map((v) => tree.parent[v]))) {
    const whole = p < 0 ? below[0] || 1 : Math.max(own[p], below[p + 1]);
    const chosen = opened.filter((v) => tree.parent[v] === p), least = OPEN_SHARE / chosen.length;
    let before = 0, after = 0;
    for (const v of chosen) {
      const share = own[v] / whole, wanted = Math.max(share, Math.min(least, tree.nChildren(p) === 1 ? share : least));
      shares.set(v, wanted);
      before += share;
      after += wanted;
    }
    shares.set(-2 - p, before < 1 ? Math.max(0, 1 - after) / (1 - before) : 1);
  }
  return shares;
}
