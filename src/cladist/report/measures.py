"""The measures of a report with what each means, without those that say the same as another one."""

from __future__ import annotations

from cladist.metrics import Report
from cladist.report.figure import shown

# In the order of the table; what is 1 − another one, or another one times a constant, is left out.
MEANINGS = {
    "accuracy": ("accuracy", "Share of rows whose predicted labels are exactly the true ones."),
    "tree_induced_error": (
        "tree-induced error",
        "Edges between the true and the predicted label in the tree, on average over all rows: 0 if right, 2 between "
        "siblings, more across branches.",
    ),
    "symmetric_difference_loss": (
        "symmetric difference",
        "Nodes, with all ancestors, that are in the truth or in the prediction but not in both, per row.",
    ),
    "h_loss": ("H-loss, uniform", "Mistakes per row, where only the first one of a path counts, at any depth alike."),
    "h_loss_sibling": (
        "H-loss, sibling",
        "The same, where a node's cost is shared among siblings: mistakes near the root count more.",
    ),
    "h_loss_subtree": ("H-loss, subtree", "The same, where a mistake costs as much as the subtree below it is large."),
    "macro_f1_present": ("macro F1, present leaves", "Mean F1 of the leaves that have rows; rare ones count as much."),
}
SCORES = {
    "leaves, micro": "Counts of all leaves together: frequent ones count more.",
    "leaves, macro": "Mean over all leaves, each counted alike; leaves without rows count 0.",
    "all nodes, micro": "Counts of all nodes together, so that partly right paths count in part.",
    "all nodes, macro": "Mean over all nodes, each counted alike.",
    "hierarchical, sums over rows": "Ancestors shared by truth and prediction (Kiritchenko et al. 2005), all rows.",
    "hierarchical, mean of rows": "The same for each row, averaged.",
}


def measures_section(report: Report) -> str:
    """Return the tables of measures, each with its meaning; equal ones are shown once."""
    measures = "".join(
        f'<tr><td>{title}</td><td>{_number(report.metrics[key])}</td><td class="words">{meaning}</td></tr>'
        for key, (title, meaning) in MEANINGS.items()
        if key in report.metrics
    )
    seen: set[tuple[str, ...]] = set()
    scores = []
    for name, *values in report.tables()[1][1]:
        if tuple(values) in seen or set(values) == {_number(report.metrics["accuracy"])}:
            continue
        seen.add(tuple(values))
        cells = "".join(f"<td>{shown(value)}</td>" for value in values)
        scores.append(f'<tr><td>{shown(name)}</td>{cells}<td class="words">{SCORES.get(name, "")}</td></tr>')
    head = "".join(f"<th>{name}</th>" for name in ("precision", "recall", "F1"))
    return (
        '<div class="scroll"><table><thead><tr><th>measure</th><th>value</th><th class="words">what it means</th></tr>'
        f"</thead><tbody>{measures}</tbody></table></div>"
        f'<div class="scroll"><table><thead><tr><th>nodes</th>{head}<th class="words">what it means</th></tr></thead>'
        f"<tbody>{''.join(scores)}</tbody></table></div>"
    )


def _number(value: float) -> str:
    return f"{value:.2e}" if 0 < value < 0.001 else f"{value:.4f}"
