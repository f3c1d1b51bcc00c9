#include "row_sums.hpp"

#include "intrinsics.hpp"
#include "simd.hpp"

#ifdef __x86_64__
#define POLYSEME_X86 1
#define POLYSEME_AVX2 __attribute__((target("avx2,fma,bmi2,popcnt")))
#define POLYSEME_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi2,popcnt")))
#define POLYSEME_VNNI \
    __attribute__((target("avx512vnni,avx512vbmi2,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi2,popcnt")))
#define POLYSEME_VBMI2 \
    __attribute__((target("avx512vbmi2,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi2,popcnt")))
#endif

namespace polyseme {

namespace {

// Rows lie anywhere in memory: asks for one that comes a little later.
POLYSEME_INLINE void prefetch_ahead(std::span<const FoundRow> rows, const FoundRow& row) {
    __builtin_prefetch((&rows.back() - &row > 8 ? &row + 8 : &rows.back())->bytes);
}

template <class Column, class Weight>
void add_rows_anywhere(std::span<const FoundRow> lists, std::span<const FoundRow> bitmaps, int64_t n_slots,
                       float, float* sums) {
    const uint32_t n_bitmap = bitmap_bytes(n_slots);
    for (const FoundRow& row : lists) {
        prefetch_ahead(lists, row);
        const uint32_t count = row.size / (sizeof(Column) + sizeof(Weight));
        const uint8_t* columns = row.bytes;
        const uint8_t* weights = row.bytes + count * sizeof(Column);
        for (uint32_t e = 0; e < count; ++e)
            sums[read_as<Column>(columns + e * sizeof(Column))] +=
                row.value * float(read_as<Weight>(weights + e * sizeof(Weight)));
    }
    for (const FoundRow& row : bitmaps) {
        prefetch_ahead(bitmaps, row);
        const uint8_t* weights = row.bytes + n_bitmap;
        for (uint32_t g = 0; g < n_bitmap; ++g) {
            for (uint32_t bits = row.bytes[g]; bits != 0; bits &= bits - 1) {
                sums[8 * g + static_cast<uint32_t>(std::countr_zero(bits))] +=
                    row.value * float(read_as<Weight>(weights));
                weights += sizeof(Weight);
            }
        }
    }
}

#ifdef POLYSEME_X86

// Lists are short and of all lengths: a loop for each would mostly mispredict its own end. So the
// products of many lists are written one behind the other, then added in one go.
template <class Column>
struct Products {
    static constexpr uint32_t capacity = 1024;
    uint32_t n = 0;
    alignas(64) float values[capacity + 16];
    alignas(64) Column columns[capacity + 16];

    inline __attribute__((always_inline)) void add_to(float* sums) {
        for (uint32_t e = 0; e < n; ++e) sums[columns[e]] += values[e];
        n = 0;
    }
};

// For each byte of a bitmap, 0xFF in the place of every bit that is set.
struct ByteMasks {
    uint64_t of[256];
    constexpr ByteMasks() : of() {
        for (int byte = 0; byte < 256; ++byte)
            for (int bit = 0; bit < 8; ++bit)
                if (byte >> bit & 1) of[byte] |= uint64_t{0xFF} << (8 * bit);
    }
};
constexpr ByteMasks byte_masks;

template <class Column>
POLYSEME_AVX2 void add_rows_avx2(std::span<const FoundRow> lists, std::span<const FoundRow> bitmaps,
                                 int64_t n_slots, float, float* sums) {
    const uint32_t n_bitmap = bitmap_bytes(n_slots);
    Products<Column> products;
    for (const FoundRow& row : lists) {
        prefetch_ahead(lists, row);
        const uint32_t count = row.size / (sizeof(Column) + 1);
        const uint8_t* weights = row.bytes + count * sizeof(Column);
        const __m256 value = _mm256_set1_ps(row.value);
        uint32_t left = count;
        for (uint32_t e = 0; e < count; e += 8, left -= 8) {
            if (products.n > products.capacity - 8) products.add_to(sums);
            const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights + e));
            _mm256_storeu_ps(products.values + products.n,
                             _mm256_mul_ps(value, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))));
            std::memcpy(products.columns + products.n, row.bytes + e * sizeof(Column), 8 * sizeof(Column));
            products.n += left < 8 ? left : 8;
        }
    }
    products.add_to(sums);
    for (const FoundRow& row : bitmaps) {
        prefetch_ahead(bitmaps, row);
        const uint8_t* weights = row.bytes + n_bitmap;
        const __m256 value = _mm256_set1_ps(row.value);
        for (uint32_t g = 0; g < n_bitmap; ++g) {
            const uint64_t spread = _pdep_u64(read_as<uint64_t>(weights), byte_masks.of[row.bytes[g]]);
            weights += _mm_popcnt_u32(row.bytes[g]);
            const __m256i steps = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(spread)));
            float* const at = sums + 8 * g;
            _mm256_storeu_ps(at, _mm256_fmadd_ps(value, _mm256_cvtepi32_ps(steps), _mm256_loadu_ps(at)));
        }
    }
}

