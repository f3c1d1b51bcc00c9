"""`python -m benchmarks.methods`: its rows, what it keeps, and the tables made of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import __main__ as harness
from benchmarks import methods, peers
from benchmarks.methods_rows import COPIES, FAMILIES, PEER, ROWS, chosen_rows
from benchmarks.methods_table import BEGIN, END, tables
from benchmarks.one_vs_rest import labels_of_part
from benchmarks.processes import MeasurementError
from benchmarks.systems import make_system
from polyseme import metrics
from tests.small_data import topics

FIGURES = {
    "train_s": 2.0,
    "phase_s": {"all": 1.0},
    "disk_mb": 3.0,
    "one_p50_us": 40.0,
    **dict.fromkeys(methods.KEPT, 50.0),
}
MACHINE = {"processor": "a processor", "n_cores": 1}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    small = topics()
    for name, matrix in {
        "X.trn": small.X,
        "Y.trn": small.Y,
        "X.tst": small.X_test,
        "Y.tst": small.Y_test,
    }.items():
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(matrix))
    return folder


@pytest.fixture
def bench(data, tmp_path, monkeypatch):
    """Run the program with figures that are made up; `bench.asked` are the rows it measured."""
    asked, failing = [], set()

    def measure(row, matrices, options):
        asked.append(row.name)
        if row.name in failing:
            raise MeasurementError("exit code 1")
        return {**FIGURES, "train_s": FIGURES["train_s"] * len(asked)}

    monkeypatch.setattr(methods, "measure_row", measure)
    monkeypatch.setattr(harness, "describe_machine", lambda options: MACHINE)
    monkeypatch.setattr(peers, "ensure", lambda folder, wanted, picture: list(wanted))

    def run(*words):
        asked.clear()
        places = ["--output", tmp_path / "out", "--results", tmp_path]
        try:
            methods.main([*map(str, ["--data", data, *places, *words])])
        except SystemExit as end:
            return end.code
        return 0

    run.asked, run.failing, run.file = asked, failing, tmp_path / "methods-small.json"
    return run


def recorded(**rows):
    """Return made-up results: for each row its run, and medians on top of the usual ones."""
    return {
        "data": {
            "name": "made-up",
            "is_whole": True,
            "n_documents": 1000,
            "n_labels": 50,
            "n_features": 70,
        },
        "failures": {},
        "rows": {
            name.replace("_", "-"): {
                "run": run,
                "machine": MACHINE,
                "threads": 2,
                "seed": 0,
                "runs": [FIGURES],
                "medians": {**FIGURES, **medians},
            }
            for name, (run, medians) in rows.items()
        },
    }


def test_every_method_has_its_rows_and_a_system_for_each():
    assert {row.family for row in ROWS.values()} == set(FAMILIES)
    for row in ROWS.values():
        module, _, settings, package = row.system
        assert module
        assert package in {"polyseme", *peers.PEERS}
        if row.variant == COPIES:
            assert (settings["copies"], settings["rounds"]) == (2, 1)
    names = [row.name for row in chosen_rows(["xr-linear"], "any")]
    assert names == ["xr-linear", "xr-linear-copies2", "xr-linear-defaults", "libpecos"]


def test_rows_that_cannot_be_had_are_left_out():
    assert not ROWS["one-vs-rest-copies2"].is_available
    names = [row.name for row in chosen_rows(None, "tibkat-core")]
    assert "one-vs-rest" in names
    assert "one-vs-rest-copies2" not in names
    assert "liblinear-part" not in names
    assert "liblinear-part" in [row.name for row in chosen_rows(None, "eurlex57k")]


@pytest.mark.parametrize(
    "name", [row.name for row in ROWS.values() if row.variant != PEER and row.is_available]
)
def test_settings_of_a_row_are_understood_by_its_method(name):
    system = make_system(name, {})
    given = system.estimator(**system.settings).get_params()
    assert given["random_state"] == 0
    if "copies" in given and name != "xr-linear-defaults":
        assert given["ordering"] == "product"
        assert given["copies"] == (2 if ROWS[name].variant == COPIES else 1)


def test_rows_and_data_that_cannot_be_are_refused(bench, tmp_path, capsys):
    assert bench("--only", "xr-linear,best") == 2
    assert "unknown row best" in capsys.readouterr().err
    assert bench("--data", tmp_path / "nowhere") == 2
    assert "lacks X.trn.npz" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        methods.main([])
    assert "give --data FOLDER" in capsys.readouterr().err


def test_rows_of_a_method_and_its_peer_take_turns(bench):
    assert bench("--only", "plt", "--repeat", "2") == 0
    assert bench.asked == ["plt", "plt-copies2", "napkinxc-plt"] * 2
    rows = json.loads(bench.file.read_text())["rows"]
    assert [len(row["runs"]) for row in rows.values()] == [2, 2, 2]
    assert rows["plt"]["medians"]["train_s"] == 2.0 * (1 + 4) / 2
    assert rows["plt"]["machine"] == MACHINE
    assert rows["plt"]["seed"] == 0
    assert rows["plt-copies2"]["settings"]["copies"] == 2
    assert len({row["run"] for row in rows.values()}) == 1


def test_a_resumed_run_keeps_what_is_there_and_measures_the_rest(bench):
    bench.failing.add("napkinxc-plt")
    assert bench("--only", "plt") == 0
    before = json.loads(bench.file.read_text())
    assert list(before["failures"]) == ["napkinxc-plt"]
    bench.failing.clear()
    assert bench("--only", "plt,xr-linear", "--resume") == 0
    assert bench.asked == [
        "napkinxc-plt",
        *(f"xr-linear{n}" for n in ("", "-copies2", "-defaults")),
        "libpecos",
    ]
    after = json.loads(bench.file.read_text())
    assert after["rows"]["plt"] == before["rows"]["plt"]
    assert after["rows"]["napkinxc-plt"]["run"] == before["run"]
    assert not after["failures"]


def test_a_new_run_measures_the_chosen_rows_again_and_leaves_the_others(bench):
    assert bench("--only", "plt,parabel-1") == 0
    before = json.loads(bench.file.read_text())["rows"]
    assert bench("--only", "plt") == 0
    assert bench.asked == ["plt", "plt-copies2", "napkinxc-plt"]
    after = json.loads(bench.file.read_text())["rows"]
    assert after["parabel-1"] == before["parabel-1"]
    assert list(after) == list(before)


def test_damaged_results_and_those_of_other_data_are_refused(bench, capsys):
    bench.file.write_text("{")
    assert bench("--only", "plt") == 2
    assert "is damaged" in capsys.readouterr().err
    bench.file.write_text(json.dumps(recorded()))
    assert bench("--only", "plt") == 2
    assert "is about other data" in capsys.readouterr().err


def test_tables_say_what_was_recorded_and_leave_the_rest_empty():
    text = tables(
        recorded(
            plt=("first", {"P@5": 40.0}),
            plt_copies2=("first", {"P@5": 42.5, "train_s": 5.0, "disk_mb": 4.5}),
            napkinxc_plt=("first", {"train_s": 20.0, "one_p50_us": 200.0}),
            one_vs_rest=("first", {}),
        )
    )
    assert "| PLT, plain | 50.00 | 50.00 | 40.00 | 50.00 | 50.00 | 50.00 | 2.0 | 40 |" in text
    assert "| 2.0 | 40 | 3.0 | 10.0 | 5.0 |" in text
    assert (
        "| OneVsRest, plain | 50.00 | 50.00 | 50.00 | 50.00 | 50.00 | 50.00 | 2.0 | 40 | 3.0 | | |"
        in text
    )
    assert "| PLT | +0.00 | +0.00 | +2.50 | +0.00 | +0.00 | 2.50 | 1.00 | 1.50 | yes |" in text
    said = " ".join(text.split())
    assert "5 times as fast as the peer in training: all." in said
    assert "10 times as fast as the peer in prediction: none: PLT (5.0)." in said


def test_copies_that_lose_or_change_little_are_not_called_a_help():
    verdicts = {}
    for gain in (-1.0, 0.1, 0.2):
        text = tables(
            recorded(plt=("first", {"P@5": 40.0}), plt_copies2=("first", {"P@5": 40.0 + gain}))
        )
        verdicts[gain] = next(line for line in text.splitlines() if line.startswith("| PLT |"))
    assert [line.split("|")[-2].strip() for line in verdicts.values()] == ["no", "hardly", "yes"]


def test_seconds_of_two_runs_are_not_compared():
    text = tables(recorded(plt=("first", {}), napkinxc_plt=("second", {"train_s": 20.0})))
    assert (
        "| PLT, plain | 50.00 | 50.00 | 50.00 | 50.00 | 50.00 | 50.00 | 2.0 | 40 | 3.0 | | |"
        in text
    )
    assert "times as fast as the peer in" not in text


def test_tables_go_between_the_markers_of_a_page_and_nowhere_else(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    words = [
        "--write-docs",
        "--page",
        str(page),
        "--results",
        str(tmp_path),
        "--output",
        str(tmp_path),
    ]
    with pytest.raises(SystemExit):
        methods.main(words)
    assert "has no methods-*.json" in capsys.readouterr().err
    (tmp_path / "methods-made-up.json").write_text(json.dumps(recorded(plt=("first", {}))))
    methods.main(words)
    methods.main(words)
    text = page.read_text()
    assert text.startswith(
        f"Before.\n\n{BEGIN}\n\n```sh\npython -m benchmarks.methods --data made-up"
    )
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "old" not in text
    assert text.count("| PLT, plain |") == 1
    page.write_text("no markers")
    with pytest.raises(SystemExit):
        methods.main(words)
    assert "lacks the markers" in capsys.readouterr().err


def test_the_command_on_the_page_fits_its_lines_however_many_data_sets_there_are(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    for number in range(5):
        results = recorded(plt=("first", {}))
        results["data"]["name"] = f"made-up-{number}"
        (tmp_path / f"methods-{number}.json").write_text(json.dumps(results))
    methods.write_docs(tmp_path, page)
    code = page.read_text().split("```")[1].removeprefix("sh\n")
    assert max(map(len, code.splitlines())) <= 80
    assert code.replace("\\\n", "").split()[-3:] == ["--data", "made-up-4", "--write-docs"]


def test_results_of_a_part_of_the_documents_do_not_get_into_the_page(tmp_path, capsys):
    results = recorded(plt=("first", {}))
    results["data"]["is_whole"] = False
    (tmp_path / "methods-made-up.json").write_text(json.dumps(results))
    with pytest.raises(SystemExit):
        methods.main(["--write-docs", "--results", str(tmp_path), "--output", str(tmp_path)])
    assert "of a part of the documents" in capsys.readouterr().err
    assert methods.parse_options(["--data", "d", "--rows", "9"]).results != methods.RESULTS


def test_accuracy_is_that_of_the_metrics_and_within_a_part_counts_only_its_labels():
    rng = np.random.default_rng(0)
    Y, Y_test = (sp.csr_matrix(rng.random((60, 12)) < 0.2, dtype=np.float32) for _ in range(2))
    top = np.argsort(rng.random((60, 12)), axis=1)[:, :5]
    counts = np.asarray(Y.sum(axis=0)).ravel()
    expected = metrics.evaluate(top, Y_test, propensities=metrics.propensities(counts, 60))
    assert methods.accuracy(top, Y, Y_test, None) == {
        name: expected[name] for name in methods.KEPT
    }
    part = {"frequent": 4, "rare": 2}
    labels = labels_of_part(Y, part)
    perfect = np.argsort(-Y_test[:, labels].toarray(), axis=1, kind="stable")[:, :5]
    assert methods.accuracy(perfect, Y, Y_test, part)["P@1"] == 100


@pytest.mark.slow
def test_a_method_is_measured_from_training_to_the_file(data, tmp_path):
    words = ["--data", data, "--only", "xr-linear-copies2", "--threads", "1", "--queries", "20"]
    words += ["--output", tmp_path / "out", "--results", tmp_path, "--peers", tmp_path / "none"]
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "ensure", lambda folder, wanted, picture: made.extend(wanted) or [])
        methods.main([*map(str, words)])
    assert made == []
    row = json.loads((tmp_path / "methods-small.json").read_text())["rows"]["xr-linear-copies2"]
    assert row["medians"]["P@1"] > 80
    assert row["medians"]["PSP@1"] > 80
    assert min(row["medians"][key] for key in ("train_s", "one_p50_us", "disk_mb")) > 0
    assert not (tmp_path / "out" / "model").exists()
