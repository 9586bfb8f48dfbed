/* What follows a branch of a layer that learns: dropout, the sum with what the branch read, and the
 * norm of the sum, forward and backward, each in one pass over memory.
 *
 * `learned_residual.py` fills in `Residual`; the tests hold what comes out to PyTorch's own.
 */

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "threads.h"
#include "vectors.h"

typedef struct {
    const float *hidden, *branch;
    const int16_t *draws; /* one for each number of the branch; without them none is dropped */
    int lowest_kept;      /* draws below it drop their numbers */
    float kept_factor;    /* what the others are multiplied by */
    const float *gain, *shift;
    float epsilon;
    float *normed, *distances, *scales; /* a norm is distances from the mean, each row's to scale */
    const float *normed_gradient;       /* only backward, as is what follows */
    float *hidden_gradient, *branch_gradient;
    float *gain_gradients, *shift_gradients; /* a row for each thread, of zeros */
    size_t num_rows, width, num_threads;
} Residual;

/* What `learned_residual.py` must agree with. */
size_t residual_size(void) { return sizeof(Residual); }

/* Which rows are one thread's. Parts are as many as were asked for, however many threads come. */
typedef struct {
    const Residual *residual;
    void (*act)(const Residual *, size_t begin, size_t end, size_t part);
    atomic_size_t num_begun;
} Work;

static void take_rows(void *with, size_t thread) {
    (void)thread;
    Work *work = with;
    const Residual *residual = work->residual;
    size_t part, num_rows = residual->num_rows, num_parts = residual->num_threads;
    while ((part = atomic_fetch_add(&work->num_begun, 1)) < num_parts)
        work->act(residual, num_rows * part / num_parts, num_rows * (part + 1) / num_parts, part);
}

static void add_dropped(const Residual *residual, size_t place, float *restrict sum) {
    const float *restrict hidden = residual->hidden + place, *restrict branch = residual->branch + place;
    size_t width = residual->width;
    if (!residual->draws) {
        for (size_t c = 0; c < width; c++) sum[c] = hidden[c] + branch[c];
        return;
    }
    const int16_t *restrict draws = residual->draws + place;
    float factor = residual->kept_factor;
    int lowest = residual->lowest_kept;
    for (size_t c = 0; c < width; c++)
        sum[c] = hidden[c] + branch[c] * (draws[c] >= lowest ? factor : 0);
}

static void norm_rows(const Residual *residual, size_t begin, size_t end, size_t part) {
    (void)part;
    size_t width = residual->width;
    const float *restrict gain = residual->gain, *restrict shift = residual->shift;
    for (size_t r = begin; r < end; r++) {
        float *restrict distance = residual->distances + r * width;
        float *restrict normed = residual->normed + r * width;
        add_dropped(residual, r * width, distance);
        float mean = sum_of(distance, width) / width;
        float scale =
            1 / sqrtf(sum_of_squares(distance, width, mean) / width + residual->epsilon);
        residual->scales[r] = scale;
        for (size_t c = 0; c < width; c++) {
            distance[c] = (distance[c] - mean) * scale;
            normed[c] = distance[c] * gain[c] + (shift ? shift[c] : 0);
        }
    }
}

static void drop_gradient(const Residual *residual, size_t place) {
    const float *restrict from = residual->hidden_gradient + place;
    float *restrict to = residual->branch_gradient + place, factor = residual->kept_factor;
    const int16_t *restrict draws = residual->draws + place;
    int lowest = residual->lowest_kept;
    for (size_t c = 0; c < residual->width; c++)
        to[c] = from[c] * (draws[c] >= lowest ? factor : 0);
}

static void unnorm_rows(const Residual *residual, size_t begin, size_t end, size_t part) {
    size_t width = residual->width;
    const float *restrict gain = residual->gain;
    float *restrict gain_gradient = residual->gain_gradients + part * width;
    float *restrict shift_gradient = residual->shift_gradients + part * width;
    for (size_t r = begin; r < end; r++) {
        const float *restrict distance = residual->distances + r * width;
        const float *restrict wanted = residual->normed_gradient + r * width;
        float *restrict gradient = residual->hidden_gradient + r * width, scale = residual->scales[r];
        for (size_t c = 0; c < width; c++) {
            gradient[c] = wanted[c] * gain[c];
            gain_gradient[c] += wanted[c] * distance[c];
            shift_gradient[c] += wanted[c];
        }
        float mean = sum_of(gradient, width) / width;
        float along = product_of(gradient, distance, width) / width;
        for (size_t c = 0; c < width; c++)
            gradient[c] = (gradient[c] - mean - distance[c] * along) * scale;
        if (residual->draws) drop_gradient(residual, r * width);
    }
}

void residual_forward(const Residual *residual) {
    Work work = {residual, norm_rows, 0};
    share_out(take_rows, &work, residual->num_threads);
}

void residual_backward(const Residual *residual) {
    Work work = {residual, unnorm_rows, 0};
    share_out(take_rows, &work, residual->num_threads);
}
