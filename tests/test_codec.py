"""What is stored is read back as it was; what cannot be read is refused in one sentence."""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.files import load_belief, save_belief
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF, AbstractScaledKernel, Matern52
from labelwise.beliefs.means import ConstantMean, PredictorMean
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.stored import build_belief, describe_prior
from labelwise.codec import decode, encode
from labelwise.policies.registry import describe_policy, make_policy

# Made by the format before this one: see what each belief says in predictions.json.
STORED = Path(__file__).parent / "beliefs" / "stored"
SAID = json.loads((STORED / "predictions.json").read_text())
DESCRIBED = json.loads((STORED / "descriptions.json").read_text())
X = np.array([[0.1, -1.0], [0.5, 0.3], [-0.7, 0.2], [1.2, -0.4]])
Y = np.array([0.3, -0.1, 0.8, 0.2])
AT = np.array([[0.0, 0.0], [0.4, -0.2], [-1.0, 1.5]])


@eqx.filter_jit
def says(belief, at, key):
    return {"mean": belief.mean(at), "sample": belief.sample(key, at, 2)}


@eqx.filter_jit
def after(belief, x, y):
    return belief.condition(x, y)


def assert_says(belief, name):
    found = says(belief, AT, jax.random.key(1))
    for what, expected in SAID[name].items():
        assert_allclose(found[what], expected, rtol=1e-6, atol=1e-6)  # networks have 32 bits


@pytest.mark.parametrize(
    "name", ["ensemble-plus", "ensemble", "dropout", "hypermodel", "epinet"]
)
def test_files_of_the_first_format_hold_the_same_belief(name, tmp_path):
    belief = load_belief(STORED / f"{name}.npz")
    assert_says(belief, name)
    save_belief(tmp_path / "again.npz", belief)
    again = load_belief(tmp_path / "again.npz")
    assert jax.tree.structure(again) == jax.tree.structure(belief)
    for mine, theirs in zip(jax.tree.leaves(again), jax.tree.leaves(belief), strict=True):
        assert mine.dtype == theirs.dtype
        assert_array_equal(*(_numbers(leaf) for leaf in (mine, theirs)))


def _numbers(leaf):
    random = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if random else leaf


@pytest.mark.parametrize("name", DESCRIBED["beliefs"])
def test_priors_that_campaigns_keep_are_the_same_belief(name):
    stored = DESCRIBED["beliefs"][name]
    labels = (Y > 0.1).astype(float) if name == "classifier" else Y
    assert_says(after(build_belief(stored), X, labels), name)


@pytest.mark.parametrize("stored", DESCRIBED["policies"], ids=lambda stored: stored["name"])
def test_policies_that_campaigns_keep_are_described_as_before(stored):
    policy, before = make_policy(stored), dict(stored)
    if before.pop("centred", False):  # has another name since
        before["relaxation"] = "centred"
    assert describe_policy(policy).items() >= before.items()
    assert make_policy(describe_policy(policy)) == policy


def processes():
    kernels = [Matern52([1.0, 2.0], 0.8), Matern52([2.0, 1.5], 0.5)]
    return [GaussianProcess(kernel, 0.1, PredictorMean(0, 0.1, 0.9)) for kernel in kernels]


BELIEFS = {
    "process": lambda: processes()[0],
    "classifier": lambda: GaussianProcessClassifier(RBF(0.7), ConstantMean(-0.3), "probit"),
    "mixture": lambda: Mixture.of(processes(), [0.1, 0.2]),
}


@pytest.mark.parametrize("name", BELIEFS)
def test_every_belief_can_be_saved_with_what_it_has_learnt(name, tmp_path):
    labels = (Y > 0.1).astype(float) if name == "classifier" else Y
    belief = after(BELIEFS[name](), X, labels)
    save_belief(tmp_path / "belief.npz", belief)
    again = load_belief(tmp_path / "belief.npz")
    assert eqx.filter_jit(eqx.tree_equal)(again, belief)
    assert type(again) is type(belief)


def test_a_description_is_built_by_its_class_which_checks_it(refused):
    mean = decode(json.loads(json.dumps(encode(PredictorMean(1, 0.2, 0.5)))))
    assert (mean.column, float(mean.intercept), float(mean.slope)) == (1, 0.2, 0.5)
    with refused(where="kernel variance"):
        decode({"name": "rbf", "length_scale": 1.0, "variance": -1.0})


class Periodic(AbstractScaledKernel):
    def __call__(self, x, other):
        return x @ other.T

    def diagonal(self, x):
        return x[:, 0]


@dataclass(frozen=True)
class Stranger:
    number: int


@pytest.mark.usefixtures("unchecked")
def test_what_has_no_name_cannot_be_stored(refused):
    with refused(where="kernel", what="A Periodic cannot be stored"):
        describe_prior(GaussianProcess(Periodic(), 0.1))
    with refused(where="", what="A Stranger cannot be stored"):
        encode(Stranger(3))
    with refused(where="", what="A function cannot be stored"):
        encode({"how": lambda: 3})


@pytest.mark.parametrize(
    ("stored", "where"),
    [
        ({"name": "sinusoid"}, "kernel"),
        ({"name": ["rbf"]}, "kernel"),
        ({"name": "predictor", "column": 1}, "mean"),
        ({"name": "rbf", "length_scale": 1.0, "variance": 1.0, "period": 2.0}, "kernel"),
    ],
)
def test_a_description_that_cannot_be_read_is_refused(refused, stored, where):
    with refused(where=where):
        decode(stored, where)


@pytest.mark.parametrize("gone", ["kernel", "length_scale", "mean", "noise"])
def test_a_prior_that_lacks_something_is_refused(refused, gone):
    stored = {key: DESCRIBED["beliefs"]["gp"][key] for key in DESCRIBED["beliefs"]["gp"]}
    del stored[gone]
    with refused(where="belief", what=f"The stored prior has no '{gone}'"):
        build_belief(stored)


def test_a_damaged_file_is_refused(refused, tmp_path):
    path = tmp_path / "belief.npz"
    for broken in (
        {"format": 2},
        {"format": 1, "network": "Ensemble"},
        {"format": 9},
        {"format": 2, "record": [1]},
    ):
        np.savez(path, header=np.array(json.dumps(broken)))
        with refused(where=str(path)):
            load_belief(path)
    save_belief(path, processes()[0])
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name in sorted(parts)[1:]:
            file.writestr(name, parts[name])
    with refused(where=str(path), what="What is stored cannot be read: there is no array_0"):
        load_belief(path)
    path.write_bytes(path.read_bytes()[:-30])
    with refused(where=str(path)):
        load_belief(path)