// Inlined by force: GCC 12 leaves the call out, taking it for one without effect.
template <class Column>
POLYSEME_AVX512 __attribute__((always_inline)) inline void add_lists_avx512(std::span<const FoundRow> lists,
                                                                            float* sums) {
    Products<Column> products;
    for (const FoundRow& row : lists) {
        prefetch_ahead(lists, row);
        const uint32_t count = row.size / (sizeof(Column) + 1);
        const uint8_t* weights = row.bytes + count * sizeof(Column);
        const __m512 value = _mm512_set1_ps(row.value);
        uint32_t left = count;
        for (uint32_t e = 0; e < count; e += 16, left -= 16) {
            if (products.n > products.capacity - 16) products.add_to(sums);
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + e));
            _mm512_storeu_ps(products.values + products.n,
                             _mm512_mul_ps(value, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))));
            std::memcpy(products.columns + products.n, row.bytes + e * sizeof(Column), 16 * sizeof(Column));
            products.n += left < 16 ? left : 16;
        }
    }
    products.add_to(sums);
}

// Two bytes of the bitmap at a time; behind an odd last one lie weights.
template <class Column>
POLYSEME_AVX512 void add_rows_avx512(std::span<const FoundRow> lists, std::span<const FoundRow> bitmaps,
                                     int64_t n_slots, float, float* sums) {
    add_lists_avx512<Column>(lists, sums);
    const uint32_t n_bitmap = bitmap_bytes(n_slots), n_pairs = (n_bitmap + 1) / 2;
    const uint32_t last_bits = n_bitmap % 2 == 0 ? 0xFFFF : 0xFF;
    for (const FoundRow& row : bitmaps) {
        prefetch_ahead(bitmaps, row);
        const uint8_t* weights = row.bytes + n_bitmap;
        const __m512 value = _mm512_set1_ps(row.value);
        for (uint32_t pair = 0; pair < n_pairs; ++pair) {
            const uint32_t bits =
                read_as<uint16_t>(row.bytes + 2 * pair) & (pair + 1 == n_pairs ? last_bits : 0xFFFF);
            const __m512i packed =
                _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
            const __m512i steps = _mm512_maskz_expand_epi32(static_cast<__mmask16>(bits), packed);
            weights += _mm_popcnt_u32(bits);
            float* const at = sums + 16 * pair;
            _mm512_storeu_ps(at, _mm512_fmadd_ps(value, _mm512_cvtepi32_ps(steps), _mm512_loadu_ps(at)));
        }
    }
}

