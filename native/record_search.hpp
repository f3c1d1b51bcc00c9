// Looks up the rows of a document's features in the records of a level.
#pragma once

#include "linear_level.hpp"

namespace polyseme {

struct RecordSearch {
    const uint8_t* bytes;  // of all records
    const RecordForm& form;
    std::span<const int32_t> clusters;
    FoundRows& found;
};

// Appends the rows of the wanted clusters to their places. The record of a feature begins at its start
// and ends at the next one.
void search_records(const RecordSearch& search, const uint32_t* starts, const Document& document);
void search_records(const RecordSearch& search, const int64_t* starts, const Document& document);

}  // namespace polyseme
