/* traits.c - the check traits: fields of an operation's traits that are 0, where the host falls back without a word. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/bench.h"

#include <stdio.h>
#include <string.h>

typedef struct field {
    const char *name;
    bool unsaid;
} field;

/* The names of those that are unsaid, "batch, fold"; how many. */
static int list_unsaid(const field *fields, size_t n, char *ret, size_t size)
{
    int count = 0;
    size_t at = 0;
    for (size_t k = 0; k < n && at < size; k++)
        if (fields[k].unsaid)
            at += (size_t)snprintf(ret + at, size - at, "%s%s", count++ ? ", " : "",
                                   fields[k].name);
    return count;
}

static int find_unsaid(const tutti_op *op, char *ret, size_t size)
{
    static const tutti_op_traits none = {.struct_size = sizeof none};
    const tutti_op_traits *t =
        TUTTI_HAS(op, tutti_op, traits) && op->traits ? op->traits : &none;
    const bool product = t->precision == TUTTI_AUTOCAST_PRODUCT;
    const bool chunks = t->batch == TUTTI_BATCH_APART || t->batch == TUTTI_BATCH_SUMMED;
    const bool only_sum = t->batch == TUTTI_BATCH_SUMMED && op->nout == 1;
    const bool activation =
        t->role == TUTTI_ROLE_ACTIVATION || t->role == TUTTI_ROLE_ACTIVATION_GRAD;
    const bool code =
        t->pointwise == TUTTI_POINTWISE_CODE && TUTTI_HAS(t, tutti_op_traits, pointwise_cuda);
    const field fields[] = {
        {"precision", !t->precision},
        {"low_in", product && !t->low_in},
        {"low_out", product && !t->low_out},
        {"batch", !t->batch},
        {"batch_nin", chunks && !t->batch_nin},
        {"batch_in", chunks && !t->batch_in},
        {"batch_out", chunks && !only_sum && !t->batch_out},
        {"fold", !t->fold},
        {"identity", t->fold == TUTTI_FOLD_IDENTITY && !t->identity},
        {"rematerialize", !t->rematerialize},
        {"substitute", t->rematerialize >= TUTTI_REMATERIALIZE_BY && !t->substitute},
        {"work", !t->work},
        {"flops", t->work == TUTTI_WORK_PRODUCTS && !t->flops},
        {"pointwise", !t->pointwise},
        {"pointwise_cuda", code && !t->pointwise_cuda},
        {"role", !t->role},
        {"activation", activation && !t->activation},
    };
    return list_unsaid(fields, sizeof fields / sizeof *fields, ret, size);
}

/* 0 is legal, so the check passes all the same. */
static void try_traits(bench *b, instance *i)
{
    const tutti_op *op = instance_query(i, TUTTI_OP_V1);
    char names[256];
    child_begin(b->child, CHECK_TRAITS);
    if (!op)
        child_say(b->child, CHECK_TRAITS, CHECK_FAILED, "it answers no " TUTTI_OP_V1);
    else if (find_unsaid(op, names, sizeof names))
        child_say(b->child, CHECK_TRAITS, CHECK_PASSED,
                  "its traits leave at 0, so that the host does what is right for any "
                  "operation: %s (tutti/op_traits.h)",
                  names);
}

void bench_check_traits(child *c, void *subject_)
{
    bench b;
    tutti_error e = TUTTI_ERROR_INIT;
    bool given;
    instance *i = NULL;
    const subject *s = subject_;
    if (strcmp(s->info->kind, TUTTI_KIND_OP) != 0 || !bench_begin(&b, s, c, CHECK_TRAITS))
        return;
    registry_look(s->options->registry, false);
    if (bench_open(&b, NULL, &given, &i, &e))
        child_give_up(c, CHECK_TRAITS, "", &e);
    else {
        try_traits(&b, i);
        instance_free(i);
    }
    bench_end(&b);
}
