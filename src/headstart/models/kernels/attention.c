/* Attention of whole batches that learn, forward and backward, on as many threads as there are.
 *
 * Libraries pass over memory between the products of one head, and hold what a text may not see
 * against every score. A text of some hundred pieces fits into a core's cache: here one thread does
 * one head of one text from its queries, keys and values to their gradients, up to the text's own
 * length, and of a causal one nothing that lies in the future.
 *
 * Queries, keys and values lie side by side as one product leaves them: (texts, positions, 3 * width),
 * in each third head by head; so do their gradients. What was mixed lies as (texts, positions, width).
 * It works with the threads that PyTorch has, where those are OpenMP's, and else on one.
 *
 * `learned_attention.py` fills in `Batch`; the tests hold what comes out to PyTorch's own.
 */

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "attention.h"
#include "products.h"
#include "threads.h"
#include "vectors.h"

/* Positions whose weights are held at once, backward: a whole number of blocks. */
#define CHUNK (MOST_ROWS * 14)

typedef struct {
    float *joint;           /* queries, keys and values */
    const float *bias;      /* added to them in place, forward; nothing where there is none */
    const int64_t *lengths; /* how many positions of each text are real, all where it is nothing */
    float *mixed, *log_totals;
    const float *mixed_gradient; /* only backward, as is what follows */
    float *joint_gradient;
    float *bias_gradients; /* a row for each text */
    size_t num_texts, num_positions, num_heads, head_width;
    float *scratch;
    size_t num_threads;
    int is_causal;
} Batch;

/* One head of one text. */
typedef struct {
    Matrix queries, keys, values;
    size_t num_positions, head_width, text, head;
} Task;

/* What `attention.py` must agree with. */
size_t batch_size(void) { return sizeof(Batch); }

/* How many numbers each thread needs to work with. */
size_t thread_scratch_size(size_t num_positions, size_t head_width) {
    size_t row = panels_of(num_positions) * PANEL;
    return 3 * num_positions * whole_vectors(head_width) + 2 * row * head_width + 2 * CHUNK * row;
}

static Task task_of(const Batch *batch, size_t number) {
    size_t text = number / batch->num_heads, head = number % batch->num_heads;
    size_t width = batch->num_heads * batch->head_width, stride = 3 * width;
    const float *first = batch->joint + text * batch->num_positions * stride + head * batch->head_width;
    return (Task){
        .queries = {first, stride},
        .keys = {first + width, stride},
        .values = {first + 2 * width, stride},
        .num_positions = batch->lengths ? (size_t)batch->lengths[text] : batch->num_positions,
        .head_width = batch->head_width,
        .text = text,
        .head = head,
    };
}

/* Copies rows to where there is room behind each for its last vector. */
static Matrix roomy_copy(Matrix rows, size_t num_rows, size_t head_width, float *to) {
    size_t stride = whole_vectors(head_width);
    for (size_t r = 0; r < num_rows; r++)
        memcpy(to + r * stride, rows.numbers + r * rows.stride, head_width * sizeof(float));
    return (Matrix){to, stride};
}

static void clear_rows(float *rows, size_t stride, size_t begin, size_t end, size_t width) {
    for (size_t r = begin; r < end; r++) memset(rows + r * stride, 0, width * sizeof(float));
}

/* ---- forward ---- */

/* Adds the bias to a head's queries, keys and values. */
static void add_bias(const Batch *batch, Task task) {
    size_t width = batch->num_heads * task.head_width, stride = 3 * width;
    for (size_t part = 0; part < 3; part++) {
        const float *bias = batch->bias + part * width + task.head * task.head_width;
        float *rows = batch->joint + (task.queries.numbers - batch->joint) + part * width;
        for (size_t t = 0; t < task.num_positions; t++)
            for (size_t k = 0; k < task.head_width; k += LANES) {
                size_t num_real = task.head_width - k;
                float *place = rows + t * stride + k;
                store_first(place, load_first(place, num_real) + load_first(bias + k, num_real),
                            num_real);
            }
    }
}

