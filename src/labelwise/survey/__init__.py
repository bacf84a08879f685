"""The design-based answer: right by how rows were drawn, whatever the belief is.

A `DrawRecord` of the draws gives `estimates`, one a draw; intervals are made of those.
"""

from labelwise.survey.aipw import Sequence as Sequence
from labelwise.survey.aipw import estimates as estimates
from labelwise.survey.draws import DrawRecord as DrawRecord
from labelwise.survey.draws import RoundDraws as RoundDraws
from labelwise.survey.effects import effect_record as effect_record
from labelwise.survey.effects import effect_terms as effect_terms
from labelwise.survey.intervals import anytime_interval as anytime_interval
from labelwise.survey.intervals import log_interval as log_interval
from labelwise.survey.intervals import mean_interval as mean_interval
from labelwise.survey.intervals import ratio_interval as ratio_interval
from labelwise.survey.linearise import linearised as linearised
from labelwise.survey.multipliers import anytime_multiplier as anytime_multiplier
from labelwise.survey.multipliers import multiplier as multiplier
from labelwise.survey.skips import among_labellable as among_labellable
from labelwise.survey.tails import heavy_tails as heavy_tails
from labelwise.survey.variance_floor import at_least as at_least
from labelwise.survey.variance_floor import foreseen_spread as foreseen_spread
