"""Every metric in words: what reports call it, what it is, and what it needs.

Nothing heavy is loaded to know them; the catalogue of estimands takes its words from here.
"""

from typing import NamedTuple


class Words(NamedTuple):
    """Of one metric."""

    title: str
    about: str  # in a sentence
    labels: str  # which it needs
    prediction: str = ""  # which it needs, if any
    option: str = ""  # of the question that it depends on, if any

    @property
    def needs(self) -> str:
        """All that it needs, in one line."""
        parts = [f"labels that are {self.labels}", self.prediction]
        told = " and ".join(part for part in parts if part)
        return f"{told}{OPTIONS[self.option]}" if self.option in OPTIONS else told


OPTIONS = {  # that not all metrics of their kind have
    "tolerance": ", and --set question.tolerance=0.5 or the like",
    "quantile": " (--set question.quantile=0.9 for another than the median)",
}
ANY, BINARY, NUMBERS, CLASSES = "numbers or 0/1", "0/1", "numbers", "0/1 or classes"
LEGEND = (
    "0/1: or two words (--positive names the one that is a 1). Scores are called positive from "
    "--threshold on (0.5).",
    "Classes: of several, the prediction is the class, or a chance for every class "
    "(--prediction 'p_*').",
    "Your own: a function of (label, prediction), as --metric metrics.py:cost.",
)
PREDICTION, SCORE, CHANCE = "a prediction", "a score", "a probability as the prediction"
SAID, CHANCES = "a score or class", "a probability, or one for every class"
TREATED = "a treatment column (--treatment z)"

METRICS = {
    "mse": Words(
        "mean squared error",
        "The expected squared distance of a label from the prediction: of 0/1 labels, the "
        "Brier score.",
        *(ANY, PREDICTION),
    ),
    "mae": Words(
        "mean absolute error",
        "The expected distance of a label from the prediction, label noise included.",
        *(ANY, PREDICTION),
    ),
    "median-error": Words(
        "median absolute error",
        "The distance of a label from the prediction that half of all rows stay below.",
        *(NUMBERS, PREDICTION),
    ),
    "within": Words(
        "share within",
        "The share of labels that are no further from the prediction than the tolerance.",
        *(ANY, PREDICTION, "tolerance"),
    ),
    "quantile-loss": Words(
        "quantile loss",
        "The pinball loss of predictions that are to be a quantile of the label: the median, "
        "or the one that question.quantile says.",
        *(ANY, PREDICTION, "quantile"),
    ),
    "bias": Words(
        "bias (mean of prediction minus label)",
        "The predictor's bias, prediction minus label: positive where it predicts too much.",
        *(ANY, PREDICTION),
    ),
    "r2": Words(
        "R²",
        "1 - MSE / Var[label]: the share of the labels' variance that the predictor explains. "
        "The variance is over the target: that of E[label] plus that of labels given f.",
        *(ANY, PREDICTION),
    ),
    "mean": Words(
        "mean outcome",
        "The average label in the target population; of 0/1 labels, the share of ones.",
        ANY,
    ),
    "positive-rate": Words(
        "share of positives", "The share of ones; of several classes, of each.", CLASSES
    ),
    "accuracy": Words(
        "accuracy",
        "The chance that a row is classified rightly.",
        *(CLASSES, SAID, "threshold"),
    ),
    "balanced-accuracy": Words(
        "balanced accuracy",
        "The mean of recall and specificity: the chance of being right if ones and zeros were "
        "as many.",
        *(CLASSES, SAID, "threshold"),
    ),
    "error-rate": Words(
        "error rate",
        "The chance that a row is classified wrongly.",
        *(CLASSES, SAID, "threshold"),
    ),
    "recall": Words(
        "recall",
        "The share of ones that are called positive.",
        *(CLASSES, SAID, "threshold"),
    ),
    "precision": Words(
        "precision",
        "The share of ones among rows called positive; how many these are is known.",
        *(CLASSES, SAID, "threshold"),
    ),
    "f1": Words(
        "F1 score",
        "The harmonic mean of precision and recall: 2 TP / (called positive + ones).",
        *(CLASSES, SAID, "threshold"),
    ),
    "mcc": Words(
        "Matthews correlation",
        "The correlation of labels with who is called positive, from -1 to 1.",
        *(BINARY, SCORE, "threshold"),
    ),
    "macro-recall": Words(
        "macro-averaged recall",
        "Recall on average over classes.",
        *(CLASSES, SAID, "threshold"),
    ),
    "macro-precision": Words(
        "macro-averaged precision",
        "Precision on average over classes.",
        *(CLASSES, SAID, "threshold"),
    ),
    "macro-f1": Words(
        "macro-averaged F1", "F1 on average over classes.", *(CLASSES, SAID, "threshold")
    ),
    "kappa": Words(
        "Cohen's kappa",
        "Agreement beyond what chance would give with the same shares of classes.",
        *(CLASSES, SAID, "threshold"),
    ),
    "specificity": Words(
        "specificity",
        "The share of zeros that are called negative.",
        *(BINARY, SCORE, "threshold"),
    ),
    "false-positive-rate": Words(
        "false-positive rate",
        "The share of zeros that are called positive.",
        *(BINARY, SCORE, "threshold"),
    ),
    "auc": Words(
        "AUC",
        "The chance that a one scores higher than a zero, ties half: the area under the ROC "
        "curve.",
        *(BINARY, SCORE),
    ),
    "average-precision": Words(
        "average precision",
        "Precision on average over thresholds, each weighed by the recall it adds.",
        *(BINARY, SCORE),
    ),
    "brier": Words(
        "Brier score",
        "The mean squared distance of a 0/1 label from its predicted probability.",
        *(CLASSES, CHANCES),
    ),
    "log-loss": Words(
        "log-loss",
        "Minus the mean log-probability that the predictor gave to the label.",
        *(CLASSES, CHANCES),
    ),
    "ece": Words(
        "expected calibration error",
        "How far the share of ones is from the predicted probability, on average over rows in "
        "ten bins of equal width.",
        *(BINARY, CHANCE),
    ),
    "calibration-slope": Words(
        "calibration slope",
        "The slope of the labels' log-odds in the predicted ones: 1 is right, below 1 the "
        "predictions are too extreme.",
        *(BINARY, CHANCE),
    ),
    "calibration-intercept": Words(
        "calibration intercept",
        "What is to be added to the predicted log-odds: 0 is right, above 0 they are too low.",
        *(BINARY, CHANCE),
    ),
    "ate": Words(
        "average treatment effect",
        "The mean of what treatment adds to the label.",
        *(ANY, TREATED),
    ),
    "att": Words(
        "average treatment effect on the treated",
        "The same over the rows of the target that are treated.",
        *(ANY, TREATED),
    ),
}

