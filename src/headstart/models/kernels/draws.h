/* Which numbers are dropped: a function of a seed and of a number's place, so that nothing has to be
 * drawn beforehand or kept. */

#ifndef HEADSTART_DRAWS_H
#define HEADSTART_DRAWS_H

#include <stddef.h>
#include <stdint.h>

#include "vectors.h"

typedef struct {
    uint64_t seed;
    uint32_t lowest_kept; /* draws below it drop their numbers; 0 drops none */
    float kept_factor;    /* what the others are multiplied by */
} Dropping;

/* Bits that look drawn, a function of a seed and a number's place: a hash whose steps can be undone
 * (with multipliers that Wellons's search found), once for the place, once more for all of the seed. */
ALWAYS_INLINE bits scrambled(bits number) {
    number ^= number >> 16;
    number *= 0x21f0aaadu;
    number ^= number >> 15;
    number *= 0xd35a2d97u;
    return number ^ (number >> 15);
}

ALWAYS_INLINE bits drawn_at(uint64_t seed, size_t place) {
    bits number = (bits)lane_numbers() + (unsigned)place + (unsigned)seed;
    return scrambled(scrambled(number) ^ ((unsigned)(seed >> 32) + (unsigned)(place >> 32)));
}

/* What is left of numbers from one place on. */
ALWAYS_INLINE vector left_of(Dropping dropping, size_t place, vector numbers) {
    whole is_kept = drawn_at(dropping.seed, place) >= dropping.lowest_kept;
    return numbers * where(is_kept, all(dropping.kept_factor), (vector){0});
}

#endif
