/* Products of a few rows and a panel of columns, multiplied in registers; what follows a product is
 * done before it leaves the nearest cache. */

#ifndef HEADSTART_PRODUCTS_H
#define HEADSTART_PRODUCTS_H

#include <stddef.h>

#include "vectors.h"

/* Rows that are multiplied at once: three vectors of sums for each leave a register for each vector
 * of weights, and one or two more. */
#define NUM_VECTORS 3
#define MOST_ROWS ((NUM_REGISTERS - NUM_VECTORS - 1) / NUM_VECTORS)
#define PANEL (NUM_VECTORS * LANES)

typedef struct {
    const float *numbers;
    size_t stride;
} Matrix;

/* What is done with the sums of a product before they are stored. */
typedef struct {
    const float *bias;
    Matrix residual; /* as large as the product, and added to it */
    int is_relu;
} After;

/* Multiplies a few rows by up to three vectors of columns, whose rows are `weights.stride` apart.
 * Along a row numbers are `step` apart, which is a constant 1 but where rows lie as columns. */
ALWAYS_INLINE void block(const int num_rows, const int num_vectors, Matrix rows, size_t step,
                         Matrix weights, size_t depth, float *out, size_t out_stride) {
    vector sum[MOST_ROWS][NUM_VECTORS];
#pragma GCC unroll 9
    for (int r = 0; r < num_rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < num_vectors; v++) sum[r][v] = (vector){0};
    for (size_t k = 0; k < depth; k++) {
        const float *row_of_weights = weights.numbers + k * weights.stride;
        vector weight[NUM_VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < num_vectors; v++) weight[v] = load(row_of_weights + v * LANES);
#pragma GCC unroll 9
        for (int r = 0; r < num_rows; r++)
#pragma GCC unroll 3
            for (int v = 0; v < num_vectors; v++)
                sum[r][v] += rows.numbers[r * rows.stride + k * step] * weight[v];
    }
#pragma GCC unroll 9
    for (int r = 0; r < num_rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < num_vectors; v++) store(out + r * out_stride + v * LANES, sum[r][v]);
}

/* Code for each number of rows and vectors, so that all sums are registers. */
#define ROWS(n)                                                 \
    case n:                                                     \
        if (num_columns > 2 * LANES)                            \
            block(n, 3, rows, step, weights, depth, to, to_stride); \
        else if (num_columns > LANES)                           \
            block(n, 2, rows, step, weights, depth, to, to_stride); \
        else                                                    \
            block(n, 1, rows, step, weights, depth, to, to_stride); \
        break;

/* Multiplies a few rows by at most a panel of columns, and does what is to be done after. */
ALWAYS_INLINE void stepping_block(size_t num_rows, Matrix rows, size_t step, Matrix weights,
                                  size_t depth, size_t num_columns, After after, float *out,
                                  size_t out_stride) {
    /* Whole vectors, of which only what is real is taken on. */
    float sums[MOST_ROWS * PANEL];
    int is_all = !after.bias && !after.is_relu && !after.residual.numbers && num_columns % LANES == 0;
    float *to = is_all ? out : sums;
    size_t to_stride = is_all ? out_stride : PANEL;
    switch (num_rows) {
        ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if MOST_ROWS > 4
        ROWS(5) ROWS(6) ROWS(7) ROWS(8) ROWS(9)
#endif
    }
    if (is_all) return;
    for (size_t r = 0; r < num_rows; r++) {
        const float *residual = after.residual.numbers;
        if (residual) residual += r * after.residual.stride;
        for (size_t column = 0; column < num_columns; column += LANES) {
            size_t num_real = num_columns - column;
            vector numbers = load(sums + r * PANEL + column);
            if (after.bias) numbers += load_first(after.bias + column, num_real);
            if (after.is_relu) numbers = larger((vector){0}, numbers);
            if (residual) numbers += load_first(residual + column, num_real);
            store_first(out + r * out_stride + column, numbers, num_real);
        }
    }
}

static void any_block(size_t num_rows, Matrix rows, Matrix weights, size_t depth,
                      size_t num_columns, After after, float *out, size_t out_stride) {
    stepping_block(num_rows, rows, 1, weights, depth, num_columns, after, out, out_stride);
}

ALWAYS_INLINE size_t panels_of(size_t num_columns) { return (num_columns + PANEL - 1) / PANEL; }

ALWAYS_INLINE size_t blocks_of(size_t num_rows) { return (num_rows + MOST_ROWS - 1) / MOST_ROWS; }

/* As many numbers as fill the vectors that hold these. */
ALWAYS_INLINE size_t whole_vectors(size_t num_numbers) {
    return (num_numbers + LANES - 1) / LANES * LANES;
}

ALWAYS_INLINE size_t at_most_a_panel(size_t num_columns) {
    return num_columns < PANEL ? num_columns : PANEL;
}

/* Lays a matrix (num_positions, depth) out turned, as one of (depth, num_positions), in panels. */
static void lay_out_turned(Matrix rows, size_t num_positions, size_t depth, float *panels) {
    for (size_t s = 0; s < panels_of(num_positions) * PANEL; s += LANES) {
        float *columns = panels + s / PANEL * depth * PANEL + s % PANEL;
        for (size_t k = 0; k < depth; k += LANES) {
            vector square[LANES];
#pragma GCC unroll 16
            for (size_t lane = 0; lane < LANES; lane++) {
                const float *from = rows.numbers + (s + lane) * rows.stride + k;
                square[lane] = s + lane < num_positions ? load_first(from, depth - k) : (vector){0};
            }
            turn(square);
#pragma GCC unroll 16
            for (size_t lane = 0; lane < LANES; lane++)
                if (k + lane < depth) store(columns + (k + lane) * PANEL, square[lane]);
        }
    }
}

#endif
