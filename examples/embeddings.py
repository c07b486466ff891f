"""Dense embeddings: any transformer in front of a method; here the directions of largest variance of TF-IDF.

Run as ``python examples/embeddings.py``.
"""

from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from cladist import TextClassifier
from cladist.datasets import load_icd10cm
from cladist.features import text_features

N_TRAIN, N_TEST = 4_000, 1_000


def main() -> None:
    """Compare words with embeddings of 50 and 200 numbers, on chapters of ICD-10-CM."""
    data = load_icd10cm(level="chapter")
    step = len(data.y_train) // N_TRAIN
    texts, labels = data.texts_train[::step], data.y_train[::step]
    choices = {"words": text_features(characters=False)}
    for size in (50, 200):
        reduce = TruncatedSVD(size, random_state=0)
        choices[f"{size} numbers"] = make_pipeline(text_features(characters=False), reduce)
    for name, features in choices.items():
        model = TextClassifier("svm", data.taxonomy, features=features).fit(texts, labels)
        print(f"{name}: accuracy {model.score(data.texts_test[:N_TEST], data.y_test[:N_TEST]):.3f}")


if __name__ == "__main__":
    main()
