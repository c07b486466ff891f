"""Solvers for learners over all consistent labellings.

The joint feature of a row and a labelling with signs y is Φ(x, y) = y ⊗ φ(x), so that a weight matrix W scores
⟨W, Φ(x, y)⟩ = Σ_v y_v a_v with node scores a = W φ(x). An `Expansion` is such a W as a sum of joint features, a
`ScoreCache` the scores of the rows under it, kept up to date, with their margins against the runner-up; both are parts
of `PerceptronState`. `ascend` closes the duality gap of a large-margin problem row by row; `LinearLabellings` and
`KernelLabellings` are its dual over labellings, `PathDual` over single paths; `cutting_plane` solves both by working
sets.
"""
