/* One pass over the logits of positions: what each loses by its target, and the gradient in place.
 *
 * A row stays in a core's cache while its bias is added, its exponentials are taken and its
 * gradient is written, in single precision whatever the logits are in.
 * `compiled_pass.py` fills in `Vocabulary`; the tests hold what comes out to PyTorch's own.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "threads.h"
#include "vectors.h"

typedef struct {
    void *logits;           /* rows of pieces, padded to whole vectors */
    const float *bias;      /* nothing where there is none */
    const int64_t *targets; /* a piece for each row */
    const float *counted;   /* as how many answers a row counts; nothing where each is one */
    float *losses;
    float *bias_gradients; /* a row for each part, to which is added; nothing where none is wanted */
    float *scratch;        /* a row for each part, where logits are in half precision */
    float smoothing;
    int is_half, is_learning;
    size_t num_rows, num_pieces, row_size, num_parts;
} Vocabulary;

/* What `vocabulary.py` must agree with. */
size_t vocabulary_size(void) { return sizeof(Vocabulary); }

/* Adds the bias to a row of logits and leaves the sums in single precision; returns the highest of
 * them, and the sum of all. */
ALWAYS_INLINE float read_row(const Vocabulary *asked, const void *from, int is_half, float *row,
                             float *total) {
    vector highest = all(-INFINITY), totals = {0};
    for (size_t c = 0; c < asked->num_pieces; c += LANES) {
        size_t num_real = asked->num_pieces - c;
        vector logits = is_half ? load_half((const bf16 *)from + c) : load((const float *)from + c);
        if (asked->bias) logits += load_first(asked->bias + c, num_real);
        if (num_real < LANES)
            logits = where(lane_numbers() < (int)num_real, logits, all(-INFINITY));
        store(row + c, logits);
        highest = larger(logits, highest);
        if (asked->smoothing) totals += only_first(logits, num_real);
    }
    *total = asked->smoothing ? sum_of_lanes(totals) : 0;
    return largest_of_lanes(highest);
}

/* Leaves the exponentials of a row, and returns their sum. */
ALWAYS_INLINE float raise_row(const Vocabulary *asked, float *row, float highest) {
    vector totals = {0};
    for (size_t c = 0; c < asked->num_pieces; c += LANES) {
        vector powers = exponential(load(row + c) - highest);
        totals += powers;
        if (asked->is_learning) store(row + c, powers);
    }
    return sum_of_lanes(totals);
}

/* Writes the gradient of a row's loss, whose exponentials have the target's share taken off. */
ALWAYS_INLINE void write_gradient(const Vocabulary *asked, void *to, int is_half, const float *row,
                                  float scale, float spread, float *bias_gradient) {
    for (size_t c = 0; c < asked->num_pieces; c += LANES) {
        vector gradient = load(row + c) * scale - spread;
        if (is_half)
            store_half((bf16 *)to + c, gradient);
        else
            store((float *)to + c, gradient);
        if (bias_gradient) {
            size_t num_real = asked->num_pieces - c;
            store_first(bias_gradient + c, load_first(bias_gradient + c, num_real) + gradient,
                        num_real);
        }
    }
}

ALWAYS_INLINE void answer_row(const Vocabulary *asked, size_t r, int is_half, float *scratch,
                              float *bias_gradient) {
    size_t size = is_half ? sizeof(bf16) : sizeof(float);
    void *logits = (char *)asked->logits + r * asked->row_size * size;
    float *row = is_half ? scratch : logits;
    float counted = asked->counted ? asked->counted[r] : 1, certainty = 1 - asked->smoothing, total;
    float highest = read_row(asked, logits, is_half, row, &total);
    float wanted = certainty * row[asked->targets[r]];
    wanted += asked->smoothing * (total / (float)asked->num_pieces);
    float sum = raise_row(asked, row, highest);
    /* The highest has one part of the sum, which so never vanishes. */
    asked->losses[r] = (logf(sum) + (highest - wanted)) * counted;
    if (!asked->is_learning) return;
    row[asked->targets[r]] -= certainty * sum;
    write_gradient(asked, logits, is_half, row, counted / sum,
                   counted * asked->smoothing / (float)asked->num_pieces, bias_gradient);
}

static void answer_rows(const void *with, size_t begin, size_t end, size_t part) {
    const Vocabulary *asked = with;
    float *scratch = asked->is_half ? asked->scratch + part * asked->row_size : NULL;
    float *bias_gradient =
        asked->bias_gradients ? asked->bias_gradients + part * asked->num_pieces : NULL;
    for (size_t r = begin; r < end; r++)
        if (asked->is_half)
            answer_row(asked, r, 1, scratch, bias_gradient);
        else
            answer_row(asked, r, 0, scratch, bias_gradient);
}

void answer(const Vocabulary *asked) {
    share_rows(answer_rows, asked, asked->num_rows, asked->num_parts);
}
