/* Vectors of numbers in single precision, as GCC and Clang have them: the same code is compiled for
 * each kind of processor, with vectors as long as its own. */

#ifndef HEADSTART_VECTORS_H
#define HEADSTART_VECTORS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 16
#define NUM_REGISTERS 32
#else
#define LANES 8
#define NUM_REGISTERS 16
#endif

/* They may begin anywhere, so that they are loaded and stored unaligned. */
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int whole __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef unsigned bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE vector load(const float *from) { return *(const vector *)from; }

ALWAYS_INLINE void store(float *to, vector numbers) { *(vector *)to = numbers; }

/* The number of each lane. */
ALWAYS_INLINE whole lane_numbers(void) {
    whole numbers;
    for (int lane = 0; lane < LANES; lane++) numbers[lane] = lane;
    return numbers;
}

/* Loads the first numbers alone, or stores them: what stands behind them is somebody else's. The
 * lanes behind those that are loaded are 0. */
ALWAYS_INLINE vector load_first(const float *from, size_t num_loaded) {
    if (num_loaded >= LANES) return load(from);
#if defined(__AVX512F__)
    return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << num_loaded) - 1), from);
#else
    return (vector)_mm256_maskload_ps(from, (__m256i)(lane_numbers() < (int)num_loaded));
#endif
}

ALWAYS_INLINE void store_first(float *to, vector numbers, size_t num_stored) {
    if (num_stored >= LANES)
        store(to, numbers);
    else
#if defined(__AVX512F__)
        _mm512_mask_storeu_ps(to, (__mmask16)((1u << num_stored) - 1), (__m512)numbers);
#else
        _mm256_maskstore_ps(to, (__m256i)(lane_numbers() < (int)num_stored), (__m256)numbers);
#endif
}

/* What is left of a number in single precision without the lower half of its bits. */
typedef uint16_t bf16;

ALWAYS_INLINE vector load_half(const bf16 *from) {
#if defined(__AVX512F__)
    return (vector)((bits)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)from)) << 16);
#else
    return (vector)((bits)_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)from)) << 16);
#endif
}

/* Rounds to the nearest, of two as near to the even one; what is no number stays none. */
ALWAYS_INLINE void store_half(bf16 *to, vector numbers) {
    bits found = (bits)numbers;
    bits rounded = (found + 0x7fffu + ((found >> 16) & 1)) >> 16;
    whole is_none = numbers != numbers;
    bits kept = (rounded & ~(bits)is_none) | (0x7fc0u & (bits)is_none);
#if defined(__AVX512F__)
    _mm256_storeu_si256((void *)to, _mm512_cvtepi32_epi16((__m512i)kept));
#else
    __m128i first = _mm256_castsi256_si128((__m256i)kept);
    _mm_storeu_si128((void *)to,
                     _mm_packus_epi32(first, _mm256_extracti128_si256((__m256i)kept, 1)));
#endif
}

ALWAYS_INLINE vector all(float number) { return (vector){0} + number; }

ALWAYS_INLINE vector where(whole is_so, vector one, vector other) {
    return (vector)(((whole)one & is_so) | ((whole)other & ~is_so));
}

/* Of two that cannot be compared the second, so that what is no number stays none. */
ALWAYS_INLINE vector larger(vector one, vector other) { return where(one > other, one, other); }

/* The first lanes alone, and 0 behind them. */
ALWAYS_INLINE vector only_first(vector numbers, size_t num_kept) {
    return num_kept >= LANES ? numbers : where(lane_numbers() < (int)num_kept, numbers, (vector){0});
}

ALWAYS_INLINE vector size_of(vector numbers) { return (vector)((whole)numbers & 0x7fffffff); }

