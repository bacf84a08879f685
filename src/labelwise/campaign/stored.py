"""What a campaign's store holds, as values: settings, tables, state, and what reasons."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from labelwise.campaign.status import WHOLE, odd_clock
from labelwise.campaign.store.contract import AbstractStore
from labelwise.errors import InvalidInput, StoreError
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import State

# What reasons needs JAX, and tables pandas: both start with the first method that needs them,
# so that labels are told, and the status is read, without them.
if TYPE_CHECKING:
    import pandas as pd

    from labelwise.evaluation.data import Arrays
    from labelwise.evaluation.evaluation import Evaluation
    from labelwise.evaluation.joined import Joined
    from labelwise.evaluation.round import Round
    from labelwise.evaluation.survey_weights import Population
    from labelwise.evaluation.two_phase import Mended
    from labelwise.pools.first_phase import FirstPhase
    from labelwise.tables.encoder import Encoder


class StoredCampaign:
    """A campaign that is read, and not written."""

    def __init__(self, store: AbstractStore):
        self.store = store
        self.spec = Spec.from_dict(store.document("settings"))
        self._latest: Evaluation | None = None
        # The pool with rows that the last plan found among all, which have not joined yet.
        self._beside: pd.DataFrame | None = None

    @property
    def path(self) -> Path:
        """The campaign's folder."""
        if self.store.folder is None:
            raise InvalidInput(
                f"The campaign is in no folder but in {self.store.place}",
                "say where files should go",
                where="path",
            )
        return self.store.folder

    def odd_clock(self) -> str | None:
        """What is odd about the time, in a sentence; None if nothing."""
        return odd_clock(self.store.now(), self.store.state().latest)

    def evaluation(self, state: State | None = None) -> "Evaluation":
        """The campaign as a value, as it stands now: what reasons, without the folder."""
        from labelwise.evaluation.evaluation import Evaluation
        from labelwise.evaluation.fit import usable_fit

        state = self.state() if state is None else state
        self._see(state)
        if self._latest is not None and self._latest.state == state:
            return self._latest  # with all that it has computed
        rounds = tuple(round_ for round_ in self.rounds() if round_.number <= state.round)
        self._latest = Evaluation(
            spec=self.spec,
            arrays=self._arrays,
            shift=self.store.document("shift"),
            feature_names=self.feature_names,
            state=state,
            rounds=rounds,
            fitted=usable_fit(self.store.fit(state.fingerprint()), self.spec.belief),
            known_population=self._population,
            phase=self.phase,
            mended=self._mended,
        )
        return self._latest

    def state(self) -> State:
        """What has become of every row, from the log."""
        return self.store.state().at(self.store.now(), self.spec.limits.expiry_days)

    def rounds(self) -> list["Round"]:
        """Every committed ask, with what its plan knew and expected."""
        return self.store.rounds()

    def _see(self, state: State) -> None:
        """Forget what rests on the pool's rows, if others have joined since it was read."""
        if "joined" not in self.__dict__:
            return
        known = self._first_rows + sum(len(one.ids) for one in self.joined)
        if known != state.size:
            for name in ("joined", "tables", "_arrays", "phase", "_population", "_mended"):
                self.__dict__.pop(name, None)

    @cached_property
    def _first_rows(self) -> int:
        """Of the pool, when the campaign was made."""
        return self.store.document("rows")["pool"]

    @cached_property
    def joined(self) -> tuple["Joined", ...]:
        """Rows of a larger pool that joined the sample of it, round by round."""
        if WHOLE not in self.store.document("rows"):
            return ()
        return tuple(one.joined for one in self.rounds() if one.joined is not None)

    @cached_property
    def tables(self) -> dict[str, "pd.DataFrame"]:
        """The three tables, as they were when the campaign was made; rows that joined last."""
        from labelwise.campaign.export import read_table, with_joined

        read = lambda name: read_table(self.store, name)
        pool = with_joined(read("pool"), self.joined)
        tables = {"labelled": read("labelled"), "pool": pool}
        target = self.spec.target
        return tables | {"target": tables["pool"] if target == "pool" else read("target")}

    def pool_with(self, rows: Sequence[int]) -> "pd.DataFrame":
        """The pool table, with rows that a plan has just found where it speaks of them."""
        pool, beside = self.tables["pool"], self._beside
        return pool if beside is None or max(rows, default=-1) < len(pool) else beside

    @cached_property
    def encoder(self) -> "Encoder":
        from labelwise.tables.encoder import Encoder

        return Encoder.from_dict(self.store.document("encoder"))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Of the belief's features, the treatment last."""
        from labelwise.evaluation.prepare import feature_names

        return feature_names(self.spec, self.encoder)

    @cached_property
    def _arrays(self) -> "Arrays":
        from labelwise.evaluation.question import Inquiry

        inquiry = Inquiry.of(self.spec)
        return inquiry.arrays(self.tables, self.spec, self.encoder, phase=self.phase)

    @cached_property
    def phase(self) -> "FirstPhase | None":
        """How the pool's rows were drawn, where they are a sample of a larger pool."""
        from labelwise.pools.first_phase import FirstPhase

        if WHOLE not in self.store.document("rows"):
            return None
        phase = FirstPhase.from_dict(self.store.document("first_phase"))
        return phase.with_joined([stratum for one in self.joined for stratum in one.strata])

    @cached_property
    def _population(self) -> "Population | None":
        """What pool rows stand for; of campaigns made before it was kept, not known here."""
        from labelwise.campaign.choosing import widened
        from labelwise.evaluation.survey_weights import Population

        rows = sum(len(one.ids) for one in self.joined)
        with suppress(StoreError):
            found = Population.from_dict(self.store.document("population"))
            return widened(found, self.spec.target, rows)
        return None

    @cached_property
    def _mended(self) -> "Mapping[str, Mended]":
        """Means over every row of a larger pool, if the campaign was refined."""
        from labelwise.campaign.mended import read_mended

        phase = self.phase
        return {} if phase is None else read_mended(self.store, len(phase.stratum))
