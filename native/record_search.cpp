#include "record_search.hpp"

#include <algorithm>
#include <bit>

#include "simd.hpp"

namespace polyseme {

namespace {

// How many features ahead memory is asked for.
constexpr size_t records_ahead = 6, starts_ahead = 16;

// Writes a row whether it counts or not: a branch here would mostly be mispredicted.
POLYSEME_INLINE void put(FoundRows::Place& place, const FoundRow& row, bool counts) {
    const bool is_list = row.size < place.lists_below;
    FoundRow* const at = is_list ? place.list_end : place.bitmap_begin - 1;
    *at = row;
    place.list_end += counts & is_list;
    place.bitmap_begin -= counts & !is_list;
}

template <class Start>
POLYSEME_INLINE void put_row(FoundRows::Place& place, const uint8_t* starts, const uint8_t* rows,
                             uint32_t row, float value, bool counts) {
    const uint32_t begin = read_as<Start>(starts + row * sizeof(Start));
    const uint32_t end = read_as<Start>(starts + (row + 1) * sizeof(Start));
    put(place, {rows + begin, end - begin, value}, counts);
}

template <class Number, class Start>
POLYSEME_INLINE void search_list(const RecordSearch& search, const uint8_t* clusters, uint32_t n_rows,
                                 float value) {
    const uint8_t* const starts = clusters + n_rows * sizeof(Number);
    const uint8_t* const rows = starts + (n_rows + 1) * sizeof(Start);
    FoundRows::Place* const places = search.found.places.data();
    const int32_t* const rank_of = search.found.rank_of.data();
    if (n_rows <= 16 * search.clusters.size()) {
        for (uint32_t row = 0; row < n_rows; ++row) {
            const int32_t rank = rank_of[read_as<Number>(clusters + row * sizeof(Number))];
            put_row<Start>(places[rank < 0 ? 0 : rank], starts, rows, row, value, rank >= 0);
        }
        return;
    }
    for (size_t rank = 0; rank < search.clusters.size(); ++rank) {
        const auto wanted = static_cast<Number>(search.clusters[rank]);
        uint32_t row = 0;
        for (uint32_t n = n_rows; n > 1; n -= n / 2) {
            const uint32_t middle = row + n / 2;
            row = read_as<Number>(clusters + middle * sizeof(Number)) <= wanted ? middle : row;
        }
        const bool counts = read_as<Number>(clusters + row * sizeof(Number)) == wanted;
        put_row<Start>(places[rank], starts, rows, row, value, counts);
    }
}

template <class Number, class Start>
POLYSEME_INLINE void search_bitmap(const RecordSearch& search, const uint8_t* bitmap, float value) {
    const uint32_t n_words = search.form.n_words;
    FoundRows::Place* const places = search.found.places.data();
    const int32_t* const clusters = search.clusters.data();
    const size_t n_clusters = search.clusters.size();
    if (n_words == 1) {
        const uint64_t word = read_as<uint64_t>(bitmap) & (~uint64_t{0} >> (64 - search.form.n_clusters));
        const uint8_t* const starts = bitmap + search.form.n_bitmap;
        const uint8_t* const rows = starts + static_cast<uint32_t>(std::popcount(word) + 1) * sizeof(Start);
        for (size_t rank = 0; rank < n_clusters; ++rank) {
            const uint64_t bit = uint64_t{1} << clusters[rank];
            const auto row = static_cast<uint32_t>(std::popcount(word & (bit - 1)));
            put_row<Start>(places[rank], starts, rows, row, value, (word & bit) != 0);
        }
        return;
    }
    const uint8_t* const before = bitmap + n_words * 8;
    const uint8_t* const starts = before + n_words * sizeof(Number);
    const uint32_t n_rows =
        read_as<Number>(before + (n_words - 1) * sizeof(Number)) +
        static_cast<uint32_t>(std::popcount(read_as<uint64_t>(bitmap + (n_words - 1) * 8)));
    const uint8_t* const rows = starts + (n_rows + 1) * sizeof(Start);
    for (size_t rank = 0; rank < n_clusters; ++rank) {
        const auto cluster = static_cast<uint32_t>(clusters[rank]);
        const uint64_t word = read_as<uint64_t>(bitmap + cluster / 64 * 8);
        const uint64_t bit = uint64_t{1} << (cluster % 64);
        const uint32_t row = read_as<Number>(before + cluster / 64 * sizeof(Number)) +
                             static_cast<uint32_t>(std::popcount(word & (bit - 1)));
        put_row<Start>(places[rank], starts, rows, row, value, (word & bit) != 0);
    }
}

template <class Number>
POLYSEME_INLINE void search_record(const RecordSearch& search, const uint8_t* record, float value) {
    const uint8_t kind = record[0];
    if (kind <= longest_short_list) search_list<Number, uint16_t>(search, record + 1, kind, value);
    else if (kind == bitmap_short) search_bitmap<Number, uint16_t>(search, record + 1, value);
    else if (kind == bitmap_long) search_bitmap<Number, uint32_t>(search, record + 1, value);
    else search_list<Number, uint32_t>(search, record + 5, read_as<uint32_t>(record + 1), value);
}

template <class Number, class Start>
POLYSEME_INLINE void search_all(const RecordSearch& search, const Start* starts, const Document& document) {
    const size_t n = document.features.size();
    const int32_t* const features = document.features.data();
    for (size_t e = 0; e < std::min(n, starts_ahead); ++e) __builtin_prefetch(starts + features[e]);
    for (size_t e = 0; e < std::min(n, records_ahead); ++e)
        __builtin_prefetch(search.bytes + starts[features[e]]);
    for (size_t e = 0; e < n; ++e) {
        if (e + starts_ahead < n) __builtin_prefetch(starts + features[e + starts_ahead]);
        if (e + records_ahead < n) {
            const uint8_t* const record = search.bytes + starts[features[e + records_ahead]];
            __builtin_prefetch(record);
            __builtin_prefetch(record + 64);
            __builtin_prefetch(record + 128);
            __builtin_prefetch(record + 192);
        }
        const Start begin = starts[features[e]], end = starts[features[e] + 1];
        const uint8_t* const record = search.bytes + begin;
        if (begin == end) continue;
        if (search.form.n_clusters == 1)
            put(search.found.places[0], {record, static_cast<uint32_t>(end - begin), document.values[e]},
                true);
        else search_record<Number>(search, record, document.values[e]);
    }
}

}  // namespace

namespace clones {

// Clones cannot be templates, hence one function for each choice of types.
#define POLYSEME_SEARCH(name, Number, Start)                                                                 \
    POLYSEME_CLONES(void, name, (const RecordSearch& search, const Start* starts, const Document& document), \
                    (search, starts, document)) {                                                            \
        search_all<Number>(search, starts, document);                                                        \
    }
POLYSEME_SEARCH(search_few, uint16_t, uint32_t)
POLYSEME_SEARCH(search_few, uint16_t, int64_t)
POLYSEME_SEARCH(search_many, uint32_t, uint32_t)
POLYSEME_SEARCH(search_many, uint32_t, int64_t)
#undef POLYSEME_SEARCH

}  // namespace clones

void search_records(const RecordSearch& search, const uint32_t* starts, const Document& document) {
    if (search.form.number_bytes == 2) clones::search_few(search, starts, document);
    else clones::search_many(search, starts, document);
}

void search_records(const RecordSearch& search, const int64_t* starts, const Document& document) {
    if (search.form.number_bytes == 2) clones::search_few(search, starts, document);
    else clones::search_many(search, starts, document);
}

}  // namespace polyseme
