/* op_traits_test.c - every built-in operation says all that compilers ask, and what it says holds together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "op_table.h"
#include "tutti/pointwise_group.h"
#include "tutti_check.h"

#include <string.h>

static const tutti_op *find(const char *name)
{
    for (const tutti_op *const *op = tutti_op_table; *op; op++)
        if (name && strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
}

/* Operations for which 0 is the answer, where others that need the field must not have 0. */
typedef struct zero {
    const char *field, *op, *reason;
} zero;

static const zero zeros[] = {
    {"low_out", "conv2d_grad_weight", "the gradient of an F32 weight stays F32"},
    {"low_out", "conv2d_grad_weight_add", "likewise: it is added to one"},
    {"batch_out", "conv2d_grad_weight", "a weight's gradient has no dimension of samples"},
};
enum { ZEROS = sizeof zeros / sizeof *zeros };

static bool is_zero(const char *field, const char *op)
{
    for (int k = 0; k < ZEROS; k++)
        if (strcmp(zeros[k].field, field) == 0 && strcmp(zeros[k].op, op) == 0)
            return true;
    return false;
}

/* Whether an operation says a fusion `with` that gives this one. */
static bool is_fused_by(const tutti_op *op, int32_t with)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const char *into = traits_fusion(*it, with);
        if (into && strcmp(into, op->name) == 0)
            return true;
    }
    return false;
}

/* A result may be stored in 16 bits: of a product, or by the cast that was fused into the operation. */
static bool has_low_results(const tutti_op *op)
{
    return traits_of(op)->precision == TUTTI_AUTOCAST_PRODUCT ||
           is_fused_by(op, TUTTI_FUSE_CAST);
}

static bool has_batches(const tutti_op *op)
{
    return traits_of(op)->batch != TUTTI_BATCH_WHOLE;
}

#define SAID(field)                                                                            \
    ck_assert_msg(t->field != 0, "%s: it does not say `%s` (tutti/op_traits.h)", op->name,     \
                  #field)
#define AGREES(condition, field)                                                               \
    ck_assert_msg(condition, "%s: `%s` does not fit: want %s", op->name, field, #condition)

START_TEST(every_operation_says_every_field)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const tutti_op *op = *it;
        const tutti_op_traits *t = traits_of(op);
        ck_assert_msg(t->struct_size == sizeof *t && op->traits == t, "%s: it has no `traits`",
                      op->name);
        SAID(precision);
        SAID(batch);
        SAID(fold);
        SAID(rematerialize);
        SAID(work);
        SAID(pointwise);
        SAID(role);
    }
}
END_TEST

/* 0 of these is legal and gives F32, or all samples at once: forgotten, they cost time alone. */
#define SAID_WHERE(needed, field)                                                              \
    AGREES(needed || t->field == 0, #field);                                                   \
    ck_assert_msg(!(needed) || (t->field != 0) != is_zero(#field, op->name),                   \
                  "%s: `%s` is %#x, want %s", op->name, #field, t->field,                      \
                  t->field ? "0, as `zeros` of this test has it"                               \
                           : "the results' bits, or a row of `zeros` in this test")

START_TEST(results_in_16_bits_and_by_batches_are_said)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const tutti_op *op = *it;
        const tutti_op_traits *t = traits_of(op);
        SAID_WHERE(has_low_results(op), low_out);
        SAID_WHERE(has_batches(op), batch_out);
        AGREES(t->batch != TUTTI_BATCH_SUMMED || !(t->batch_out & 1), "batch_out");
    }
    for (int k = 0; k < ZEROS; k++) {
        const tutti_op *op = find(zeros[k].op);
        const bool low = strcmp(zeros[k].field, "low_out") == 0;
        ck_assert_msg(op && (low ? has_low_results(op) : has_batches(op)),
                      "%s: its row \"%s\" is no longer needed", zeros[k].op, zeros[k].field);
    }
}
END_TEST

/* What is said of results that lie where an operand lies: the operand is there, and is that of one result. */
START_TEST(updates_name_operands)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const tutti_op *op = *it;
        const uint8_t *updates = traits_of(op)->updates;
        uint32_t seen = 0;
        for (uint32_t k = 0; updates && k < op->nout; k++) {
            AGREES(updates[k] <= op->nin_min, "updates");
            AGREES(!updates[k] || !(seen >> updates[k] & 1), "updates");
            seen |= 1u << updates[k];
        }
        AGREES(!updates || seen > 1, "updates");
    }
}
END_TEST

