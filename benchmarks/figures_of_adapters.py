"""What docs/adapters.md says about an imported model of PECOS, beside PECOS itself."""

from __future__ import annotations

from benchmarks.recorded import markdown, paragraph, recorded


def pecos_import() -> str:
    """Show that scores are the same, and how long one document takes."""
    found = recorded("benchmarks/results/pecos-import.json")
    how = (
        f"libpecos {found['libpecos']} trained a model on {found['data']} ({found['n_labels']:,} "
        f"labels, beam {found['beam_size']}). libpecos and polyseme then took turns, "
        f"{found['n_rounds']} times, at predicting {found['k']} labels for each of "
        f"{found['n_documents']:,} test documents, one by one, with one thread "
        f"({found['processor']}); libpecos was in its fastest mode (predict only, `HASH_CHUNKED`)."
    )
    ms = {name: us / 1000 for name, us in found["median_microseconds"].items()}
    same, of = found["documents_with_the_same_labels"], found["n_documents"]
    difference = found["largest_difference"]
    rows = [
        [f"largest difference of {found['n_scores']:,} scores", f"{difference:.7f}"],
        [f"documents with the same {found['k']} labels", f"{same:,} of {of:,}"],
        ["median of libpecos", f"{ms['libpecos']:.2f} ms"],
        ["median of the imported model", f"{ms['polyseme']:.2f} ms"],
        ["importing", f"{found['seconds_to_import']:.1f} s"],
    ]
    return f"{paragraph(how)}\n\n{markdown(['', ''], rows)}"


BLOCKS = {"pecos-import": pecos_import}
