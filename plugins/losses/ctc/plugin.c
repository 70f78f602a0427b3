/* plugin.c - ctc: sequences of classes whose places in the output are not known. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "ctc"
#define LOSS_WHOLE "blank"
#define LOSS_FLAG "zero_infinity"
#include "../loss_plugin.h"

static tutti_value ctc_refuse(const tutti_loss_input *in, tutti_graph *g)
{
    const tutti_desc x = *g->desc(g, in->outputs[0]), y = *g->desc(g, in->targets[0]);
    char text[400], a[96], b[96];
    (void)snprintf(
        text, sizeof text,
        "the output is %s and the target %s, want F32 (B, T, N) and classes (B, S); the model "
        "cnn with \"columns\": true has a row of outputs for each step",
        tutti_desc_text(&x, a, sizeof a), tutti_desc_text(&y, b, sizeof b));
    (void)g->fail(g, TUTTI_E_SHAPE, text);
    return 0;
}

/* How many classes each target has, (B): those that are not negative. */
static tutti_value ctc_lengths(tutti_graph *g, tutti_value y)
{
    const tutti_attr below = tutti_attr_i("kind", 2);
    const tutti_value in[2] = {loss_cast(g, y, TUTTI_F32), loss_number(g, 0.0)};
    const int64_t last = 1;
    const tutti_value ends = g->emit(g, "cmp", in, 2, &below, 1, NULL, 0);
    return tutti_reduce(g, "sum", tutti_affine(g, ends, -1.0, 1.0), &last, 1, 0);
}

/* The mean is over samples of what a class of theirs costs, as torch has it. */
static tutti_value loss_emit(const loss *l, tutti_graph *g, const tutti_loss_input *in)
{
    const tutti_desc x = *g->desc(g, in->outputs[0]), y = *g->desc(g, in->targets[0]);
    const tutti_attr least = tutti_attr_f("min", 1.0);
    const tutti_attr attr[2] = {tutti_attr_i("blank", l->whole),
                                tutti_attr_i("zero_infinity", l->flag)};
    const tutti_value values[3] = {in->outputs[0], in->targets[0],
                                   in->ntargets > 1 ? in->targets[1] : 0};
    if (x.rank != 3 || y.rank != 2 || !loss_is_class(y.dtype) || x.dim[0] != y.dim[0])
        return ctc_refuse(in, g);
    if (l->whole >= x.dim[2]) {
        char text[120];
        (void)snprintf(text, sizeof text, "blank is %lld, and the output has %lld classes",
                       (long long)l->whole, (long long)x.dim[2]);
        (void)g->fail(g, TUTTI_E_RANGE, text);
        return 0;
    }
    tutti_value each = g->emit(g, "ctc", values, in->ntargets > 1 ? 3 : 2, attr, 2, NULL, 0);
    if (l->reduction == LOSS_MEAN) {
        const tutti_value n = ctc_lengths(g, in->targets[0]);
        each = tutti_div(g, each, g->emit(g, "clamp", &n, 1, &least, 1, NULL, 0));
    }
    return loss_reduce(l, g, each, in->reduction);
}
