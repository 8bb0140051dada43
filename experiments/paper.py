"""The numbers of the paper, for comparison. Times are in seconds, on its authors' desktop computer."""

from collections.abc import Mapping, Sequence

METHODS = ("KronSVM", "KronRidge", "SGD hinge", "SGD logistic", "KNN")
DATA = ("Ki", "GPCR", "IC", "E", "Checker", "Checker+")

AUC = {
    "KronSVM": (0.77, 0.62, 0.68, 0.79, 0.73, 0.80),
    "KronRidge": (0.75, 0.62, 0.69, 0.72, 0.71, 0.79),
    "SGD hinge": (0.76, 0.60, 0.63, 0.72, 0.50, 0.50),
    "SGD logistic": (0.76, 0.67, 0.64, 0.72, 0.50, 0.50),
    "KNN": (0.71, 0.63, 0.68, 0.70, 0.68, 0.79),
}
SECONDS = {
    "KronSVM": (298, 7, 14, 191, 371, 89500),
    "KronRidge": (68, 4, 8, 60, 188, 45150),
    "SGD hinge": (57, 14, 19, 41, 17, 130),
    "SGD logistic": (63, 19, 25, 57, 17, 128),
    "KNN": (5554, 43, 267, 26457, 46, 1756),
}
# LIBSVM and KronSVM in the paper's text: edges, and seconds of training or of as many predictions.
KI_TRAINING = {"edges": 42_000, "KronSVM": 25, "LIBSVM": 15 * 60}
CHECKER_TRAINING = {"edges": 64_000, "KronSVM": 23 * 60, "LIBSVM": 27 * 3600}
CHECKER_PREDICTION = {"edges": 64_000, "vec trick": 7, "LIBSVM": 93 * 60}
CHECKER_PLUS_PREDICTION = {"edges": 10_240_000, "vec trick": 7 * 60}
KI_SPEEDUP = 1000  # speedup of predictions by the vec trick


def of(table: Mapping[str, Sequence[float]], method: str, data: str) -> float:
    """Return a number from a table."""
    return table[method][DATA.index(data)]