static void mix(const Batch *batch, Task task, float *scratch) {
    size_t width = batch->num_heads * task.head_width, n = task.num_positions;
    float *out = batch->mixed + task.text * batch->num_positions * width + task.head * task.head_width;
    float *log_totals =
        batch->log_totals + (task.text * batch->num_heads + task.head) * batch->num_positions;
    if (batch->bias) add_bias(batch, task);
    Matrix values = roomy_copy(task.values, n, task.head_width, scratch);
    attend(task.queries, task.keys, values, n, (Range){0, n}, task.head_width, batch->is_causal,
           scratch + n * values.stride, out, width, log_totals);
    clear_rows(out, width, n, batch->num_positions, task.head_width);
}

/* ---- backward ---- */

/* Turns the scores of one position into weights, and gradients of weights into those of scores.
 * Those that it may not see become 0. */
static void bend_back(float *scores, float *gradients, size_t num_visible, size_t num_scores,
                      float scale, float log_total, float mean_gradient) {
    for (size_t s = 0; s < num_scores; s += LANES) {
        vector weight = exponential(load(scores + s) * scale - log_total);
        weight = only_first(weight, s < num_visible ? num_visible - s : 0);
        store(scores + s, weight);
        store(gradients + s, weight * (load(gradients + s) - mean_gradient) * scale);
    }
}

/* Where one head of one text is worked on, backward. */
typedef struct {
    Matrix keys, queries, wanted; /* with room behind each row; what is wanted is of the mix */
    float *turned_keys, *turned_values, *weights, *gradients;
    size_t row; /* numbers in a row of weights */
} Desk;

static Desk set_up(Task task, Matrix wanted, float *scratch) {
    size_t n = task.num_positions, head_width = task.head_width, size = n * whole_vectors(head_width);
    size_t row = panels_of(n) * PANEL;
    Desk desk = {
        .keys = roomy_copy(task.keys, n, head_width, scratch),
        .queries = roomy_copy(task.queries, n, head_width, scratch + size),
        .wanted = roomy_copy(wanted, n, head_width, scratch + 2 * size),
        .turned_keys = scratch + 3 * size,
        .row = row,
    };
    desk.turned_values = desk.turned_keys + row * head_width;
    desk.weights = desk.turned_values + row * head_width;
    desk.gradients = desk.weights + CHUNK * row;
    lay_out_turned(task.keys, n, head_width, desk.turned_keys);
    lay_out_turned(task.values, n, head_width, desk.turned_values);
    return desk;
}

/* Products of a few rows with so many columns of panels. */
static void score(Matrix rows, size_t num_rows, const float *panels, size_t depth,
                  size_t num_scores, float *out, size_t row) {
    for (size_t s = 0; s < num_scores; s += PANEL)
        any_block(num_rows, rows, (Matrix){panels + s * depth, PANEL}, depth,
                  at_most_a_panel(num_scores - s), (After){0}, out + s, row);
}

/* Adds to the gradients of some keys or values what the positions of a chunk ask of them: the
 * product of weights that lie as columns. The first to be added replaces what is there. */
static void add_turned(const float *weights, size_t row, size_t num_rows, Matrix asking,
                       size_t num_asking, size_t head_width, int is_first, float *out,
                       size_t out_stride) {
    for (size_t k = 0; k < head_width; k += PANEL)
        stepping_block(num_rows, (Matrix){weights, 1}, row,
                       (Matrix){asking.numbers + k, asking.stride}, num_asking,
                       at_most_a_panel(head_width - k),
                       (After){.residual = {is_first ? NULL : out + k, out_stride}}, out + k,
                       out_stride);
}

static Matrix from_row(Matrix rows, size_t begin) {
    return (Matrix){rows.numbers + begin * rows.stride, rows.stride};
}

static void sum_columns(Matrix rows, size_t num_rows, size_t width, float *out) {
    for (size_t c = 0; c < width; c += LANES) {
        vector total = {0};
        for (size_t r = 0; r < num_rows; r++)
            total += load_first(rows.numbers + r * rows.stride + c, width - c);
        store_first(out + c, total, width - c);
    }
}

