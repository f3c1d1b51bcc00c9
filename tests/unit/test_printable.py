"""What strangers wrote gives no orders to a terminal."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import polyseme
from polyseme.cli import main
from polyseme.cli.predictions import for_people
from polyseme.machine.printable import printable
from polyseme.suggestions import Suggestion
from polyseme.text.predictions import Predicted

ORDER = "\x1b]0;taken\x07"
TURNED = "\u202egnp.exe"


@pytest.mark.parametrize("plain", ["", "a b", "Straße\n\tØ 日本 👩‍🔬", "e\u0301 \u200f \u00a0"])
def test_what_is_only_text_stays_as_it_is(plain):
    assert printable(plain) == plain


@pytest.mark.parametrize("order", [ORDER, "\x9b31m", "\r", "\x7f", TURNED, "\u2067"])
def test_orders_are_replaced(order):
    shown = printable(f"a {order} b")
    assert order[0] not in shown
    assert shown.startswith("a \ufffd")
    assert shown.endswith(" b")


def test_suggestions_for_people_give_no_orders():
    label = Suggestion(0, f"name{ORDER}", 0.5, uri=f"http://x/{ORDER}")
    shown = "".join(for_people(Predicted(0, [label], f"id{ORDER}", f"text{ORDER}")))
    assert ORDER not in shown
    assert "\x07" not in shown


@pytest.fixture(scope="module")
def of_strangers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strangers")
    rows = [
        {"text": f"{kind} {i % 7} words", "labels": [f"{kind}{ORDER}{TURNED}", "all"]}
        for i in range(60)
        for kind in ("red", "blue")
    ]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    polyseme.TextModel(verbose=0).fit(
        [row["text"] for row in rows], [row["labels"] for row in rows]
    ).save(folder / "model")
    return folder


def test_what_commands_print_gives_no_orders(of_strangers):
    for arguments in (["info", "--by-label"], ["senses"], ["senses", "all"]):
        verb, *more = arguments
        result = CliRunner().invoke(main, [verb, str(of_strangers / "model"), *more])
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert "\u202e" not in result.output


def test_cards_and_reports_give_no_orders(of_strangers):
    model = polyseme.load(of_strangers / "model")
    polyseme.cards.write_card(of_strangers / "model")
    polyseme.reports.write_report(model, of_strangers / "report.html")
    for name in ("model/README.md", "report.html"):
        page = (of_strangers / name).read_text(encoding="utf-8")
        assert "\x1b" not in page
        assert "\u202e" not in page
