"""The learners: scikit-learn estimators, one file an algorithm, one folder a family."""
