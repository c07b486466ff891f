"""Online learners: each row is predicted, then its label is revealed and the model updated."""