// Eight bytes of the bitmap at a time.
template <class Column>
POLYSEME_VBMI2 void add_rows_vbmi2(std::span<const FoundRow> lists, std::span<const FoundRow> bitmaps,
                                   int64_t n_slots, float, float* sums) {
    add_lists_avx512<Column>(lists, sums);
    const uint32_t n_bitmap = bitmap_bytes(n_slots), n_whole = n_bitmap / 8, n_left = n_bitmap % 8;
    const uint64_t last_bits = (uint64_t{1} << (8 * n_left)) - 1;
    for (const FoundRow& row : bitmaps) {
        prefetch_ahead(bitmaps, row);
        const uint8_t* weights = row.bytes + n_bitmap;
        const __m512 value = _mm512_set1_ps(row.value);
        float* at = sums;
        const auto expand = [&](uint64_t bits) POLYSEME_VBMI2 {
            const __m512i packed = _mm512_loadu_si512(weights);
            weights += _mm_popcnt_u64(bits);
            return _mm512_maskz_expand_epi8(bits, packed);
        };
        const auto add = [&](__m128i steps) POLYSEME_VBMI2 {
            const __m512 floats = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(steps));
            _mm512_storeu_ps(at, _mm512_fmadd_ps(value, floats, _mm512_loadu_ps(at)));
            at += 16;
        };
        for (uint32_t word = 0; word < n_whole; ++word) {
            const __m512i steps = expand(read_as<uint64_t>(row.bytes + 8 * word));
            add(_mm512_castsi512_si128(steps));
            add(_mm512_extracti32x4_epi32(steps, 1));
            add(_mm512_extracti32x4_epi32(steps, 2));
            add(_mm512_extracti32x4_epi32(steps, 3));
        }
        if (n_left == 0) continue;
        const __m512i steps = expand(read_as<uint64_t>(row.bytes + 8 * n_whole) & last_bits);
        add(_mm512_castsi512_si128(steps));
        if (n_left > 2) add(_mm512_extracti32x4_epi32(steps, 1));
        if (n_left > 4) add(_mm512_extracti32x4_epi32(steps, 2));
        if (n_left > 6) add(_mm512_extracti32x4_epi32(steps, 3));
    }
}

// Four rows at a time in whole numbers: a value is sixteen bits, whose high and low bytes are
// multiplied with bytes of weights and summed up apart.
struct FourRows {
    const uint8_t* bitmaps[4];
    const uint8_t* weights[4];
    uint32_t high_bytes, low_bytes;
};

