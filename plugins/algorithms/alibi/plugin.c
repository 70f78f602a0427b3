/* plugin.c - alibi: attention that falls with the distance instead of learned positions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"

#include "tutti/dataset.h"
#include "tutti/device_view.h"

typedef struct alibi {
    const tutti_host *host;
    const tutti_device_view_v1 *view;
    int64_t max_length;
    double scaling;
} alibi;

static tutti_status alibi_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    const tutti_device_view_v1 *view =
        algorithm_service(host, "alibi", TUTTI_DEVICE_VIEW_V1, err);
    if (!view)
        return TUTTI_E_UNSUPPORTED;
    alibi *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "alibi: no memory");
    a->host = host;
    a->view = view;
    a->max_length = tutti_param_i64(params, "max_sequence_length");
    a->scaling = tutti_param_f64(params, "train_sequence_length_scaling");
    *ret_self = a;
    return TUTTI_OK;
}

static int32_t alibi_match(void *self, const tutti_event *event)
{
    const alibi *a = self;
    return event->id == TUTTI_EVENT_INIT ||
           (event->id == TUTTI_EVENT_AFTER_DATALOADER && a->scaling != 1.0);
}

/* The attention is the same but for its biases: its linear layers, or what surgery has made of them,
 * stay. */
static tutti_status bias_attention(const tutti_module_v1 *s, tutti_module m, tutti_error *err)
{
    const tutti_attr on = tutti_attr_i("alibi", 1);
    return surgery_rebuild(s, m, NULL, &on, 1, err);
}

/* An embedding of max_length positions, all zero for good. */
static tutti_status clear_positions(const alibi *a, const tutti_module_v1 *s, tutti_module m,
                                    tutti_error *err)
{
    const tutti_attr length = tutti_attr_i("num_embeddings", a->max_length);
    tutti_tensor table;
    tutti_status status = surgery_rebuild(s, m, NULL, &length, 1, err);
    if (status || (status = s->weight_data(s->ctx, m, "weight", &table, err)))
        return status;
    memset(table.data, 0, tutti_nbytes(&table.desc));
    return s->set_trainable(s->ctx, m, 0, err);
}

/* Every attention of `kind` that has no biases yet. */
static tutti_status bias_all(const alibi *a, const char *kind, uint32_t *count,
                             tutti_error *err)
{
    surgery v = {NULL, NULL, 0, 0};
    tutti_status status = surgery_find(a->host, "alibi", kind, NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++) {
        if (tutti_param_i64(v.s->params(v.s->ctx, v.list[k]), "alibi"))
            continue;
        ++*count;
        status = bias_attention(v.s, v.list[k], err);
    }
    free(v.list);
    return status;
}

/* Positions of a BERT: its embeddings know how many there are. */
static tutti_status clear_bert(const alibi *a, tutti_error *err)
{
    const tutti_attr length = tutti_attr_i("max_position_embeddings", a->max_length);
    surgery v = {NULL, NULL, 0, 0};
    tutti_status status = surgery_find(a->host, "alibi", "bert_embeddings", NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++) {
        const tutti_module table = v.s->child(v.s->ctx, v.list[k], "position_embeddings");
        status = surgery_rebuild(v.s, v.list[k], NULL, &length, 1, err);
        if (status == TUTTI_OK && table)
            status = clear_positions(a, v.s, table, err);
    }
    free(v.list);
    return status;
}

static tutti_status alibi_operate(const alibi *a, tutti_error *err)
{
    const tutti_module_v1 *s = algorithm_service(a->host, "alibi", TUTTI_MODULE_V1, err);
    uint32_t causal = 0, both = 0;
    if (!s)
        return TUTTI_E_UNSUPPORTED;
    tutti_status status = bias_all(a, "causal_self_attention", &causal, err);
    if (status == TUTTI_OK)
        status = bias_all(a, "attention_heads", &both, err);
    const tutti_module wpe = causal ? s->child(s->ctx, s->root(s->ctx), "wpe") : 0;
    if (status == TUTTI_OK && wpe)
        status = clear_positions(a, s, wpe, err);
    if (status == TUTTI_OK && both)
        status = clear_bert(a, err);
    if (status)
        return status;
    surgery_report(a->host, "alibi/num_attention_layers", causal + both,
                   "alibi has no effect: the model has no self-attention without it");
    return TUTTI_OK;
}

/* Every column (B, S, ...) becomes (B / scaling, S scaling, ...). */
static tutti_status alibi_reshape(const alibi *a, tutti_error *err)
{
    const tutti_device_view_v1 *v = a->view;
    char text[96];
    tutti_status status = TUTTI_OK;
    for (char name[2] = "0"; status == TUTTI_OK && name[0] < (char)('0' + TUTTI_MAX_COLUMNS);
         name[0]++) {
        tutti_error past = TUTTI_ERROR_INIT; /* the last column has been */
        tutti_tensor t, to;
        if (v->get(v->ctx, name, &t, &past))
            break;
        const int64_t b = t.desc.dim[0], s = t.desc.dim[1];
        const int64_t wide = (int64_t)((double)b / a->scaling);
        const int64_t shorter = (int64_t)((double)s * a->scaling);
        if (t.desc.rank < 2 || wide * shorter != b * s || wide * shorter == 0)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "alibi: column %s is %s, want sequences (B, S) that "
                              "train_sequence_length_scaling %g divides",
                              name, tutti_desc_text(&t.desc, text, sizeof text), a->scaling);
        t.desc.dim[0] = wide;
        t.desc.dim[1] = shorter;
        if ((status = v->renew(v->ctx, name, &t.desc, &to, err)))
            return status;
        status =
            v->copy(v->ctx, to.data, t.data, tutti_nbytes(&t.desc), TUTTI_COPY_ON_DEVICE, err);
    }
    return status;
}

static tutti_status alibi_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                tutti_error *err)
{
    (void)ret_exit_code;
    return event->id == TUTTI_EVENT_INIT ? alibi_operate(self, err) : alibi_reshape(self, err);
}

ALGORITHM_PLUGIN("alibi", .open = alibi_open, .match = alibi_match, .apply = alibi_apply,
                 .close = surgery_close);
