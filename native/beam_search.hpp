// Walks a document down the tree, keeping the best nodes of each level.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "linear_level.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// Features are looked up for so many clusters at once: the best are often enough.
constexpr int32_t clusters_at_once = 5;

// The nodes that a document has reached on one level, best first.
struct Beam {
    std::vector<int32_t> nodes;
    std::vector<float> scores;

    int32_t size() const { return static_cast<int32_t>(nodes.size()); }
    // The nodes from this one on that are looked up together.
    std::span<const int32_t> some(int32_t rank) const {
        return std::span(nodes).subspan(rank, std::min(clusters_at_once, size() - rank));
    }
};

struct BeamScratch {
    Beam beam, next;
    FoundRows found;
    std::vector<float> scores;
};

// The beam at the lowest of the levels, in the scratch.
const Beam& walk(std::span<const LinearLevel* const> levels, const Document& document, int32_t beam_size,
                 Activation activation, BeamScratch& scratch);

// Scores along a path multiply, and an activation is at most 1: nothing below a node exceeds it.
inline bool never_rises(Activation activation) { return activation != Activation::none; }

inline Document document_of(const MatrixView& documents, int64_t i) {
    return {documents.row(i), documents.row_values(i)};
}
// The dense columns of the document are brought into their form in `dense`.
inline Document document_of(const DocumentsView& documents, int64_t i, DenseValues& dense) {
    Document document = document_of(documents.sparse, i);
    if (documents.n_dense == 0) return document;
    dense.set(documents.dense_row(i));
    document.dense = &dense;
    return document;
}

}  // namespace polyseme
