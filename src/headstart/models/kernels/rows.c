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
 * `single_row.py` fills in `Trunk`; the tests hold what comes out to what `trunks.py` says.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "attention.h"
#include "norms.h"
#include "products.h"

typedef struct {
    const float *panels;
    const float *bias;
    size_t depth, num_columns;
} Product;

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

/* What `rows.py` must agree with. */
size_t panel_width(void) { return PANEL; }

size_t layer_size(void) { return sizeof(Layer); }

size_t trunk_size(void) { return sizeof(Trunk); }

/* ---- products ---- */

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

/* ---- the layer ---- */

/* Bends numbers in place; of gated ones, one half by the other, which moves rows together. */
static void bend(float *rows, size_t num_rows, size_t width, int activation) {
    if (activation == GELU)
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

/* Lays out a desk, and returns how many numbers it takes. Behind all that is read in vectors there
 * is room for one. */
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
               head_width, trunk->is_causal, desk->rest, desk->mixed + head, width, NULL);
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
