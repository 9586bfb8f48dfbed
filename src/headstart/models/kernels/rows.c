/* A trunk that reads one text, on one core, from its pieces to their vectors.
 *
 * Libraries for matrix products are made for large ones. For the hundred rows of a short text they
 * lay weights out anew each time, what follows a product passes over memory once more, and calling
 * for it all takes as long again. Here weights lie in panels, laid out once; a block of rows is
 * multiplied in registers, and what follows is done before it leaves them.
 *
 * A matrix (depth, columns) lies in panels of PANEL columns: panel by panel, in each the rows, in
 * each row PANEL numbers. The last panel is filled up with zeros. Everything else lies row by row.
 * All numbers are in single precision; strides count numbers; a null pointer is nothing.
 *
 * Vectors are those of GCC and Clang; the same file is compiled for each kind of processor.
 * `single_row.py` fills in `Trunk`; the tests hold what comes out to what `trunks.py` says.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 16
#define MOST_ROWS 9 /* with three vectors each, 27 of 32 registers */
#else
#define LANES 8
#define MOST_ROWS 4 /* 12 of 16 */
#endif
#define NUM_VECTORS 3
#define PANEL (NUM_VECTORS * LANES)

/* Rows may begin anywhere, so that vectors are loaded and stored unaligned. */
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int whole __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef struct {
    const float *panels;
    const float *bias;
    size_t depth, num_columns;
} Product;

typedef struct {
    const float *gain; /* without one, vectors stay as they are */
    const float *shift;
    float epsilon;
    int is_centred; /* whether the mean is taken off first */
} Norm;

typedef enum { RELU, GELU, GATED_SILU } Activation;

typedef struct {
    Product query, key_value, attention_output, inner, output;
    Norm attention_norm, feed_forward_norm;
} Layer;

typedef struct {
    const float *pieces; /* the table of all, each `width` numbers */
    const float *added;  /* what a piece gets for its place, each `width` numbers */
    const float *cosines, *sines; /* for each place a head's width, where positions are rotations */
    const Layer *layers;
    size_t num_pieces, width, num_layers, num_heads;
    Norm embedding_norm, norm;
    float piece_scale;
    int is_pre_norm, is_causal, activation; /* a number of `Activation` */
} Trunk;

typedef struct {
    const float *numbers;
    size_t stride;
} Matrix;

/* Which positions a layer is done for. */
typedef struct {
    size_t begin, num_rows;
} Range;

/* What is done with the sums of a product before they are stored. */
typedef struct {
    const float *bias;
    Matrix residual; /* as large as the product, and added to it */
    int is_relu;
} After;

size_t panel_width(void) { return PANEL; }

/* ---- vectors ---- */

ALWAYS_INLINE vector load(const float *from) { return *(const vector *)from; }

ALWAYS_INLINE void store(float *to, vector numbers) { *(vector *)to = numbers; }

/* Loads the first numbers alone, or stores them: what stands behind them is somebody else's. */
ALWAYS_INLINE vector load_first(const float *from, size_t num_loaded) {
    vector numbers = {0};
    if (num_loaded >= LANES) return load(from);
    for (size_t lane = 0; lane < num_loaded; lane++) numbers[lane] = from[lane];
    return numbers;
}

ALWAYS_INLINE void store_first(float *to, vector numbers, size_t num_stored) {
    if (num_stored >= LANES)
        store(to, numbers);
    else
        for (size_t lane = 0; lane < num_stored; lane++) to[lane] = numbers[lane];
}

ALWAYS_INLINE vector all(float number) { return (vector){0} + number; }

ALWAYS_INLINE vector where(whole is_so, vector one, vector other) {
    return (vector)(((whole)one & is_so) | ((whole)other & ~is_so));
}

/* Of two that cannot be compared the second, so that what is no number stays none. */
ALWAYS_INLINE vector larger(vector one, vector other) { return where(one > other, one, other); }

ALWAYS_INLINE vector size_of(vector numbers) { return (vector)((whole)numbers & 0x7fffffff); }

ALWAYS_INLINE float sum_of_lanes(vector numbers) {
    float sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += numbers[lane];
    return sum;
}

/* e to the power of numbers that are at most 0: two to a whole power, times a polynomial of what
 * is left (the coefficients are those of Cephes' expf). */
