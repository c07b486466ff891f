// Where the explorer's data come from: a server, or the file that the page is.
import { decode } from "./tree.js";

// The columns of the first picture, and those that come after it.
const EARLIER = ["parent", "support", "f1"], LATER = ["precision", "recall", "error_cost"];

const unpack = (columns, key) => (columns[key] ? decode(columns[key], key === "parent" || key === "support" ? Int32Array : Float32Array) : null);
const unpackAll = (columns, keys) => Object.fromEntries(keys.map((key) => [key, unpack(columns, key)]));

export class ServerSource {
  isLive = true;
  constructor() {
    this.token = decodeURIComponent((/[#&]token=([^&]+)/.exec(location.hash) || [])[1] || "");
    if (this.token) history.replaceState(null, "", location.pathname + location.search); // not to be copied with the address
  }

  async ask(path, body) {
    const isOpen = !body && document.documentElement.hasAttribute("data-open"); // then the request was begun before
    const headers = this.token && !isOpen ? { authorization: "Bearer " + this.token } : {};
    if (body) headers["content-type"] = "application/json";
    const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    const content = await answer.json().catch(() => ({}));
    if (answer.ok) return content;
    const detail = typeof content.detail === "string" ? content.detail : content.error || `The server answered ${answer.status}.`;
    throw Object.assign(new Error(typeof detail === "string" ? detail : JSON.stringify(detail)), { status: answer.status });
  }

  query(path, model, more = "") {
    const parts = [model ? "model=" + encodeURIComponent(model) : "", more].filter(Boolean);
    return this.ask(path + (parts.length ? "?" + parts.join("&") : ""));
  }

  async models() { return (await this.ask("model")).models; }

  async columns(model) {
    return unpackAll((await this.query("taxonomy/arrays", model, "packed=true&columns=" + EARLIER.join(","))).columns, EARLIER);
  }
  async more(model) {
    return unpackAll((await this.query("taxonomy/arrays", model, "packed=true&columns=" + LATER.join(","))).columns, LATER);
  }

  async early(model) { return (await this.query("taxonomy", model, "limit=200")).children; }
  async texts(model) { return (await this.query("taxonomy/arrays", model, "columns=names,titles")).columns; }
  async node(model, v) { return this.query("nodes/" + v, model); }
  async automation(model) { return (await this.query("automation", model)).curve; }
  async findings(model) { return (await this.query("findings", model)).findings; }

  async predict(model, row, probabilities) {
    const asked = { ...row, model, top_k: 5, proba: probabilities || undefined };
    return (await this.ask("predict", asked)).predictions[0];
  }
  async explain(model, row, label) { return (await this.ask("explain", { ...row, model, labels: label && [label] })).explanations[0]; }
  async correct(model, row, label) {
    const given = row.texts ? { text: row.texts[0] } : { row: row.rows[0] };
    return this.ask("feedback", { ...given, model, labels: [label] });
  }
}

// The page is the source: models, with predictions of some rows.
export class FileSource {
  isLive = false;
  constructor(data) {
    this.byName = new Map(data.models.map((entry) => [entry.name, entry]));
    this.all = data.models;
  }
  find(model) { return this.byName.get(model) || this.all[0]; }
  async models() { return this.all; }
  async columns(model) {
    return unpackAll(this.find(model).columns, EARLIER);
  }
  async more(model) { return unpackAll(this.find(model).columns, LATER); }
  async early() { return []; }
  async texts(model) {
    if (document.readyState === "loading") await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
    return JSON.parse(document.getElementById("texts-" + this.all.indexOf(this.find(model))).textContent);
  }
  pairs(model) {
    const { pairs } = this.find(model);
    if (!pairs) return null;
    return { true: decode(pairs.true, Int32Array), pred: decode(pairs.pred, Int32Array), count: decode(pairs.count, Float32Array) };
  }
  async node(model, v) {
    const errors = this.find(model).samples.filter((sample) => sample.wrong && sample.truth.includes(v));
    return { words: [], confusions: null, errors: errors.slice(0, 20).map((sample) => ({ text: sample.text, predicted: [sample.prediction.candidates[0]] })) };
  }
  async automation(model) { return this.find(model).automation; }
  async findings(model) { return this.find(model).findings; }
  samples(model) { return this.find(model).samples; }
}
