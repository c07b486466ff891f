// Moves the level of confidence: shares of rows, and examples of each outcome.
for (const root of document.querySelectorAll(".automation")) {
  const { curve, samples } = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const slider = root.querySelector("input"), output = root.querySelector("output");
  const shares = root.querySelector(".shares"), examples = root.querySelector(".examples");
  const percent = (share) => (100 * share).toFixed(1) + " %";
  const decide = (sample, level) => {
    let last = -1;
    sample.probabilities.forEach((p, k) => { if (p >= level) last = k; });
    const place = last < 0 ? "for a person" : last + 1 < sample.nodes.length ? "stopped higher" : "filed at a leaf";
    return { sample, last, place };
  };
  const describe = ({ sample, last }) => {
    const entry = document.createElement("div"), text = document.createElement("b"), answer = document.createElement("div");
    text.textContent = sample.text;
    const mark = last < 0 ? "" : sample.is_true[last] ? " ✓" : " ✗ (" + sample.label + ")";
    const path = sample.nodes.slice(0, last + 1).join(" › ") || "no answer";
    answer.textContent = path + (last < 0 ? "" : "  " + percent(sample.probabilities[last])) + mark;
    entry.append(text, answer);
    return entry;
  };
  const show = () => {
    const k = Number(slider.value), level = curve.level[k];
    output.textContent = level.toFixed(2);
    shares.textContent = percent(curve.at_leaf[k]) + " of the rows are filed at a leaf, " + percent(curve.above[k]) +
      " stopped higher, " + percent(curve.unanswered[k]) + " left to a person; " + percent(curve.error[k]) +
      " of the answers are wrong.";
    const decided = samples.map((sample) => decide(sample, level));
    examples.replaceChildren(...["filed at a leaf", "stopped higher", "for a person"].map((place) => {
      const column = document.createElement("div"), heading = document.createElement("h3");
      heading.textContent = place;
      column.append(heading, ...decided.filter((d) => d.place === place).slice(0, 4).map(describe));
      return column;
    }));
  };
  slider.addEventListener("input", show);
  show();
}
