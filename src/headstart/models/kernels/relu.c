/* What stands between the two products of a feed-forward that learns: bias and ReLU, in place.
 *
 * `learned_relu.py` fills in `Relu`; the tests hold what comes out to PyTorch's own.
 */

#include <stddef.h>

#include "threads.h"
#include "vectors.h"

typedef struct {
    float *rows;       /* what is bent */
    const float *bias; /* nothing where there is none */
    float *gradient;   /* only backward, as is what follows */
    float *bias_gradients; /* a row for each part, of zeros */
    size_t num_rows, width, num_parts;
} Relu;

/* What `relu.py` must agree with. */
size_t relu_size(void) { return sizeof(Relu); }

static void bend_rows(const void *with, size_t begin, size_t end, size_t part) {
    (void)part;
    const Relu *relu = with;
    for (size_t r = begin; r < end; r++)
        for (size_t c = 0; c < relu->width; c += LANES) {
            size_t num_real = relu->width - c;
            float *place = relu->rows + r * relu->width + c;
            vector numbers = load_first(place, num_real);
            if (relu->bias) numbers += load_first(relu->bias + c, num_real);
            store_first(place, larger((vector){0}, numbers), num_real);
        }
}

static void unbend_rows(const void *with, size_t begin, size_t end, size_t part) {
    const Relu *relu = with;
    for (size_t r = begin; r < end; r++)
        for (size_t c = 0; c < relu->width; c += LANES) {
            size_t place = r * relu->width + c, num_real = relu->width - c;
            float *sums = relu->bias_gradients + part * relu->width + c;
            vector gradient = load_first(relu->gradient + place, num_real);
            gradient = where(load_first(relu->rows + place, num_real) <= 0, (vector){0}, gradient);
            store_first(relu->gradient + place, gradient, num_real);
            store_first(sums, load_first(sums, num_real) + gradient, num_real);
        }
}

void relu_forward(const Relu *relu) { share_rows(bend_rows, relu, relu->num_rows, relu->num_parts); }

void relu_backward(const Relu *relu) {
    share_rows(unbend_rows, relu, relu->num_rows, relu->num_parts);
}
