"""The learners: scikit-learn estimators, one file per algorithm or pair of algorithms, one folder per family."""
