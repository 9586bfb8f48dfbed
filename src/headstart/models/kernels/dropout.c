/* Dropout of whole batches that learn, forward and backward alike.
 *
 * `learned_dropout.py` fills in `Dropped`; the tests hold what comes out to the same hash in numpy.
 */

#include <stddef.h>

#include "draws.h"
#include "threads.h"
#include "vectors.h"

/* Numbers that are a thread's least share. */
#define ROW (64 * LANES)

typedef struct {
    const float *numbers;
    float *left;
    Dropping dropping;
    size_t num_numbers, num_parts;
} Dropped;

/* What `dropout.py` must agree with. */
size_t dropped_size(void) { return sizeof(Dropped); }

static void drop_part(const void *with, size_t begin, size_t end, size_t part) {
    (void)part;
    const Dropped *dropped = with;
    size_t last = end * ROW < dropped->num_numbers ? end * ROW : dropped->num_numbers;
    for (size_t place = begin * ROW; place < last; place += LANES) {
        vector numbers = load_first(dropped->numbers + place, last - place);
        store_first(dropped->left + place, left_of(dropped->dropping, place, numbers), last - place);
    }
}

void drop(const Dropped *dropped) {
    share_rows(drop_part, dropped, (dropped->num_numbers + ROW - 1) / ROW, dropped->num_parts);
}
