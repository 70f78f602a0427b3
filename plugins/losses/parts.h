/* parts.h - the shell of a loss that compares the parts of a sample: pairs or triples of rows of numbers, which are the
 * parts of one output (B, P, D), or P outputs (B, D).  The including file defines what loss_plugin.h wants, and
 * LOSS_PARTS first; loss_of_parts instead of loss_emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOSS_PARTS_H
#define LOSS_PARTS_H

#include "loss_plugin.h"

/* The plugin's own: the losses of samples, (B), of parts (B, D) each; 0 after an error. */
static tutti_value loss_of_parts(const loss *l, tutti_graph *g, const tutti_value *part,
                                 const tutti_loss_input *in);

static inline tutti_value loss_parts_refuse(tutti_graph *g, const tutti_loss_input *in)
{
    const tutti_desc x = *g->desc(g, in->outputs[0]);
    char text[320], a[96];
    (void)snprintf(text, sizeof text,
                   "%u output%s, the first of which is %s, want F32 (B, %d, D), or %d outputs "
                   "(B, D); the model siamese with \"parts\": %d has that",
                   in->noutputs, in->noutputs == 1 ? "" : "s", tutti_desc_text(&x, a, sizeof a),
                   LOSS_PARTS, LOSS_PARTS, LOSS_PARTS);
    (void)g->fail(g, TUTTI_E_SHAPE, text);
    return 0;
}

/* Part k of (B, P, D), as (B, D). */
static inline tutti_value loss_part(tutti_graph *g, tutti_value x, int64_t k)
{
    const tutti_desc d = *g->desc(g, x);
    const int64_t begin[3] = {0, k, 0}, end[3] = {d.dim[0], k + 1, d.dim[2]};
    const int64_t flat[2] = {d.dim[0], d.dim[2]};
    const tutti_attr attr[2] = {tutti_attr_list("begin", begin, 3),
                                tutti_attr_list("end", end, 3)};
    return tutti_reshape(g, g->emit(g, "slice", &x, 1, attr, 2, NULL, 0), flat, 2);
}

static tutti_value loss_emit(const loss *l, tutti_graph *g, const tutti_loss_input *in)
{
    tutti_value part[LOSS_PARTS];
    const tutti_desc x = *g->desc(g, in->outputs[0]);
    if (x.rank == 3 && x.dim[1] == LOSS_PARTS) {
        for (int64_t k = 0; k < LOSS_PARTS; k++)
            part[k] = loss_part(g, in->outputs[0], k);
    } else {
        for (uint32_t k = 0; k < LOSS_PARTS; k++) {
            if (k >= in->noutputs || x.rank != 2 ||
                !tutti_same_shape(g->desc(g, in->outputs[k]), &x))
                return loss_parts_refuse(g, in);
            part[k] = in->outputs[k];
        }
    }
    const tutti_value each = loss_of_parts(l, g, part, in);
    return each ? loss_reduce(l, g, each, in->reduction) : 0;
}

/* The sums of rows, (B, D) -> (B). */
static inline tutti_value loss_row_sums(tutti_graph *g, tutti_value v)
{
    const int64_t last = 1;
    return tutti_reduce(g, "sum", v, &last, 1, 0);
}

#endif
