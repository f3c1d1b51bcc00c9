"""The parts of `benchmarks.serving` that need neither the load tool nor a peer."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from benchmarks.processes import MeasurementError
from benchmarks.serving import load_tool, report, soak
from benchmarks.serving.models import write_corpus
from benchmarks.serving.other_models import LibpecosModel, NoModel
from benchmarks.serving.request_bodies import feature_bodies, text_bodies, write_bodies

PRINTED = """Running 1s test @ http://127.0.0.1:8000/v1/suggest
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     4.32ms    1.40ms   9.91ms   77.12%
Requests/sec:   1520.10
figures: {"n_requests": 3000, "seconds": 1.5, "p50_ms": 4.1, "p99_ms": 9.0, "max_ms": 9.91, \
"errors": {"connect": 0, "read": 1, "write": 0, "timeout": 0, "status": 2}}
"""


class FakePecos:
    """Has the one method of libpecos that is used; gives fixed scores, in no order."""

    def __init__(self):
        self.calls = []

    def predict(self, X, **options):
        self.calls.append((X, options))
        scores = np.array([[0.2, 0, 0.9, 0.5], [0, 0.1, 0, 0]], dtype=np.float32)
        return csr_matrix(scores[: X.shape[0]])


def rounds(per_second, n_errors=0):
    figures = {"p50_ms": 1.0, "p99_ms": 2.0, "errors": {"status": n_errors}, "n_errors": n_errors}
    return [{"per_second": value, **figures} for value in per_second]


def test_figures_are_read_from_what_the_load_tool_prints():
    figures = load_tool.read_figures(PRINTED)
    assert figures["per_second"] == 2000
    assert figures["n_errors"] == 3
    assert (figures["p50_ms"], figures["p99_ms"]) == (4.1, 9.0)


def test_a_load_tool_without_figures_is_an_error():
    with pytest.raises(MeasurementError, match="unable to connect"):
        load_tool.read_figures("unable to connect to 127.0.0.1")


def test_a_missing_load_tool_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr(load_tool.shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="apt install wrk"):
        load_tool.find_tool()


def test_bodies_have_the_rows_as_pairs_one_body_a_line(tmp_path):
    X = csr_matrix(np.array([[0, 0.5, 0.25], [1 / 3, 0, 0], [0, 0, 1]], dtype=np.float32))
    write_bodies(tmp_path / "bodies", feature_bodies(X, 2))
    lines = (tmp_path / "bodies").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"features": [[1, 0.5], [2, 0.25]]},
        {"features": [[0, 0.333333]]},
    ]


def test_bodies_of_texts_are_the_first_lines(tmp_path):
    (tmp_path / "texts").write_text("Ein Brief\nzwei\ndrei\n", encoding="utf-8")
    assert text_bodies(tmp_path / "texts", 2) == [{"text": "Ein Brief"}, {"text": "zwei"}]


def test_the_corpus_for_the_text_model_has_names_of_labels(tmp_path):
    from scipy.sparse import save_npz

    save_npz(tmp_path / "Y.trn.npz", csr_matrix(np.array([[1, 0, 1], [0, 1, 0]])))
    (tmp_path / "X.trn.txt").write_text("one\ntwo\n")
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    write_corpus(tmp_path, tmp_path / "corpus.jsonl")
    lines = (tmp_path / "corpus.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"text": "one", "labels": ["a", "c"]},
        {"text": "two", "labels": ["b"]},
    ]


def test_libpecos_answers_as_the_server_expects():
    fake = FakePecos()
    X = csr_array(np.eye(2, 5, dtype=np.float32))
    labels, scores = LibpecosModel(fake, 5, n_threads=2).predict_top_k(X, 2)
    np.testing.assert_array_equal(labels, [[2, 3], [1, -1]])
    np.testing.assert_allclose(scores, [[0.9, 0.5], [0.1, 0]])
    given, options = fake.calls[0]
    assert isinstance(given, csr_matrix)
    assert options == {"only_topk": 2, "threads": 2}


def test_libpecos_gets_one_thread_for_one_row():
    fake = FakePecos()
    LibpecosModel(fake, 5, n_threads=2).predict_top_k(csr_array((1, 5), dtype=np.float32), 2)
    assert fake.calls[0][1]["threads"] == 1


@pytest.mark.parametrize("model", [LibpecosModel(FakePecos(), 5, 1), NoModel(5)])
def test_other_models_are_served_like_our_own(model):
    pytest.importorskip("fastapi")
    from polyseme.server.served_model import Question, ServedModel

    served = ServedModel("other", Path("other"), model)
    served.warm_up()
    (found,) = served.answer_all([Question(served.row_of([(1, 0.5)]), 3, None)])
    assert len(found) == 3
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_the_table_has_medians_and_errors_are_named():
    runs = {
        "polyseme": {"1": rounds([1000, 3000, 2000]), "8": rounds([5000])},
        "libpecos": {"1": rounds([500]), "8": rounds([700], n_errors=4)},
    }
    head, _, polyseme, libpecos = report.table(runs).splitlines()
    assert head.startswith("| | 1 client: requests/s | p50 ms | p99 ms | 8 clients: /s |")
    assert polyseme == "| polyseme, plain | 2,000 | 1.0 | 2.0 | 5,000 | 1.0 | 2.0 |"
    assert libpecos.startswith("| libpecos | 500 |")
    assert report.errors_of(runs) == ["libpecos, 8 clients: {'status': 4}"]


def test_a_soak_asks_everything_and_knows_what_must_come_back():
    asked = soak.make_requests(["one text", "another"] * 20, 50, 7, 2)
    assert {one.kind for one in asked} >= {"suggest by text", "batch", "explain", "search", "bad"}
    assert {one.status for one in asked if one.kind == "bad"} == {400, 404, 405, 413, 422}
    assert {one.status for one in asked if one.kind != "bad"} == {200}
    for one in asked:
        head, _, body = one.wire.partition(b"\r\n\r\n")
        assert head.endswith(b"Content-Length: %d" % len(body))


def test_memory_is_compared_between_the_first_and_the_last_quarter():
    steady = soak.describe_memory([90, 100, 101, 100, 102, 100, 101, 100])
    assert steady == {"first_quarter_mib": 95, "last_quarter_mib": 100.5, "growth_mib": 5.5}


def test_a_soak_complains_of_wrong_answers_and_of_growth():
    fine = {"unexpected": {}, "growth_mib": 1.0}
    assert list(soak.problems_of(fine)) == []
    bad = {"unexpected": {"batch: 500 instead of 200": 2}, "growth_mib": 50.0}
    wrong, growth = soak.problems_of(bad)
    assert "2 times batch: 500" in wrong
    assert "grew by 50.0 MiB" in growth


def test_a_client_of_a_soak_counts_what_it_did_not_expect(monkeypatch):
    monkeypatch.setattr(soak, "resident", lambda pid: 0)
    asked = [soak.Asked("fine", b"GET / HTTP/1.1\r\n\r\n", 200)]
    asked.append(soak.Asked("other", b"GET /teapot HTTP/1.1\r\n\r\n", 200))
    asked.append(soak.Asked("cut", b"GET /cut HTTP/1.1\r\n\r\n", 200))

    async def answer(reader, writer):
        with suppress(asyncio.IncompleteReadError):
            while b"/cut" not in (head := await reader.readuntil(b"\r\n\r\n")):
                status = b"418 Teapot" if b"/teapot" in head else b"200 OK"
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\nok")
        writer.close()
        await writer.wait_closed()

    async def run(progress):
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await soak._client(f"http://127.0.0.1:{port}", asked, progress)
        server.close()

    progress = soak.Progress(0, 6)
    asyncio.run(run(progress))
    assert progress.n_answered == 6
    assert progress.unexpected == {
        "other: 418 instead of 200": 2,
        "cut: IncompleteReadError instead of 200": 2,
    }
