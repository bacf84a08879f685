"""What one may want to know: `labelwise.estimands.Recall(x, predictor, threshold=0.3)`."""

from labelwise.estimands.base import AbstractEstimand as AbstractEstimand
from labelwise.estimands.classes import ClassEstimand as ClassEstimand
from labelwise.estimands.classes import ClassShare as ClassShare
from labelwise.estimands.classes import MulticlassAccuracy as MulticlassAccuracy
from labelwise.estimands.classes import MulticlassLogLoss as MulticlassLogLoss
from labelwise.estimands.classification import Accuracy as Accuracy
from labelwise.estimands.classification import BrierScore as BrierScore
from labelwise.estimands.classification import ErrorRate as ErrorRate
from labelwise.estimands.classification import F1Score as F1Score
from labelwise.estimands.classification import FalsePositiveRate as FalsePositiveRate
from labelwise.estimands.classification import LogLoss as LogLoss
from labelwise.estimands.classification import Precision as Precision
from labelwise.estimands.classification import Recall as Recall
from labelwise.estimands.classification import Specificity as Specificity
from labelwise.estimands.combine import Several as Several
from labelwise.estimands.comparison import difference as difference
from labelwise.estimands.custom import FunctionEstimand as FunctionEstimand
from labelwise.estimands.effect import AverageTreatmentEffect as AverageTreatmentEffect
from labelwise.estimands.loss import MeanAbsoluteError as MeanAbsoluteError
from labelwise.estimands.loss import MeanError as MeanError
from labelwise.estimands.loss import MeanSquaredError as MeanSquaredError
from labelwise.estimands.loss import RSquared as RSquared
from labelwise.estimands.moments import moments_of as moments_of
from labelwise.estimands.outcome import MeanOutcome as MeanOutcome
from labelwise.estimands.smoothing import SmoothedRecall as SmoothedRecall
