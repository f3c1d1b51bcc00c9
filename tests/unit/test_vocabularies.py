"""Vocabularies: SKOS in every form, tables, languages, and what a model keeps of them."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme import TextModel, XRLinear, metrics
from polyseme.files.model_folder import open_model, save_model
from polyseme.files.stored_model import Contents
from polyseme.tagger import tagger_for
from polyseme.text import Vocabulary, read_hierarchy, read_vocabulary
from polyseme.text.vocabularies.kept import KeptVocabulary, Related
from polyseme.text.vocabularies.vocabulary import Concept

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix x: <http://x/> .
x:scheme a skos:ConceptScheme ; skos:prefLabel "All animals"@en .
x:animal a skos:Concept ; skos:prefLabel "animal"@en, "Tier"@de ; skos:narrower x:cat .
x:cat a skos:Concept ; skos:prefLabel "cat"@en, "Katze"@de ; skos:altLabel "kitty"@en, "Mieze"@de ;
    skos:notation "C1" .
x:dog a skos:Concept ; xl:prefLabel [ xl:literalForm "dog"@en ] ; skos:broader x:animal .
x:owl a skos:Concept ; skos:prefLabel "Eule"@de ; skos:broader x:animal .
"""
TRIPLES = """
<http://x/cat> <http://www.w3.org/2004/02/skos/core#prefLabel> "cat"@en .
<http://x/cat> <http://www.w3.org/2004/02/skos/core#altLabel> "kitty"@en .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="http://x/cat">
    <skos:prefLabel xml:lang="en">cat</skos:prefLabel>
    <skos:altLabel xml:lang="en">kitty</skos:altLabel>
  </skos:Concept>
</rdf:RDF>
"""
JSON_LD = """{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#"},
 "@id": "http://x/cat", "@type": "skos:Concept",
 "skos:prefLabel": {"@value": "cat", "@language": "en"},
 "skos:altLabel": {"@value": "kitty", "@language": "en"}}
"""


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        path = tmp_path / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(content.encode()))
        else:
            path.write_text(content, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.nt", TRIPLES),
        ("v.ttl", TRIPLES),
        ("v.ttl.gz", TRIPLES),
        ("v.rdf", XML),
        ("v.xml", XML),
        ("v.jsonld", JSON_LD),
        ("v.csv", "uri,prefLabel@en,altLabel@en\nhttp://x/cat,cat,kitty\n"),
    ],
)
def test_every_form_of_a_vocabulary_says_the_same(write, name, content):
    found = read_vocabulary(write(name, content))
    assert found.concepts == {"http://x/cat": Concept("cat", ("kitty",))}
    assert found == {"http://x/cat": "cat"}


def test_concepts_of_skos_have_names_notations_and_what_is_broader(write):
    found = read_vocabulary(write("v.ttl", TURTLE), ["en"])
    assert dict(found) == {
        "http://x/animal": "animal",
        "http://x/cat": "cat",
        "http://x/dog": "dog",
    }
    cat = found.concepts["http://x/cat"]
    assert cat == Concept("cat", ("kitty",), ("C1",), ("http://x/animal",))
    assert found.concepts["http://x/owl"].name is None
    assert "4 concepts, 3 names (en; also de (3): --language)" in found.description


def test_a_name_is_in_the_first_wanted_language_and_others_are_alternatives(write):
    found = read_vocabulary(write("v.ttl", TURTLE), ["en", "de"])
    assert found["http://x/owl"] == "Eule"
    assert found.concepts["http://x/cat"].alternatives == ("Katze", "kitty", "Mieze")
    assert read_vocabulary(write("v.ttl", TURTLE), "de")["http://x/cat"] == "Katze"
    with pytest.raises(ValueError, match=r"no names in fi; it has en \(3\), de \(3\)"):
        read_vocabulary(write("v.ttl", TURTLE), ["fi"])
    with pytest.raises(ValueError, match="no names in fi; its names have no language"):
        read_vocabulary(write("v.tsv", "http://x/1\tone\n"), ["fi"])


def test_a_language_stands_for_its_regions_and_its_own_names_come_first(write):
    table = "uri,label_en-us,label_en\nhttp://x/1,color,colour\nhttp://x/2,sidewalk,\n"
    found = read_vocabulary(write("v.csv", table), ["en"])
    assert found == {"http://x/1": "colour", "http://x/2": "sidewalk"}
    found = read_vocabulary(write("v.csv", table), ["en-GB"])  # which it does not have
    assert found == {"http://x/1": "colour"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("twice.csv", "uri,label\nhttp://x/1,car\nhttp://x/1,automobile\nhttp://x/1,car\n"),
        ("twice.tsv", "<http://x/1>\tcar\n<http://x/1>\tautomobile\n<http://x/1>\tcar\n"),
    ],
)
def test_a_second_name_of_a_concept_is_another_name_of_it(write, name, content):
    (concept,) = read_vocabulary(write(name, content)).concepts.values()
    assert (concept.name, concept.alternatives) == ("car", ("automobile",))