static void unmix(const Batch *batch, Task task, float *scratch) {
    size_t n = task.num_positions, head_width = task.head_width;
    size_t width = batch->num_heads * head_width, stride = 3 * width;
    size_t place = task.text * batch->num_positions * width + task.head * head_width;
    const float *mixed = batch->mixed + place, *wanted = batch->mixed_gradient + place;
    const float *log_totals =
        batch->log_totals + (task.text * batch->num_heads + task.head) * batch->num_positions;
    float *query_gradient = batch->joint_gradient + (task.queries.numbers - batch->joint);
    float *key_gradient = query_gradient + width, *value_gradient = key_gradient + width;
    float scale = 1 / sqrtf((float)head_width);
    Desk desk = set_up(task, (Matrix){wanted, width}, scratch);
    for (size_t part = 0; part < 3; part++)
        clear_rows(query_gradient + part * width, stride, n, batch->num_positions, head_width);

    for (size_t chunk = 0; chunk < n; chunk += CHUNK) {
        size_t end = n - chunk < CHUNK ? n : chunk + CHUNK;
        for (size_t begin = chunk; begin < end; begin += MOST_ROWS) {
            size_t num_rows = end - begin < MOST_ROWS ? end - begin : MOST_ROWS;
            size_t num_seen = batch->is_causal ? begin + num_rows : n;
            size_t num_scores = whole_vectors(num_seen);
            float *weights = desk.weights + (begin - chunk) * desk.row;
            float *gradients = desk.gradients + (begin - chunk) * desk.row;
            score(from_row(desk.queries, begin), num_rows, desk.turned_keys, head_width, num_scores,
                  weights, desk.row);
            score(from_row(desk.wanted, begin), num_rows, desk.turned_values, head_width,
                  num_scores, gradients, desk.row);
            for (size_t r = 0, t = begin; r < num_rows; r++, t++)
                bend_back(weights + r * desk.row, gradients + r * desk.row,
                          batch->is_causal ? t + 1 : n, num_scores, scale, log_totals[t],
                          product_of(mixed + t * width, wanted + t * width, head_width));
            for (size_t k = 0; k < head_width; k += PANEL)
                any_block(num_rows, (Matrix){gradients, desk.row},
                          (Matrix){desk.keys.numbers + k, desk.keys.stride}, num_seen,
                          at_most_a_panel(head_width - k), (After){0},
                          query_gradient + begin * stride + k, stride);
        }
        for (size_t s = 0; s < (batch->is_causal ? end : n); s += MOST_ROWS) {
            size_t most = batch->is_causal ? end : n;
            size_t num_rows = most - s < MOST_ROWS ? most - s : MOST_ROWS;
            /* Of a causal text only later positions ask, and those of a chunk are the first. */
            size_t first = batch->is_causal && s > chunk ? s : chunk, num_asking = end - first;
            int is_first = batch->is_causal ? s >= chunk : chunk == 0;
            size_t from = (first - chunk) * desk.row + s;
            add_turned(desk.gradients + from, desk.row, num_rows, from_row(desk.queries, first),
                       num_asking, head_width, is_first, key_gradient + s * stride, stride);
            add_turned(desk.weights + from, desk.row, num_rows, from_row(desk.wanted, first),
                       num_asking, head_width, is_first, value_gradient + s * stride, stride);
        }
    }
    for (size_t part = 0; part < 3; part++)
        sum_columns((Matrix){query_gradient + part * width, stride}, n, head_width,
                    batch->bias_gradients + (task.text * 3 + part) * width +
                        task.head * head_width);
}

/* ---- all heads of all texts ---- */

typedef struct {
    const Batch *batch;
    void (*act)(const Batch *, Task, float *);
    atomic_size_t num_begun;
} Work;

/* Takes one head after another until there is none left. */
static void take_part(void *with, size_t thread) {
    Work *work = with;
    const Batch *batch = work->batch;
    size_t number, num_tasks = batch->num_texts * batch->num_heads;
    size_t size = thread_scratch_size(batch->num_positions, batch->head_width);
    while ((number = atomic_fetch_add(&work->num_begun, 1)) < num_tasks)
        work->act(batch, task_of(batch, number), batch->scratch + thread * size);
}

static void for_all(const Batch *batch, void (*act)(const Batch *, Task, float *)) {
    Work work = {batch, act, 0};
    share_out(take_part, &work, batch->num_threads);
}

/* Whether there are threads to share it. */
int has_threads(void) { return GOMP_parallel && omp_get_thread_num; }

void attend_forward(const Batch *batch) { for_all(batch, mix); }

void attend_backward(const Batch *batch) { for_all(batch, unmix); }