template <class Column>
POLYSEME_VNNI void add_rows_vnni(std::span<const FoundRow> lists, std::span<const FoundRow> bitmaps,
                                 int64_t n_slots, float largest, float* sums) {
    // It pays for wide rows; and sums of very many might not fit 32 bits.
    if (!(largest > 0) || n_slots <= 64 || bitmaps.size() > 60'000)
        return add_rows_vbmi2<Column>(lists, bitmaps, n_slots, largest, sums);
    add_lists_avx512<Column>(lists, sums);
    thread_local std::vector<uint8_t> nothing;  // a row without weights
    nothing.resize(bitmap_bytes(n_slots) + read_ahead);
    thread_local std::vector<FourRows> fours;
    fours.resize((bitmaps.size() + 3) / 4);
    const uint32_t n_bitmap = bitmap_bytes(n_slots);
    const float steps_per_value = 65535.f / largest;
    for (size_t g = 0; g < fours.size(); ++g) {
        FourRows& four = fours[g];
        four.high_bytes = four.low_bytes = 0;
        for (size_t r = 0; r < 4; ++r) {
            const bool there = 4 * g + r < bitmaps.size();
            const FoundRow row = there ? bitmaps[4 * g + r] : FoundRow{nothing.data(), 0, 0};
            __builtin_prefetch(row.bytes);
            __builtin_prefetch(row.bytes + row.size);
            four.bitmaps[r] = row.bytes;
            four.weights[r] = row.bytes + (there ? n_bitmap : 0);
            const auto value = static_cast<uint32_t>(std::min(row.value * steps_per_value + 0.5f, 65535.f));
            four.high_bytes |= (value >> 8) << (8 * r);
            four.low_bytes |= (value & 0xFF) << (8 * r);
        }
    }
    const uint32_t n_words = (n_bitmap + 7) / 8;
    for (uint32_t word = 0; word < n_words; ++word) {
        const uint32_t n_left = n_bitmap - 8 * word;
        const uint64_t valid = n_left >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n_left)) - 1;
        // Of the numbers in sums[i], the four in part L belong to the slots from 16 L + 4 i on.
        __m512i high[4], low[4];
        for (int i = 0; i < 4; ++i) high[i] = low[i] = _mm512_setzero_si512();
        for (FourRows& four : fours) {
            __m512i rows[4];
            for (int r = 0; r < 4; ++r) {
                const uint64_t bits = read_as<uint64_t>(four.bitmaps[r] + 8 * word) & valid;
                rows[r] = _mm512_maskz_expand_epi8(bits, _mm512_loadu_si512(four.weights[r]));
                four.weights[r] += _mm_popcnt_u64(bits);
            }
            const __m512i first_low = _mm512_unpacklo_epi8(rows[0], rows[1]);
            const __m512i first_high = _mm512_unpackhi_epi8(rows[0], rows[1]);
            const __m512i last_low = _mm512_unpacklo_epi8(rows[2], rows[3]);
            const __m512i last_high = _mm512_unpackhi_epi8(rows[2], rows[3]);
            const __m512i mixed[4] = {
                _mm512_unpacklo_epi16(first_low, last_low), _mm512_unpackhi_epi16(first_low, last_low),
                _mm512_unpacklo_epi16(first_high, last_high), _mm512_unpackhi_epi16(first_high, last_high)};
            const __m512i high_bytes = _mm512_set1_epi32(static_cast<int>(four.high_bytes));
            const __m512i low_bytes = _mm512_set1_epi32(static_cast<int>(four.low_bytes));
            for (int i = 0; i < 4; ++i) {
                high[i] = _mm512_dpbusd_epi32(high[i], high_bytes, mixed[i]);
                low[i] = _mm512_dpbusd_epi32(low[i], low_bytes, mixed[i]);
            }
        }
        const __m512 unit = _mm512_set1_ps(largest / 65535.f);
        alignas(64) float products[4][16];
        for (int i = 0; i < 4; ++i) {
            const __m512 whole = _mm512_fmadd_ps(_mm512_cvtepi32_ps(high[i]), _mm512_set1_ps(256.f),
                                                 _mm512_cvtepi32_ps(low[i]));
            _mm512_store_ps(products[i], _mm512_mul_ps(whole, unit));
        }
        const int64_t n_parts = std::min<int64_t>(4, (padded(n_slots) - 64 * word) / 16);
        for (int64_t part = 0; part < n_parts; ++part)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sums[64 * word + 16 * part + 4 * i + j] += products[i][4 * part + j];
    }
}

#endif  // POLYSEME_X86

}  // namespace

template <class Column, class Weight>
std::vector<AddRows> row_adders() {
    std::vector<AddRows> adders{add_rows_anywhere<Column, Weight>};
#ifdef POLYSEME_X86
    if constexpr (sizeof(Weight) == 1) {
        if (processor.level >= 3) adders.push_back(add_rows_avx2<Column>);
        if (processor.level >= 4) adders.push_back(add_rows_avx512<Column>);
        if (processor.has_vbmi2) adders.push_back(add_rows_vbmi2<Column>);
        if (processor.has_vbmi2 && processor.has_vnni) adders.push_back(add_rows_vnni<Column>);
    }
#endif
    return adders;
}

template std::vector<AddRows> row_adders<uint8_t, int8_t>();
template std::vector<AddRows> row_adders<uint16_t, int8_t>();
template std::vector<AddRows> row_adders<uint8_t, float>();
template std::vector<AddRows> row_adders<uint16_t, float>();

}  // namespace polyseme
