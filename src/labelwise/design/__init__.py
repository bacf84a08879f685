"""The design-based answer: right by how rows were drawn, whatever the belief is.

"""

from labelwise.design.record import Record as Record
from labelwise.design.record import Round as Round
from labelwise.design.sequence import Sequence as Sequence
from labelwise.design.sequence import estimates as estimates
from labelwise.design.skips import among_labellable as among_labellable