/* The vector whose lanes are those of a pair by their numbers, the second's from LANES on. */
#if defined(__clang__)
ALWAYS_INLINE vector chosen(vector one, vector other, whole numbers) {
    vector found;
    for (int lane = 0; lane < LANES; lane++)
        found[lane] = numbers[lane] < LANES ? one[numbers[lane]] : other[numbers[lane] - LANES];
    return found;
}
#else
ALWAYS_INLINE vector chosen(vector one, vector other, whole numbers) {
    return __builtin_shuffle(one, other, numbers);
}
#endif

ALWAYS_INLINE float sum_of_lanes(vector numbers) {
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
        numbers += chosen(numbers, numbers, lane_numbers() ^ half);
    return numbers[0];
}

ALWAYS_INLINE float largest_of_lanes(vector numbers) {
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
        numbers = larger(chosen(numbers, numbers, lane_numbers() ^ half), numbers);
    return numbers[0];
}

/* Turns a square of as many vectors as a vector has lanes: rows become columns. */
ALWAYS_INLINE void turn(vector square[LANES]) {
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2) {
        whole lane = lane_numbers(), is_first = (lane & half) == 0;
        whole upper = (lane & is_first) | ((lane - half + LANES) & ~is_first);
        whole lower = ((lane + half) & is_first) | ((lane + LANES) & ~is_first);
#pragma GCC unroll 16
        for (int row = 0; row < LANES; row++)
            if (!(row & half)) {
                vector one = square[row], other = square[row + half];
                square[row] = chosen(one, other, upper);
                square[row + half] = chosen(one, other, lower);
            }
    }
}

ALWAYS_INLINE float sum_of(const float *row, size_t width) {
    vector totals = {0};
    for (size_t c = 0; c < width; c += LANES) totals += load_first(row + c, width - c);
    return sum_of_lanes(totals);
}

ALWAYS_INLINE float sum_of_squares(const float *row, size_t width, float mean) {
    vector totals = {0};
    for (size_t c = 0; c < width; c += LANES) {
        vector distance = only_first(load_first(row + c, width - c) - mean, width - c);
        totals += distance * distance;
    }
    return sum_of_lanes(totals);
}

/* The sum of the products of two rows. */
ALWAYS_INLINE float product_of(const float *one, const float *other, size_t width) {
    vector totals = {0};
    for (size_t c = 0; c < width; c += LANES)
        totals += load_first(one + c, width - c) * load_first(other + c, width - c);
    return sum_of_lanes(totals);
}

/* e to the power of numbers that are at most 0: two to a whole power, times a polynomial of what
 * is left (the coefficients are those of Cephes' expf). */
ALWAYS_INLINE vector exponential(vector power) {
    const float to_whole = 12582912.0f; /* 1.5 * 2^23: adding it rounds, and shows the bits */
    const float lowest = -87.0f;        /* below, what comes out is as good as 0, and is made 0 */
    whole is_gone = power < lowest;
    vector shifted = power * 1.44269504f + to_whole;
    vector twos = shifted - to_whole;
    vector rest = power - twos * 0.693359375f + twos * 2.12194440e-4f;
    vector sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * rest * rest + rest + 1.0f;
    vector found = (vector)((bits)sum + ((bits)shifted << 23));
    /* What is no number would have been made one by its bits. */
    return where(is_gone, (vector){0}, found + (power - power));
}

ALWAYS_INLINE vector silu(vector number) {
    vector small = exponential(-size_of(number));
    return number * where(number > 0, all(1), small) / (1 + small);
}

/* x times the share of a normal distribution below x (Abramowitz and Stegun, 7.1.26, whose error
 * is at most 1.5e-7). */
ALWAYS_INLINE vector gelu(vector number) {
    vector size = size_of(number) * 0.70710678f;
    vector t = 1 / (1 + size * 0.3275911f);
    vector sum = t * 1.061405429f - 1.453152027f;
    sum = sum * t + 1.421413741f;
    sum = sum * t - 0.284496736f;
    sum = sum * t + 0.254829592f;
    vector above = sum * t * exponential(-size * size) * 0.5f;
    return number * where(number > 0, 1 - above, above);
}

#endif