def test_tables_are_read_by_their_columns(write):
    table = (
        "Notation;Pref Label;Synonyms;Broader;ID\n"
        "C1;cat;kitty | puss;http://x/animal;<http://x/cat>\n"
        ";animal;;;http://x/animal\n"
    )
    found = read_vocabulary(write("v.csv", table))
    assert found.concepts == {
        "http://x/cat": Concept("cat", ("kitty", "puss"), ("C1",), ("http://x/animal",)),
        "http://x/animal": Concept("animal"),
    }
    codes = read_vocabulary(write("codes.csv", "code,name\n004,computing\n"))
    assert codes == {"004": "computing"}
    with_header = read_vocabulary(write("v.tsv", "uri\tlabel\nhttp://x/1\tone\n"))
    assert with_header == {"http://x/1": "one"}
    without = read_vocabulary(write("w.tsv", "<http://x/1>\tone\tN1\n"))
    assert without.concepts == {"http://x/1": Concept("one", notations=("N1",))}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("v.csv", "http://x/1,one\nhttp://x/2,two\n", "must have a header .* are 'http://x/1'"),
        ("v.tsv", "gnd\theading\nhttp://x/1\tone\n", r"seems to name columns \(gnd, heading\)"),
        ("v.ttl", "@prefix x <y> .", r"v\.ttl: not readable as Turtle: .*line 1"),
        ("v.rdf", "<a", "not readable as RDF/XML"),
        ("v.jsonld", '{"@context": "http://x/c", "@id": "a"}', "its context is on the web"),
        ("v.nt", "", "has no concepts of SKOS with a name"),
    ],
)
def test_what_is_no_vocabulary_is_refused_with_a_sentence(write, name, content, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_vocabulary(write(name, content))


def test_a_table_in_another_encoding_is_to_be_saved_in_utf_8(write):
    path = write("v.csv", "")
    for content in ("uri,label\nhttp://x/1,Österreich\n".encode("cp1252"), b"\xff\xfeu\0"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"v\.csv.*; save it as UTF-8\.$") as raised:
            read_vocabulary(path)
        assert "--encoding" not in str(raised.value)


def test_a_damaged_gzip_file_and_a_missing_one_are_refused(write, tmp_path):
    path = write("v.nt.gz", TRIPLES)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="gzip file is damaged"):
        read_vocabulary(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_vocabulary(tmp_path / "none.ttl")


def test_without_the_extra_a_sentence_says_how_to_get_it(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(ValueError, match=r"needs pyoxigraph; install polyseme .* 'skos'"):
        read_vocabulary(write("v.ttl", TURTLE))


def test_labels_are_known_by_uri_or_by_a_notation_or_name_of_their_own():
    vocabulary = Vocabulary(
        {
            "u:1": Concept("bank", notations=("B",)),
            "u:2": Concept("bank"),
            "u:3": Concept("B"),
            "u:4": Concept("river"),
        }
    )
    known = [vocabulary.uri_of(label) for label in ("u:2", "bank", "B", "river", "lake")]
    assert known == ["u:2", None, "u:1", "u:4", None]
    assert vocabulary["B"] == "bank"


def test_broader_concepts_are_a_tree(write):
    hierarchy = read_hierarchy(write("v.ttl", TURTLE))
    assert set(hierarchy.labels) == {
        f"http://x/{name}" for name in ("animal", "cat", "dog", "owl")
    }
    _, clusters = hierarchy.tree_of(3, ["http://x/cat", "http://x/dog", "http://x/owl"])
    assert clusters.n_clusters == 1
    with pytest.raises(ValueError, match=r"v\.nt: .* has no broader relations"):
        read_hierarchy(write("v.nt", TRIPLES))


# What a model keeps


@pytest.fixture(scope="module")
def kept():
    vocabulary = Vocabulary(
        {
            "u:cat": Concept("cat", ("kitty",), ("C1",), ("u:pet",)),
            "u:pet": Concept("pet", broader=("u:animal",)),
            "u:animal": Concept("animal"),
            "u:tree": Concept("tree"),
        }
    )
    return KeptVocabulary.of(vocabulary, ["u:cat", "u:unknown", "u:animal"])


def test_labels_keep_what_is_above_them_and_no_more(kept):
    assert list(kept.uris) == ["u:cat", "u:unknown", "u:animal", "u:pet"]
    assert kept.n_named == 2
    assert kept.other_names(0) == ["kitty"]
    assert kept.notations_of(0) == ["C1"]
    assert kept.broader_than(0) == [Related(None, "pet", "u:pet")]
    assert kept.narrower_than(2) == [Related(None, "pet", "u:pet")]
    assert kept.narrower_than(1) == []
    assert kept.with_ancestors().toarray().tolist() == [[1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert [kept.search.only_one(name) for name in ("KITTY", "c1", "u:unknown")] == [0, 0, 1]


def test_circles_among_broader_concepts_do_no_harm():
    circle = {"u:1": Concept("one", broader=("u:2",)), "u:2": Concept("two", broader=("u:1",))}
    kept = KeptVocabulary.of(Vocabulary(circle), ["u:1", "u:2"])
    assert kept.with_ancestors().toarray().tolist() == [[1, 1], [1, 1]]


TEXTS = ["a cat sleeps on the mat", "the dog barks at night", "an owl hoots at night"] * 12
LABELS = [["http://x/cat"], ["http://x/dog"], ["http://x/owl"]] * 12


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "v.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    classifier = XRLinear(verbose=0, n_jobs=1, ordering="product", senses="none")
    fitted = TextModel(classifier=classifier, verbose=0, keep_data=True)
    names = read_vocabulary(path, ["en"])
    return fitted.fit(TEXTS, LABELS, label_names=names, hierarchy=names.hierarchy())


def test_a_saved_model_knows_its_vocabulary(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    for one in (model, loaded):
        tagger = tagger_for(one)
        assert tagger.n_named_labels == 2
        cat = one.label_number("Kitty")
        assert one.name_of(cat) == "cat"
        assert tagger.vocabulary.broader_than(cat)[0].name == "animal"
        (found,) = tagger.labels.find("KITTY")[1]
        assert (found.name, found.found_as) == ("cat", "kitty")
        assert one.report_["with_broader"]["recall"] > 0


def test_labels_that_are_notations_are_suggested_and_found_with_the_uri_of_their_concept():
    concepts = {f"http://x/{name}": Concept(name, (), (f"N{name}",)) for name in ("cat", "dog")}
    classifier = XRLinear(verbose=0, n_jobs=1, ordering="product", senses="none")
    model = TextModel(classifier=classifier, verbose=0, held_out=0)
    model.fit(TEXTS, [["Ncat"], ["Ndog"], ["owl"]] * 12, label_names=Vocabulary(concepts))
    for one in (model, tagger_for(model)):
        found = {label.name: label.uri for label in one.suggest(TEXTS[:1], threshold=0)[0]}
        assert found == {"cat": "http://x/cat", "dog": "http://x/dog", "owl": "owl"}
        assert one.label_number("http://x/dog") == one.label_number("Ndog")


@pytest.mark.parametrize("missing", ["concept-names", "concept-alternatives", "concept-notations"])
def test_a_damaged_vocabulary_is_refused(model, tmp_path, missing):
    contents = model.contents()
    names = {key: value for key, value in contents.names.items() if key != missing}
    save_model(tmp_path / "m", Contents(contents.description, contents.arrays, names))
    with pytest.raises(ValueError, match="is damaged: its vocabulary has no"):
        TextModel.restored(open_model(tmp_path / "m"))


def test_an_update_learns_new_names_and_keeps_old_ones(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m", n_jobs=1)
    new = Vocabulary({"http://x/eel": Concept("eel", ("anguilla",), (), ("http://x/animal",))})
    loaded.update(["an eel swims", "the eel hides"], [["http://x/eel"]] * 2, label_names=new)
    tagger = tagger_for(loaded)
    assert loaded.name_of(loaded.label_number("anguilla")) == "eel"
    assert loaded.name_of(loaded.label_number("kitty")) == "cat"
    eel = loaded.label_number("eel")
    assert [one.name for one in tagger.vocabulary.broader_than(eel)] == ["animal"]
    assert tagger.n_named_labels == 3


def test_names_without_a_vocabulary_are_counted_too():
    classifier = XRLinear(verbose=0, n_jobs=1, ordering="product", senses="none")
    named = TextModel(classifier=classifier, verbose=0, held_out=0)
    named.fit(TEXTS, LABELS, label_names={"http://x/cat": "cat"})
    assert tagger_for(named).n_named_labels == 1
    assert tagger_for(clone_without_names(named)).n_named_labels == 3


def clone_without_names(model):
    return TextModel(classifier=model.classifier, verbose=0, held_out=0).fit(TEXTS, LABELS)


def test_near_misses_count_in_part():
    ancestors = sp.csr_array([[1, 0, 1], [0, 1, 1]])  # two labels below one concept
    truth = np.array([[1, 0], [0, 1]])
    assert metrics.hierarchical_scores(truth, truth, ancestors) == dict.fromkeys(
        ("precision", "recall", "f1"), 100.0
    )
    missed = metrics.hierarchical_scores(np.array([[0, 1], [0, 0]]), truth, ancestors)
    assert missed == {"precision": 50.0, "recall": 25.0, "f1": pytest.approx(100 / 3)}
    with pytest.raises(ValueError, match="do not belong together"):
        metrics.hierarchical_scores(truth, truth, np.eye(3))
