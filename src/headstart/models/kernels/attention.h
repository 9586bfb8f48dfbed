/* Attention of one head: scores, their softmax, and the mix of values. */

#ifndef HEADSTART_ATTENTION_H
#define HEADSTART_ATTENTION_H

#include <math.h>
#include <stddef.h>

#include "products.h"
#include "vectors.h"

/* Which positions are asked for. */
typedef struct {
    size_t begin, num_rows;
} Range;

/* Turns the scores of one position into weights that still lack their division, and returns by
 * what to divide; `most` becomes the highest score. Scores behind what it may see become 0. */
static float soften(float *scores, size_t num_visible, size_t num_scores, float scale,
                    float *most) {
    vector highest = all(-INFINITY), total = {0};
    for (size_t s = num_visible; s < num_scores; s++) scores[s] = -INFINITY;
    for (size_t s = 0; s < num_scores; s += LANES) highest = larger(load(scores + s), highest);
    *most = largest_of_lanes(highest);
    for (size_t s = 0; s < num_scores; s += LANES) {
        vector score = load(scores + s);
        vector weight = exponential((score - *most) * scale);
        weight = where(score == -INFINITY, (vector){0}, weight);
        store(scores + s, weight);
        total += weight;
    }
    return sum_of_lanes(total);
}

/* Softmax(QKᵀ/√K)V of one head for the positions that are asked for, whose queries are all there
 * is of them; `scratch` has room for its keys in panels and a block of scores. Where `log_totals` is
 * something, it becomes the logarithm of what each position's exponentials add up to. */
static void attend(Matrix queries, Matrix keys, Matrix values, size_t num_positions, Range asked,
                   size_t head_width, int is_causal, float *scratch, float *out,
                   size_t out_stride, float *log_totals) {
    size_t num_blocks = blocks_of(asked.num_rows), row = panels_of(num_positions) * PANEL;
    float *scores = scratch + row * head_width, totals[MOST_ROWS];
    float scale = 1 / sqrtf((float)head_width);
    lay_out_turned(keys, num_positions, head_width, scratch);
    for (size_t b = 0; b < num_blocks; b++) {
        size_t begin = asked.num_rows * b / num_blocks;
        size_t num_rows = asked.num_rows * (b + 1) / num_blocks - begin;
        size_t place = asked.begin + begin;
        size_t num_seen = is_causal ? place + num_rows : num_positions;
        Matrix asking = {queries.numbers + begin * queries.stride, queries.stride};
        /* Whole vectors: what is behind the last one seen is a number, and becomes 0. */
        size_t num_scores = whole_vectors(num_seen);
        for (size_t s = 0; s < num_scores; s += PANEL)
            any_block(num_rows, asking, (Matrix){scratch + s * head_width, PANEL}, head_width,
                      at_most_a_panel(num_scores - s), (After){0}, scores + s, row);
        for (size_t r = 0; r < num_rows; r++) {
            float most;
            totals[r] = soften(scores + r * row, is_causal ? place + r + 1 : num_seen,
                               num_scores, scale, &most);
            if (log_totals) log_totals[begin + r] = most * scale + logf(totals[r]);
        }
        float *mixed = out + begin * out_stride;
        for (size_t k = 0; k < head_width; k += PANEL)
            any_block(num_rows, (Matrix){scores, row},
                      (Matrix){values.numbers + k, values.stride}, num_seen,
                      at_most_a_panel(head_width - k), (After){0}, mixed + k, out_stride);
        for (size_t r = 0; r < num_rows; r++)
            for (size_t k = 0; k < head_width; k += LANES) {
                float *place = mixed + r * out_stride + k;
                store_first(place, load_first(place, head_width - k) * (1 / totals[r]),
                            head_width - k);
            }
    }
}

#endif