START_TEST(what_a_field_needs_is_there)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const tutti_op *op = *it;
        const tutti_op_traits *t = traits_of(op);
        const bool by = t->rematerialize >= TUTTI_REMATERIALIZE_BY;
        const bool acts =
            t->role == TUTTI_ROLE_ACTIVATION || t->role == TUTTI_ROLE_ACTIVATION_GRAD;
        AGREES((t->precision == TUTTI_AUTOCAST_PRODUCT) == (t->low_in != 0), "low_in");
        AGREES(t->low_in >> op->nin_max == 0 && t->low_out >> op->nout == 0, "low_out");
        AGREES((t->batch != TUTTI_BATCH_WHOLE) == (t->batch_in != 0), "batch_in");
        AGREES(t->batch_nin <= op->nin_max && t->batch_in >> op->nin_max == 0, "batch_nin");
        AGREES(t->batch_out >> op->nout == 0, "batch_out");
        AGREES((t->fold == TUTTI_FOLD_IDENTITY) == (t->identity != NULL), "identity");
        AGREES(!(op->flags & TUTTI_OP_RNG) || t->fold == TUTTI_FOLD_NEVER, "fold");
        AGREES((t->work == TUTTI_WORK_PRODUCTS) == (t->flops != NULL), "flops");
        AGREES(by == (t->substitute != NULL), "substitute");
        AGREES(acts == (t->activation != NULL), "activation");
        AGREES(t->role != TUTTI_ROLE_ACTIVATION_GRAD || op->nin_min == 2, "role");
    }
}
END_TEST

START_TEST(fusions_lead_to_operations_and_come_in_pairs)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const tutti_op *op = *it;
        for (const tutti_fusion *f = traits_of(op)->fusions; f && f->with; f++)
            ck_assert_msg(find(f->into) != NULL, "%s: `fusions`: there is no operation \"%s\"",
                          op->name, f->into ? f->into : "");
        AGREES(!traits_fusion(op, TUTTI_FUSE_ACTIVATION) ==
                   !traits_fusion(op, TUTTI_FUSE_ACTIVATION_KEPT),
               "fusions");
        AGREES(!traits_fusion(op, TUTTI_FUSE_ACTIVATION_MASK) ==
                   !traits_fusion(op, TUTTI_FUSE_MASK_GRAD),
               "fusions");
    }
}
END_TEST

/* What says that device code has its expression is in the list that the build makes of the folders, and
 * the other way round; elementwise operations are pointwise. */
START_TEST(pointwise_is_what_the_fused_kernel_has)
{
    const tutti_op *group = NULL;
    for (const tutti_op *const *it = tutti_op_table; *it; it++)
        if (traits_have_role(*it, TUTTI_ROLE_POINTWISE_GROUP))
            group = *it;
    ck_assert_ptr_nonnull(group);
    for (const tutti_op *const *it = tutti_op_table; *it; it++) {
        const tutti_op *op = *it;
        const tutti_pointwise_op link = {.op = op};
        const tutti_pointwise_group one = {sizeof one, 1, &link};
        const tutti_op_call call = {.struct_size = sizeof call, .attr = &one};
        const bool code = group->infer(&call, NULL, NULL) == TUTTI_OK;
        const bool elementwise =
            op->flags & TUTTI_OP_ELEMENTWISE && !(op->flags & (TUTTI_OP_RNG | TUTTI_OP_VIEW));
        const int32_t pointwise = traits_of(op)->pointwise;
        AGREES((pointwise == TUTTI_POINTWISE_CODE) == code, "pointwise");
        AGREES((pointwise != TUTTI_POINTWISE_NONE) == elementwise, "pointwise");
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("op_traits");
    TCase *t = tcase_create("table");
    tcase_add_test(t, every_operation_says_every_field);
    tcase_add_test(t, results_in_16_bits_and_by_batches_are_said);
    tcase_add_test(t, updates_name_operands);
    tcase_add_test(t, what_a_field_needs_is_there);
    tcase_add_test(t, fusions_lead_to_operations_and_come_in_pairs);
    tcase_add_test(t, pointwise_is_what_the_fused_kernel_has);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
