"""How batches are chosen: `labelwise.policies.make_policy("reinforce", steps=200)`."""

from labelwise.policies.autodiff import SmoothedAutodiff as SmoothedAutodiff
from labelwise.policies.baselines import Random as Random
from labelwise.policies.constraints import Spending as Spending
from labelwise.policies.lookahead import Lookahead as Lookahead
from labelwise.policies.optimise import Training as Training
from labelwise.policies.registry import make_policy as make_policy
from labelwise.policies.reinforce import Reinforce as Reinforce
