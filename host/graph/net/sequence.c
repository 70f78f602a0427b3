/* sequence.c - graphs that go on with sequences: what layers ask for while they trace, and where it is kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/sequence.h"
#include "graph/runtime/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sequence_trace *sequence_trace_create(int64_t length, int64_t wanted)
{
    sequence_trace *q = calloc(1, sizeof *q);
    if (q)
        *q = (sequence_trace){.length = length, .wanted = wanted};
    return q;
}

void sequence_trace_destroy(sequence_trace *q)
{
    if (!q)
        return;
    free(q->uses);
    free(q);
}

bool sequence_fits(const sequence_trace *q, int64_t context)
{
    return !q || q->wanted == context;
}

uint32_t sequence_count(const sequence_trace *q)
{
    return q ? q->nuses : 0;
}

uint64_t sequence_bytes(const sequence_trace *q)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < sequence_count(q); k++)
        sum += bytes_round(tutti_nbytes(&q->uses[k].rows->desc));
    return sum;
}

void sequence_want(const sequence_trace *q, bool *wanted)
{
    for (uint32_t k = 0; k < sequence_count(q); k++)
        wanted[q->uses[k].after] = true;
}

void sequence_adopt(sequence_trace *q, const tutti_value *map)
{
    for (uint32_t k = 0; k < sequence_count(q); k++) {
        q->uses[k].before = map[q->uses[k].before];
        q->uses[k].after = map[q->uses[k].after];
    }
}

uint32_t sequence_list_stores(const sequence_trace *q, program_store *stores)
{
    for (uint32_t k = 0; k < sequence_count(q); k++) {
        const sequence_use *u = &q->uses[k];
        stores[k] = (program_store){.value = u->after,
                                    .kind = STORE_MEMORY,
                                    .before = u->before,
                                    .memory = u->rows->memory,
                                    .bytes = tutti_nbytes(&u->rows->desc)};
    }
    return sequence_count(q);
}

void sequence_rows_drop(net *n)
{
    while (n->storage.rows) {
        sequence_rows *next = n->storage.rows->next;
        device_free(n->options.device, n->storage.rows->memory);
        free(n->storage.rows->name);
        free(n->storage.rows);
        n->storage.rows = next;
    }
}

/* Those of the module by this name and shape, taken now if need be; NULL: out of memory. */
static const sequence_rows *find_rows(net *n, tutti_module m, const char *name,
                                      const tutti_desc *d)
{
    for (sequence_rows *r = n->storage.rows; r; r = r->next)
        if (r->m == m && strcmp(r->name, name) == 0 && tutti_same_shape(&r->desc, d))
            return r;
    sequence_rows *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (sequence_rows){.m = m, .desc = *d};
    r->name = strdup(name);
    r->memory = device_alloc(n->options.device, tutti_nbytes(d));
    if (!r->name || !r->memory) {
        device_free(n->options.device, r->memory);
        free(r->name);
        free(r);
        return NULL;
    }
    r->next = n->storage.rows;
    n->storage.rows = r;
    return r;
}

tutti_value sequence_position(void *ctx, graph *g, int64_t most)
{
    net *n = ctx;
    sequence_trace *q = n->tracing.sequence;
    tutti_graph *b = graph_builder(g);
    char text[128];
    if (!q)
        return 0;
    q->asked = q->asked || n->tracing.depth == 0;
    if (most > 0 && (q->most == 0 || most < q->most))
        q->most = most;
    if (q->context && q->most && q->most < q->context) {
        (void)b->fail(b, TUTTI_E_STATE,
                      "position: a layer before this one keeps longer sequences");
        return 0;
    }
    (void)snprintf(text, sizeof text, "%lld tokens at once, the model has %lld positions",
                   (long long)q->length, (long long)q->most);
    if (q->most && q->length > q->most) {
        (void)b->fail(b, TUTTI_E_RANGE, text);
        return 0;
    }
    return q->position;
}

tutti_value sequence_cache(void *ctx, graph *g, tutti_module m, const char *name,
                           tutti_value rows)
{
    net *n = ctx;
    sequence_trace *q = n->tracing.sequence;
    tutti_graph *b = graph_builder(g);
    tutti_desc d = *b->desc(b, rows);
    if (!q || b->status(b))
        return 0;
    if (d.dtype != TUTTI_F32 || d.rank < 2 || d.dim[1] != q->length) {
        (void)b->fail(b, TUTTI_E_SHAPE, "cache: want rows F32 (B, T, ...) of the new tokens");
        return 0;
    }
    q->context = q->context ? q->context : q->most ? q->most : q->wanted;
    d.dim[1] = q->context;
    const sequence_rows *kept = find_rows(n, m, name, &d);
    sequence_use *uses = realloc(q->uses, (q->nuses + 1) * sizeof *uses);
    q->uses = uses ? uses : q->uses;
    if (!kept || !uses) {
        (void)b->fail(b, TUTTI_E_NOMEM, "no memory for what a layer keeps of a sequence");
        return 0;
    }
    const tutti_value before = graph_input(g, &d);
    const tutti_value in[3] = {before, rows, q->position};
    const tutti_value after = b->emit(b, "cache_write", in, 3, NULL, 0, NULL, 0);
    q->uses[q->nuses++] = (sequence_use){kept, before, after};
    return after;
}
