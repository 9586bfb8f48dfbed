/* What follows a branch of a layer that learns: its bias, dropout, the sum with what the branch
 * read, and the norm of the sum, forward and backward, each in one pass over memory.
 *
 * `learned_residual.py` fills in `Residual`; the tests hold what comes out to PyTorch's own.
 */

#include <math.h>
#include <stddef.h>

#include "draws.h"
#include "threads.h"
#include "vectors.h"

typedef struct {
    const float *hidden, *branch;
    const float *bias; /* added to each row of the branch; nothing where there is none */
    Dropping dropping;
    const float *gain, *shift;
    float epsilon;
    float *normed, *distances, *scales; /* a norm is distances from the mean, each row's to scale */
    const float *normed_gradient;       /* only backward, as is what follows */
    float *hidden_gradient, *branch_gradient;
    float *gain_gradients, *shift_gradients, *bias_gradients; /* a row for each part, of zeros */
    size_t num_rows, width, num_parts;
} Residual;

/* What `residual.py` must agree with. */
size_t residual_size(void) { return sizeof(Residual); }

/* What is left of the numbers of a branch. */
ALWAYS_INLINE vector kept(const Residual *residual, size_t place, vector numbers) {
    return residual->dropping.lowest_kept ? left_of(residual->dropping, place, numbers) : numbers;
}

static void norm_rows(const void *with, size_t begin, size_t end, size_t part) {
    (void)part;
    const Residual *residual = with;
    const float *bias = residual->bias, *gain = residual->gain, *shift = residual->shift;
    size_t width = residual->width;
    for (size_t r = begin; r < end; r++) {
        float *distances = residual->distances + r * width;
        vector total = {0};
        for (size_t c = 0; c < width; c += LANES) {
            size_t place = r * width + c, num_real = width - c;
            vector branch = load_first(residual->branch + place, num_real);
            if (bias) branch += load_first(bias + c, num_real);
            vector sum = load_first(residual->hidden + place, num_real) +
                         kept(residual, place, branch);
            total += sum;
            store_first(distances + c, sum, num_real);
        }
        float mean = sum_of_lanes(total) / width;
        float scale =
            1 / sqrtf(sum_of_squares(distances, width, mean) / width + residual->epsilon);
        residual->scales[r] = scale;
        for (size_t c = 0; c < width; c += LANES) {
            size_t num_real = width - c;
            vector distance = (load_first(distances + c, num_real) - mean) * scale;
            vector normed = distance * load_first(gain + c, num_real);
            if (shift) normed += load_first(shift + c, num_real);
            store_first(distances + c, distance, num_real);
            store_first(residual->normed + r * width + c, normed, num_real);
        }
    }
}

ALWAYS_INLINE void add_to(float *sums, vector numbers, size_t num_real) {
    store_first(sums, load_first(sums, num_real) + numbers, num_real);
}

static void unnorm_rows(const void *with, size_t begin, size_t end, size_t part) {
    const Residual *residual = with;
    size_t width = residual->width;
    const float *gain = residual->gain;
    float *gain_gradient = residual->gain_gradients + part * width;
    float *shift_gradient = residual->shift_gradients + part * width;
    float *bias_gradient = residual->bias_gradients + part * width;
    for (size_t r = begin; r < end; r++) {
        const float *distances = residual->distances + r * width;
        const float *normed_gradient = residual->normed_gradient + r * width;
        float scale = residual->scales[r];
        vector total = {0}, total_along = {0};
        for (size_t c = 0; c < width; c += LANES) {
            size_t num_real = width - c;
            vector wanted = load_first(normed_gradient + c, num_real);
            vector distance = load_first(distances + c, num_real);
            vector gradient = wanted * load_first(gain + c, num_real);
            total += gradient;
            total_along += gradient * distance;
            add_to(gain_gradient + c, wanted * distance, num_real);
            add_to(shift_gradient + c, wanted, num_real);
        }
        float mean = sum_of_lanes(total) / width, along = sum_of_lanes(total_along) / width;
        for (size_t c = 0; c < width; c += LANES) {
            size_t place = r * width + c, num_real = width - c;
            vector gradient =
                load_first(normed_gradient + c, num_real) * load_first(gain + c, num_real);
            gradient = (gradient - mean - load_first(distances + c, num_real) * along) * scale;
            store_first(residual->hidden_gradient + place, gradient, num_real);
            gradient = kept(residual, place, gradient);
            store_first(residual->branch_gradient + place, gradient, num_real);
            add_to(bias_gradient + c, gradient, num_real);
        }
    }
}

void residual_forward(const Residual *residual) {
    share_rows(norm_rows, residual, residual->num_rows, residual->num_parts);
}

void residual_backward(const Residual *residual) {
    share_rows(unnorm_rows, residual, residual->num_rows, residual->num_parts);
}
