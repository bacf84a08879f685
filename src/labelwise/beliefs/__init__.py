"""What one may believe: `labelwise.beliefs.neural_belief("ensemble-plus", features=20)`."""

from labelwise.beliefs.base import AbstractBelief as AbstractBelief
from labelwise.beliefs.kernels import Linear as Linear
from labelwise.beliefs.kernels import OnFeatures as OnFeatures
from labelwise.beliefs.mixture import Mixture as Mixture
from labelwise.beliefs.neural.belief import NeuralBelief as NeuralBelief
from labelwise.beliefs.neural.fitting import fit_neural as fit_neural
from labelwise.beliefs.neural.last_layer import LastLayer as LastLayer
from labelwise.beliefs.neural.last_layer import fit_last_layer as fit_last_layer
from labelwise.beliefs.neural.learning import Learning as Learning
from labelwise.beliefs.neural.registry import neural_belief as neural_belief
from labelwise.beliefs.neural.storage import load_belief as load_belief
from labelwise.beliefs.neural.storage import save_belief as save_belief
