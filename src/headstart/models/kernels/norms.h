/* Rows of numbers brought to one size, as LayerNorm and RMSNorm do it. */

#ifndef HEADSTART_NORMS_H
#define HEADSTART_NORMS_H

#include <math.h>
#include <stddef.h>

#include "vectors.h"

typedef struct {
    const float *gain; /* without one, vectors stay as they are */
    const float *shift;
    float epsilon;
    int is_centred; /* whether the mean is taken off first */
} Norm;

/* Returns the rows normed, in `out` unless they stay as they are. */
static const float *normed(Norm norm, const float *rows, size_t num_rows, size_t width,
                           float *out) {
    if (!norm.gain) return rows;
    for (size_t r = 0; r < num_rows; r++) {
        const float *row = rows + r * width;
        float mean = norm.is_centred ? sum_of(row, width) / width : 0;
        float scale = 1 / sqrtf(sum_of_squares(row, width, mean) / width + norm.epsilon);
        for (size_t column = 0; column < width; column++) {
            float number = (row[column] - mean) * scale * norm.gain[column];
            out[r * width + column] = norm.shift ? number + norm.shift[column] : number;
        }
    }
    return out;
}

#endif
