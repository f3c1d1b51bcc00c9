"""Which settings are tried, on how many documents and for how long; with a clock of our own."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from polyseme import XRLinear
from polyseme.tuning.candidates import draw_candidates, space_of
from polyseme.tuning.halving import Search
from polyseme.tuning.journal import Journal, Limits
from polyseme.tuning.trials import Measured, OutOfTimeError, sample_sizes

SIZES = [100, 300, 900]
CANDIDATES = [{"x": x} for x in range(40)]


@dataclass
class Clockwork:
    """Trials that take time on a clock of their own: a hundredth of a second a document.

    The larger `x` the better, but for 0, which is the best of all if `is_best_first`.
    """

    slow: dict[int, float] = field(default_factory=dict)  # times the usual, of some x
    is_best_first: bool = False
    memory: int = 10  # of x = 1, and so many times for others
    now: float = 0.0
    made: list[tuple[int, int]] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def try_out(self, parameters, n_documents, is_late):
        x = parameters["x"]
        self.made.append((x, n_documents))
        for _ in range(100):
            self.now += n_documents / 10_000 * self.slow.get(x, 1.0)
            if is_late():
                raise OutOfTimeError
        score = 99.0 if self.is_best_first and x == 0 else 50.0 + x
        return Measured(score, model_bytes=(x + 1) * n_documents)

    def estimate(self, parameters):
        self.now += 0.1
        self.made.append((parameters["x"], 0))
        return Measured(peak_bytes=self.memory * parameters["x"])

    def begins(self, parameters, n_documents, spent): ...

    def ended(self, trial): ...


def search(
    works: Clockwork,
    budget: float,
    *,
    sizes=SIZES,
    candidates=CANDIDATES,
    limits: Limits = Limits(),  # noqa: B008
    journal: Journal | None = None,
) -> tuple[Journal, str]:
    journal = Journal(None, {}) if journal is None else journal
    found = Search(candidates, sizes, works, journal, limits, budget, works.clock, works)
    return journal, found.run()


# The order of trials


def test_the_given_settings_are_tried_on_every_sample_and_on_all_documents_first():
    works = Clockwork()
    search(works, 60)
    assert works.made[:3] == [(0, 100), (0, 300), (0, 900)]


def test_the_better_half_of_a_sample_goes_on_to_the_next_one():
    works = Clockwork()
    _, note = search(works, 1000)
    of = {size: [x for x, n in works.made[3:] if n == size] for size in SIZES}
    assert of[100] == list(range(1, 40))
    assert of[300] == list(range(39, 19, -1))
    assert of[900] == list(range(39, 29, -1))
    assert note == ""


def test_few_documents_are_all_tried_at_once():
    works = Clockwork()
    search(works, 1000, sizes=[900])
    assert works.made == [(x, 900) for x in range(40)]


@pytest.mark.parametrize("budget", [35, 60, 100, 200])
def test_the_budget_is_kept_and_used(budget):
    works = Clockwork()
    journal, _ = search(works, budget)
    assert works.now == pytest.approx(journal.seconds)
    assert 0.6 * budget < works.now <= budget


def test_a_tenth_over_the_budget_a_trial_is_stopped():
    # Nothing told that this one takes so long on all documents: its trial on a sample was quick.
    works = Clockwork()
    usual = works.try_out

    def try_out(parameters, n_documents, is_late):
        works.slow = {7: 10.0} if n_documents == 900 else {}
        return usual(parameters, n_documents, is_late)

    works.try_out = try_out
    journal, _ = search(works, 60, candidates=CANDIDATES[:8])
    assert 60 * 1.1 < works.now < 60 * 1.1 + 2
    stopped = [trial for trial in journal.trials if trial.score is None]
    assert [(trial.parameters["x"], trial.n_documents) for trial in stopped] == [(7, 900)]


def test_settings_that_do_not_fit_leave_the_time_to_others():
    works = Clockwork(slow={5: 5.0})
    search(works, 80, candidates=CANDIDATES[:6])
    assert [x for x, n in works.made if n == 300] == [0, 5, 4, 3]
    assert [x for x, n in works.made if n == 900] == [0, 4]


def test_a_budget_too_small_for_the_given_settings_is_refused_with_one_that_would_do():
    works = Clockwork()
    with pytest.raises(ValueError, match=r"a budget of 5\.0 s is too small.*give at least 19s"):
        search(works, 5)
    assert works.now <= 5
    search(Clockwork(), 19)


def test_a_budget_too_small_for_any_trial_is_refused():
    works = Clockwork()
    with pytest.raises(ValueError, match="is too small: the first settings alone take more than"):
        search(works, 0.5)
    assert works.now < 0.6


def test_a_budget_for_nothing_but_the_given_settings_says_so():
    works = Clockwork()
    _, note = search(works, 16)
    assert "no other settings were tried on all documents; 35s would" in note
    _, note = search(Clockwork(), 35)
    assert note == ""


def test_samples_are_of_some_size_or_left_out():
    assert sample_sizes(270_000) == [10_000, 30_000, 90_000, 270_000]
    assert sample_sizes(40_500) == [4_500, 13_500, 40_500]
    assert sample_sizes(5_000) == [5_000]
    assert sample_sizes(18) == [18]


# Going on


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    whole = Clockwork()
    expected, _ = search(whole, 80)

    first, usual = Clockwork(), Clockwork.try_out

    def interrupted(parameters, n_documents, is_late):
        if len(first.made) == 12:
            raise KeyboardInterrupt
        return usual(first, parameters, n_documents, is_late)

    first.try_out = interrupted
    with pytest.raises(KeyboardInterrupt):
        search(first, 80, journal=Journal(tmp_path / "state", {}))
    second = Clockwork()
    journal, _ = search(second, 80, journal=Journal(tmp_path / "state", {}))
    assert first.made[:12] + second.made == whole.made
    assert [t.parameters for t in journal.trials] == [t.parameters for t in expected.trials]
    assert journal.seconds == pytest.approx(whole.now)


def test_a_search_that_is_over_makes_no_trial_again_and_goes_on_with_more_time(tmp_path):
    first = Clockwork()
    search(first, 60, journal=Journal(tmp_path / "state", {}))
    again = Clockwork()
    search(again, 60, journal=Journal(tmp_path / "state", {}))
    assert again.made == []
    longer = Clockwork()
    search(longer, 120, journal=Journal(tmp_path / "state", {}))
    assert longer.made
    assert first.now + longer.now <= 120


# Limits


def test_settings_beyond_the_memory_are_not_trained_on_larger_samples():
    works = Clockwork()
    journal, _ = search(works, 1000, limits=Limits(memory=300))
    assert max(x for x, n in works.made if n > 100) == 30
    out = [trial for trial in journal.trials if (trial.peak_bytes or 0) > 300]
    assert out
    assert all(trial.n_documents == 0 for trial in out)


def test_the_first_settings_within_the_memory_show_what_trials_cost():
    works = Clockwork()
    candidates = [{"x": 39}, {"x": 38}, {"x": 2}, {"x": 3}]
    search(works, 1000, limits=Limits(memory=300), candidates=candidates)
    assert [x for x, n in works.made if n == 900] == [2, 3]


def test_no_settings_within_the_memory_are_a_sentence():
    with pytest.raises(ValueError, match="stays within the limits of memory"):
        search(Clockwork(), 1000, limits=Limits(memory=5), candidates=CANDIDATES[1:])


def test_settings_whose_model_will_be_too_large_are_left_behind_on_the_sample():
    works = Clockwork()
    search(works, 1000, limits=Limits(model_size=20 * 900))
    assert max(x for x, n in works.made if n == 300) == 19


# Candidates


def test_the_same_seed_draws_the_same_candidates_and_more_of_them_begin_alike():
    model = XRLinear()
    space = space_of(model, None, ())
    some = draw_candidates(model, space, 20, seed=3)
    assert some == draw_candidates(model, space, 20, seed=3)
    assert some == draw_candidates(model, space, 30, seed=3)[:20]
    assert some != draw_candidates(model, space, 20, seed=4)


def test_the_given_settings_are_first_known_ones_follow_and_none_is_twice():
    model = XRLinear(copies=3, C=0.7)
    space = space_of(model, None, ())
    found = draw_candidates(model, space, 50, seed=0)
    assert found[0] == {name: model.get_params()[name] for name in space}
    assert found[1] == {**found[0], "min_weight": 0.05}
    assert len({repr(candidate) for candidate in found}) == 50


def test_parameters_that_are_fixed_stay_in_every_candidate():
    model = XRLinear(copies=2)
    space = space_of(model, None, ("copies", "training_rows"))
    assert not {"copies", "training_rows"} & set(space)
    assert all(set(one) == set(space) for one in draw_candidates(model, space, 30, seed=0))


def test_a_small_space_is_tried_whole():
    model = XRLinear(C=1.0)
    space = space_of(model, {"C": [0.5, 1.0], "merge": ["sum", "max"]}, ())
    found = draw_candidates(model, space, 64, seed=0)
    assert sorted(map(repr, found)) == sorted(
        repr({"C": C, "merge": merge}) for C in (0.5, 1.0) for merge in ("sum", "max")
    )


@pytest.mark.parametrize(
    ("space", "fixed", "words"),
    [
        ({"D": [1]}, (), "XRLinear has no parameter 'D'"),
        (None, ("D",), "XRLinear has no parameter 'D'"),
        ({"C": "123"}, (), "the space of C must be a list of values"),
        ({"C": []}, (), "the space of C must be a list of values"),
        ({"C": [1.0, -1.0]}, (), "C must be a number above 0"),
        ({"merge": [("sum",)]}, (), "a value of merge must be a number or a text"),
        ({"merge": ["sum"]}, (), "there is nothing to tune"),
        ({"C": [0.5]}, ("C",), "there is nothing to tune"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused(space, fixed, words):
    with pytest.raises(ValueError, match=words):
        space_of(XRLinear(), space, fixed)