# Of labels that are one of several classes alone, and of two verdicts a row.
JUDGED = "two verdicts a row (--second-label theirs)"
MORE = {
    "confusion": Words(
        "confusion matrix",
        "The share of all rows that are of a class and called a class, for every two of them.",
        *(CLASSES, SAID),
    ),
    "win-rate": Words("win rate", "The share of rows that the first model wins.", JUDGED),
    "tie-rate": Words("share of ties", "The share of rows that nobody wins.", JUDGED),
    "difference": Words(
        "difference of means", "The first model's mean verdict minus the second's.", JUDGED
    ),
}

# What else people call them.
SYNONYMS = {
    **dict.fromkeys(("auroc", "roc-auc", "rocauc", "area-under-curve", "gini"), "auc"),
    **dict.fromkeys(("ap", "pr-auc", "auprc", "aupr", "prauc"), "average-precision"),
    **dict.fromkeys(("matthews", "phi", "matthews-correlation"), "mcc"),
    **dict.fromkeys(("rmse", "squared-error"), "mse"),
    **dict.fromkeys(("medae", "median", "median-absolute-error"), "median-error"),
    **dict.fromkeys(("tpr", "sensitivity", "true-positive-rate", "hit-rate"), "recall"),
    **dict.fromkeys(("tnr", "true-negative-rate", "selectivity"), "specificity"),
    **dict.fromkeys(("fpr", "false-alarm-rate", "fall-out"), "false-positive-rate"),
    **dict.fromkeys(("ppv", "positive-predictive-value"), "precision"),
    **dict.fromkeys(("f-score", "f-measure", "dice"), "f1"),
    **dict.fromkeys(("cross-entropy", "nll", "deviance", "logloss"), "log-loss"),
    **dict.fromkeys(("calibration", "calibration-error"), "ece"),
    **dict.fromkeys(("prevalence", "base-rate", "share-of-positives"), "positive-rate"),
    **dict.fromkeys(("pinball", "pinball-loss"), "quantile-loss"),
    **dict.fromkeys(("tolerance", "share-within"), "within"),
    **dict.fromkeys(("effect", "cate", "treatment-effect"), "ate"),
}