ALWAYS_INLINE vector exponential(vector power) {
    const float to_whole = 12582912.0f; /* 1.5 * 2^23: adding it rounds, and shows the bits */
    power = larger(all(-87.0f), power);
    vector shifted = power * 1.44269504f + to_whole;
    vector twos = shifted - to_whole;
    vector rest = power - twos * 0.693359375f + twos * 2.12194440e-4f;
    vector sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * rest * rest + rest + 1.0f;
    return (vector)((whole)sum + ((whole)shifted << 23));
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

/* ---- products ---- */

/* Multiplies a few rows by up to three vectors of columns, whose rows are `weights.stride` apart. */
ALWAYS_INLINE void block(const int num_rows, const int num_vectors, Matrix rows, Matrix weights,
                         size_t depth, float *out, size_t out_stride) {
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
                sum[r][v] += rows.numbers[r * rows.stride + k] * weight[v];
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
            block(n, 3, rows, weights, depth, sums, PANEL);     \
        else if (num_columns > LANES)                           \
            block(n, 2, rows, weights, depth, sums, PANEL);     \
        else                                                    \
            block(n, 1, rows, weights, depth, sums, PANEL);     \
        break;

/* Multiplies a few rows by at most a panel of columns, and does what is to be done after. */
static void any_block(size_t num_rows, Matrix rows, Matrix weights, size_t depth,
                      size_t num_columns, After after, float *out, size_t out_stride) {
    /* Whole vectors, of which only what is real is taken on. */
    float sums[MOST_ROWS * PANEL];
    switch (num_rows) {
        ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if MOST_ROWS > 4
        ROWS(5) ROWS(6) ROWS(7) ROWS(8) ROWS(9)
#endif
    }
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

ALWAYS_INLINE size_t panels_of(size_t num_columns) { return (num_columns + PANEL - 1) / PANEL; }

ALWAYS_INLINE size_t blocks_of(size_t num_rows) { return (num_rows + MOST_ROWS - 1) / MOST_ROWS; }

ALWAYS_INLINE size_t at_most_a_panel(size_t num_columns) {
    return num_columns < PANEL ? num_columns : PANEL;
}

/* The product with each row, bent where `is_relu`, plus a residual where there is one. */
static void multiply(Product product, const float *rows, size_t num_rows, int is_relu,
                     const float *residual, float *out) {
    size_t depth = product.depth, width = product.num_columns, num_blocks = blocks_of(num_rows);
    /* A panel stays in the nearest cache while all rows pass by. */
    for (size_t column = 0; column < width; column += PANEL) {
        Matrix panel = {product.panels + column * depth, PANEL};
        for (size_t b = 0; b < num_blocks; b++) {
            size_t begin = num_rows * b / num_blocks, end = num_rows * (b + 1) / num_blocks;
            size_t place = begin * width + column;
            After after = {
                .bias = product.bias ? product.bias + column : NULL,
                .residual = {residual ? residual + place : NULL, width},
                .is_relu = is_relu,
            };
            any_block(end - begin, (Matrix){rows + begin * depth, depth}, panel, depth,
                      at_most_a_panel(width - column), after, out + place, width);
        }
    }
}

/* ---- attention ---- */

/* Turns queries or keys by their positions, first halves together with second ones. */
static void rotate(float *rows, size_t stride, size_t num_rows, size_t num_heads, Matrix cosines,
                   Matrix sines) {
    size_t head_width = cosines.stride, half = head_width / 2;
    for (size_t t = 0; t < num_rows; t++)
        for (size_t h = 0; h < num_heads; h++) {
            float *first = rows + t * stride + h * head_width, *second = first + half;
            const float *cosine = cosines.numbers + t * head_width;
            const float *sine = sines.numbers + t * head_width;
            for (size_t k = 0; k < half; k++) {
                float one = first[k], other = second[k];
                first[k] = one * cosine[k] - other * sine[k];
                second[k] = other * cosine[half + k] + one * sine[half + k];
            }
        }
}

/* Turns the scores of one position into weights that still lack their division, and returns by
 * what to divide. Scores behind what it may see become 0. */
static float soften(float *scores, size_t num_visible, size_t num_scores, float scale) {
    vector highest = all(-INFINITY), total = {0};
    for (size_t s = num_visible; s < num_scores; s++) scores[s] = -INFINITY;
    for (size_t s = 0; s < num_scores; s += LANES) highest = larger(load(scores + s), highest);
    float most = highest[0];
    for (int lane = 1; lane < LANES; lane++) most = highest[lane] > most ? highest[lane] : most;
    for (size_t s = 0; s < num_scores; s += LANES) {
        vector score = load(scores + s);
        vector weight = exponential((score - most) * scale);
        weight = where(score > -INFINITY, weight, (vector){0});
        store(scores + s, weight);
        total += weight;
    }
    return sum_of_lanes(total);
}

/* Lays the keys of one head out as a matrix (head_width, num_positions) in panels. */
static void lay_out_keys(Matrix keys, size_t num_positions, size_t head_width, float *panels) {
    for (size_t s = 0; s < panels_of(num_positions) * PANEL; s++) {
        float *column = panels + s / PANEL * head_width * PANEL + s % PANEL;
        const float *key = keys.numbers + s * keys.stride;
        for (size_t k = 0; k < head_width; k++)
            column[k * PANEL] = s < num_positions ? key[k] : 0;
    }
}

/* Softmax(QKᵀ/√K)V of one head for the positions that are asked for, whose queries are all there
 * is of them; `scratch` has room for its keys in panels and a block of scores. */
static void attend(Matrix queries, Matrix keys, Matrix values, size_t num_positions, Range asked,
                   size_t head_width, int is_causal, float *scratch, float *out,
                   size_t out_stride) {
    size_t num_blocks = blocks_of(asked.num_rows), row = panels_of(num_positions) * PANEL;
    float *scores = scratch + row * head_width, totals[MOST_ROWS];
    float scale = 1 / sqrtf((float)head_width);
    lay_out_keys(keys, num_positions, head_width, scratch);
    for (size_t b = 0; b < num_blocks; b++) {
        size_t begin = asked.num_rows * b / num_blocks;
        size_t num_rows = asked.num_rows * (b + 1) / num_blocks - begin;
        size_t place = asked.begin + begin;
        size_t num_seen = is_causal ? place + num_rows : num_positions;
        Matrix asking = {queries.numbers + begin * queries.stride, queries.stride};
        /* Whole panels: what is behind the last one seen is a number, and becomes 0. */
        for (size_t s = 0; s < num_seen; s += PANEL)
            any_block(num_rows, asking, (Matrix){scratch + s * head_width, PANEL}, head_width,
                      PANEL, (After){0}, scores + s, row);
        for (size_t r = 0; r < num_rows; r++)
            totals[r] = soften(scores + r * row, is_causal ? place + r + 1 : num_seen,
                               panels_of(num_seen) * PANEL, scale);
        float *mixed = out + begin * out_stride;
        for (size_t k = 0; k < head_width; k += PANEL)
            any_block(num_rows, (Matrix){scores, row},
                      (Matrix){values.numbers + k, values.stride}, num_seen,
                      at_most_a_panel(head_width - k), (After){0}, mixed + k, out_stride);
        for (size_t r = 0; r < num_rows; r++)
            for (size_t k = 0; k < head_width; k++) mixed[r * out_stride + k] *= 1 / totals[r];
    }
}

/* ---- norms ---- */

static float sum_of(const float *row, size_t width) {
    vector totals = {0};
    size_t column = 0;
    for (; column + LANES <= width; column += LANES) totals += load(row + column);
    float sum = sum_of_lanes(totals);
    for (; column < width; column++) sum += row[column];
    return sum;
}

static float sum_of_squares(const float *row, size_t width, float mean) {
    vector totals = {0};
    size_t column = 0;
    for (; column + LANES <= width; column += LANES) {
        vector distance = load(row + column) - mean;
        totals += distance * distance;
    }
    float sum = sum_of_lanes(totals);
    for (; column < width; column++) sum += (row[column] - mean) * (row[column] - mean);
    return sum;
}

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

/* ---- the layer ---- */

/* Bends numbers in place; of gated ones, one half by the other, which moves rows together. */
static void bend(float *rows, size_t num_rows, size_t width, int activation) {
    if (activation == GELU)
        /* There is room for a vector behind the last number. */
        for (size_t place = 0; place < num_rows * width; place += LANES)
            store(rows + place, gelu(load(rows + place)));
    if (activation != GATED_SILU) return;
    for (size_t r = 0; r < num_rows; r++)
        for (size_t column = 0; column < width; column += LANES) {
            const float *gate = rows + 2 * r * width + column;
            store_first(rows + r * width + column, silu(load(gate)) * load(gate + width),
                        width - column);
        }
}

/* Where a text is worked on: what is asked and answered, and what comes of it. */
typedef struct {
    float *queries, *keys_and_values, *mixed, *sum, *read, *inner, *rest;
} Desk;

/* Everything with room for a vector behind it. */
static size_t set_up(const Trunk *trunk, size_t num_positions, float *scratch, Desk *desk) {
    size_t size = num_positions * trunk->width + PANEL;
    size_t inner = num_positions * trunk->layers[0].inner.num_columns + PANEL;
    size_t head_width = trunk->width / trunk->num_heads;
    float **places[] = {&desk->queries, &desk->keys_and_values, &desk->mixed, &desk->sum,
                        &desk->read,    &desk->inner,           &desk->rest};
    size_t sizes[] = {size, 2 * size, size, size, size, inner,
                      panels_of(num_positions) * PANEL * (head_width + MOST_ROWS)};
    size_t total = 0;
    for (size_t part = 0; part < sizeof sizes / sizeof *sizes; part++) {
        *places[part] = scratch + total;
        total += sizes[part];
    }
    return total;
}

/* Leaves in `desk->mixed` what the positions that are asked for take of all. */
static void attend_to_all(const Trunk *trunk, const Layer *layer, const float *reading,
                          size_t num_positions, Range asked, Desk *desk) {
    size_t width = trunk->width, head_width = width / trunk->num_heads;
    multiply(layer->query, reading + asked.begin * width, asked.num_rows, 0, NULL, desk->queries);
    multiply(layer->key_value, reading, num_positions, 0, NULL, desk->keys_and_values);
    if (trunk->cosines) {
        Matrix cosines = {trunk->cosines, head_width}, sines = {trunk->sines, head_width};
        size_t begin = asked.begin * head_width;
        rotate(desk->keys_and_values, 2 * width, num_positions, trunk->num_heads, cosines, sines);
        cosines.numbers += begin;
        sines.numbers += begin;
        rotate(desk->queries, width, asked.num_rows, trunk->num_heads, cosines, sines);
    }
    for (size_t h = 0; h < trunk->num_heads; h++) {
        size_t head = h * head_width;
        Matrix keys = {desk->keys_and_values + head, 2 * width};
        Matrix values = {desk->keys_and_values + width + head, 2 * width};
        attend((Matrix){desk->queries + head, width}, keys, values, num_positions, asked,
               head_width, trunk->is_causal, desk->rest, desk->mixed + head, width);
    }
}

/* The vectors of the positions that are asked for after a layer. */
static void read_layer(const Trunk *trunk, const Layer *layer, const float *hidden,
                       size_t num_positions, Range asked, Desk *desk, float *out) {
    size_t width = trunk->width, num_rows = asked.num_rows;
    int is_pre_norm = trunk->is_pre_norm;
    const float *reading = hidden;
    if (is_pre_norm)
        reading = normed(layer->attention_norm, hidden, num_positions, width, desk->read);
    attend_to_all(trunk, layer, reading, num_positions, asked, desk);
    multiply(layer->attention_output, desk->mixed, num_rows, 0, hidden + asked.begin * width,
             desk->sum);

    Norm between = is_pre_norm ? layer->feed_forward_norm : layer->attention_norm;
    reading = normed(between, desk->sum, num_rows, width, desk->read);
    multiply(layer->inner, reading, num_rows, trunk->activation == RELU, NULL, desk->inner);
    bend(desk->inner, num_rows, layer->output.depth, trunk->activation);
    multiply(layer->output, desk->inner, num_rows, 0, is_pre_norm ? desk->sum : reading, out);
    if (!is_pre_norm) normed(layer->feed_forward_norm, out, num_rows, width, out);
}

/* The first vectors of pieces; returns whether the trunk knows all of these. */
static int embed(const Trunk *trunk, const int64_t *pieces, size_t num_positions, float *out) {
    size_t width = trunk->width;
    for (size_t t = 0; t < num_positions; t++) {
        if (pieces[t] < 0 || (size_t)pieces[t] >= trunk->num_pieces) return 0;
        const float *piece = trunk->pieces + pieces[t] * width;
        float *row = out + t * width;
        for (size_t column = 0; column < width; column++)
            row[column] = piece[column] * trunk->piece_scale;
        if (trunk->added)
            for (size_t column = 0; column < width; column++)
                row[column] += trunk->added[t * width + column];
    }
    normed(trunk->embedding_norm, out, num_positions, width, out);
    return 1;
}

/* How many numbers `read_text` needs to work with. */
size_t scratch_size(const Trunk *trunk, size_t num_positions) {
    Desk desk;
    return num_positions * trunk->width + set_up(trunk, num_positions, NULL, &desk);
}

/* The vectors of some positions of a text, for which alone the last layer is done; returns whether
 * the trunk knows all pieces, without which there are none. */
int read_text(const Trunk *trunk, const int64_t *pieces, size_t num_positions, size_t first_asked,
              size_t num_asked, float *scratch, float *out) {
    Desk desk;
    Range asked = {first_asked, num_asked}, all_of_them = {0, num_positions};
    float *hidden = scratch + set_up(trunk, num_positions, scratch, &desk);
    if (!embed(trunk, pieces, num_positions, hidden)) return 0;
    for (size_t number = 0; number + 1 < trunk->num_layers; number++)
        read_layer(trunk, &trunk->layers[number], hidden, num_positions, all_of_them, &desk,
                   hidden);
    read_layer(trunk, &trunk->layers[trunk->num_layers - 1], hidden, num_positions, asked, &desk,
               out);
    normed(trunk->norm, out, num_asked, trunk->width, out);
    return 1;
}
