"""The demonstration on one patient in eighty: the same commands and files, in less time."""

import pytest

SHARE, LABELLED, POOL = 80, 20, 60


@pytest.fixture
def few_patients(monkeypatch):
    """Every eightieth patient; of them fewer are labelled, and fewer to choose from."""
    from labelwise.cli import demo  # here, once type checks are hooked in
    from labelwise.datasets import support2

    every, draw = support2.load_support2(), support2.draw_support2
    few = every.iloc[::SHARE].reset_index(drop=True)
    monkeypatch.setattr(support2, "load_support2", lambda: few.copy())
    monkeypatch.setattr(demo, "load_support2", lambda: few.copy())
    fewer = lambda seed, *_, **how: draw(seed, LABELLED, POOL, **how)
    monkeypatch.setattr(demo, "draw_support2", fewer)
