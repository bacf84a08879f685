"""The design-based answer: right by how rows were drawn, whatever the belief is.

A `Record` of the draws gives `estimates`, one a draw; intervals are made of those.
"""

from labelwise.design.effect import effect_record as effect_record
from labelwise.design.effect import effect_terms as effect_terms
from labelwise.design.foreseen import at_least as at_least
from labelwise.design.foreseen import foreseen_spread as foreseen_spread
from labelwise.design.intervals import anytime_interval as anytime_interval
from labelwise.design.intervals import log_interval as log_interval
from labelwise.design.intervals import mean_interval as mean_interval
from labelwise.design.intervals import ratio_interval as ratio_interval
from labelwise.design.multipliers import anytime_multiplier as anytime_multiplier
from labelwise.design.multipliers import multiplier as multiplier
from labelwise.design.pseudo import linearised as linearised
from labelwise.design.pseudo import r_squared as r_squared
from labelwise.design.pseudo import r_squared_gradient as r_squared_gradient
from labelwise.design.pseudo import weighted as weighted
from labelwise.design.record import Record as Record
from labelwise.design.record import Round as Round
from labelwise.design.sequence import Sequence as Sequence
from labelwise.design.sequence import estimates as estimates
from labelwise.design.skips import among_labellable as among_labellable
from labelwise.design.tails import heavy_tails as heavy_tails
