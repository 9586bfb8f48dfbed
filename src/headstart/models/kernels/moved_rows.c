/* Rows of a table that AdamW moves: taken from where they lie, moved and put back in one pass.
 *
 * Each first catches up with the steps that did not name it, by factors that `rowwise.py` knows.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "threads.h"
#include "vectors.h"

typedef struct {
    float *table, *means, *squares;
    const int64_t *rows;   /* which rows are moved, each once */
    const float *gradient; /* a row for each of them */
    /* For each of them what it catches up by: how far it glides, by what the root of its squares is
     * corrected on the way, and what is left of weights, means and squares. */
    const float *glides, *corrections, *weights_left, *means_left, *squares_left;
    /* Of the step itself: what is left of weights and squares, the shares of the gradient in both
     * moments, by what the root is corrected, how far to move, and what no size is below. */
    float weight_left, square_left, mean_share, square_share, correction, rate, epsilon;
    size_t num_rows, width, num_parts;
} MovedRows;

/* What `moved_rows.py` must agree with. */
size_t moved_rows_size(void) { return sizeof(MovedRows); }

ALWAYS_INLINE vector root(vector numbers) {
#if defined(__AVX512F__)
    return (vector)_mm512_sqrt_ps((__m512)numbers);
#else
    return (vector)_mm256_sqrt_ps((__m256)numbers);
#endif
}

static void move_part(const void *with, size_t begin, size_t end, size_t part) {
    (void)part;
    const MovedRows *moved = with;
    size_t width = moved->width;
    for (size_t r = begin; r < end; r++) {
        size_t place = (size_t)moved->rows[r] * width;
        float glide = moved->glides[r], correction = moved->corrections[r];
        for (size_t c = 0; c < width; c += LANES) {
            size_t num_real = width - c;
            float *weights = moved->table + place + c;
            float *means = moved->means + place + c, *squares = moved->squares + place + c;
            vector gradient = load_first(moved->gradient + r * width + c, num_real);
            vector weight = load_first(weights, num_real), mean = load_first(means, num_real);
            vector square = load_first(squares, num_real);
            weight -= glide * mean / (root(square) * correction + moved->epsilon);
            weight *= moved->weights_left[r] * moved->weight_left;
            mean *= moved->means_left[r];
            mean += moved->mean_share * (gradient - mean);
            square = square * (moved->squares_left[r] * moved->square_left) +
                     moved->square_share * gradient * gradient;
            weight -= moved->rate * mean / (root(square) * moved->correction + moved->epsilon);
            store_first(weights, weight, num_real);
            store_first(means, mean, num_real);
            store_first(squares, square, num_real);
        }
    }
}

void move_rows(const MovedRows *moved) {
    share_rows(move_part, moved, moved->num_rows, moved->num_parts);
}
