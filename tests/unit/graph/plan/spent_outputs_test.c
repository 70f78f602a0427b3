/* spent_outputs_test.c - plans whose outputs' gradients lie where the outputs lay: the same bits, less memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"
#include "op_table.h"
#include "toy_model.h"

enum { B = 64, IN = 8, CLASSES = 1000 };

static tutti_value logits(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    return tutti_matmul(g, x[0], g->weight(g, m, "w"), 0, 0, 1);
}

/* Its backward pass reads the output. */
static tutti_value bounded(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    return tutti_op1(g, "tanh", logits(g, m, x));
}

static tutti_value squares(tutti_graph *g, tutti_value y, tutti_value target)
{
    const int64_t axis = 1;
    return tutti_reduce(g, "mean", tutti_mul(g, tutti_mul(g, y, y), target), &axis, 1, 0);
}

/* Classes go to cross entropy, which can write where it reads; weights to squares, which cannot. */
static tutti_value either(tutti_graph *g, tutti_value y, tutti_value target)
{
    return g->desc(g, target)->dtype == TUTTI_I32 ? tutti_softmax_cross_entropy(g, y, target)
                                                  : squares(g, y, target);
}

/* Two gradients, of which the second reads the output too. */
static tutti_value both(tutti_graph *g, tutti_value y, tutti_value target)
{
    const int64_t axis = 1;
    const tutti_value more = tutti_reduce(g, "mean", tutti_mul(g, y, y), &axis, 1, 0);
    return tutti_add(g, tutti_softmax_cross_entropy(g, y, target), more);
}

/* The gradient reads what was made of the output before. */
static tutti_value exponentials(tutti_graph *g, tutti_value y, tutti_value target)
{
    const int64_t axis = 1;
    return tutti_reduce(g, "mean", tutti_mul(g, tutti_op1(g, "exp", y), target), &axis, 1, 0);
}

typedef tutti_value model_trace(tutti_graph *, tutti_module, const tutti_value *);
typedef tutti_value model_loss(tutti_graph *, tutti_value, tutti_value);

static toy_model model;
static net *n;

static void make(model_trace *trace, model_loss *loss)
{
    static toy_weight w[2];
    const tutti_init init = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    w[0] = (toy_weight){"w", toy_desc(TUTTI_F32, 2, CLASSES, IN, 0, 0), init,
                        TUTTI_WEIGHT_TRAINABLE};
    model = (toy_model){.weights = w, .trace = trace, .loss = loss};
    n = toy_net(tutti_op_table, &model);
}

static plan *ask(int kind, tutti_desc target, uint32_t spends)
{
    plan_request request = {.kind = kind,
                            .ninputs = 1,
                            .ntargets = 1,
                            .spends_outputs = spends,
                            .inputs = {toy_desc(TUTTI_F32, 2, B, IN, 0, 0)},
                            .targets = {target}};
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = NULL;
    ck_assert_ok(net_plan(n, &request, &p, &err), err);
    return p;
}

static tutti_desc hard(void)
{
    return toy_desc(TUTTI_I32, 1, B, 0, 0, 0);
}

static tutti_desc soft(void)
{
    return toy_desc(TUTTI_F32, 2, B, CLASSES, 0, 0);
}

/* What came out of a step. */
typedef struct results {
    float loss, gradients[CLASSES * IN];
} results;

static results finish(plan *forward, plan *loss)
{
    tutti_error err = TUTTI_ERROR_INIT;
    results r;
    ck_assert_ok(plan_run(forward, SEGMENT_FORWARD, &toy_step, 4.0f, &err), err);
    ck_assert_ok(plan_run(loss, SEGMENT_LOSS, &toy_step, 4.0f, &err), err);
    ck_assert_ok(plan_run(loss, SEGMENT_BACKWARD, &toy_step, 4.0f, &err), err);
    r.loss = *(float *)plan_loss(loss).data;
    memcpy(r.gradients, net_weight(n, 0)->grad, sizeof r.gradients);
    return r;
}

static results run(plan *p)
{
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    return finish(p, p);
}

static void ck_same(const results *a, const results *b)
{
    double sum = 0.0;
    for (int k = 0; k < CLASSES * IN; k++)
        sum += fabs((double)a->gradients[k]);
    ck_assert(sum > 0.0 && isfinite(a->loss));
    ck_assert_mem_eq(a, b, sizeof *a);
}

/* Model, loss, whether its target is soft, whether the gradient can lie where the output lay. */
static const struct form {
    model_trace *trace;
    model_loss *loss;
    bool soft, shares;
} forms[] = {
    {logits, either, false, true},
    {logits, either, true, false},
    {logits, tutti_softmax_cross_entropy, true, true},
    {logits, both, false, false},
    {logits, exponentials, true, true},
    {bounded, either, false, false},
};

START_TEST(bits_are_the_same_and_memory_is_shared_where_it_can_be)
{
    static results kept, spent, again;
    const struct form *f = &forms[_i];
    const tutti_desc target = f->soft ? soft() : hard();
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor seen;
    make(f->trace, f->loss);
    plan *p = ask(PLAN_TRAIN, target, 0), *q = ask(PLAN_TRAIN, target, 1);
    ck_assert_ptr_ne(p, q);
    kept = run(p);
    toy_compare(p, 4.0f, 1e-4);
    ck_assert_ptr_nonnull(plan_output(p, 0).data);
    ck_assert(!plan_output_is_spent(p, 0));
    spent = run(q);
    again = run(q);
    ck_same(&kept, &spent);
    ck_same(&kept, &again);
    toy_compare(q, 4.0f, 1e-4);
    const program *a = plan_program(p), *b = plan_program(q);
    const model_graph *g = q->model_graph;
    ck_assert_int_eq(plan_output_is_spent(q, 0), f->shares);
    ck_assert_int_eq(program_is_shared(b, g->outputs[0], g->douts[0]), f->shares);
    ck_assert_int_eq(program_address(b, g->outputs[0]) == program_address(b, g->douts[0]),
                     f->shares);
    if (f->shares)
        ck_assert_uint_eq(program_peak(a) - program_peak(b), sizeof(float) * B * CLASSES);
    ck_assert_uint_eq(plan_shape(p), plan_shape(q));
    ck_assert_ptr_null(plan_output(q, 0).data);
    ck_assert_int_eq(plan_output(q, 0).desc.dim[1], CLASSES);
    ck_assert_int_eq(plan_expand_output(q, 0, &toy_step, &seen, &err), TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "the outputs of this step are gone: their gradients lie where "
                               "they lay, since nobody was to look at them");
    net_destroy(n);
}
END_TEST

/* The second loss has to write there, though it reads the outputs to the end. */
START_TEST(another_loss_writes_where_the_first_one_does)
{
    static results want, got;
    for (uint32_t spends = 0; spends < 2; spends++) {
        make(logits, either);
        plan *p = ask(PLAN_TRAIN, hard(), spends), *q = ask(PLAN_TRAIN, soft(), spends);
        ck_assert_ptr_eq(p->model_graph, q->model_graph);
        ck_assert_int_eq(plan_output_is_spent(q, 0), spends != 0);
        toy_fill(plan_input(p, 0), 1);
        toy_fill(plan_target(q, 0), 3);
        *(spends ? &got : &want) = finish(p, q);
        toy_compare(q, 4.0f, 1e-4);
        net_destroy(n);
    }
    ck_same(&want, &got);
}
END_TEST

START_TEST(gradients_of_microbatches_are_added)
{
    static results want, got;
    for (uint32_t spends = 0; spends < 2; spends++) {
        make(logits, either);
        (void)run(ask(PLAN_TRAIN, hard(), spends));
        plan *p = ask(PLAN_TRAIN_ADD, hard(), spends);
        *(spends ? &got : &want) = run(p);
        ck_assert_int_eq(plan_output_is_spent(p, 0), spends != 0);
        net_destroy(n);
    }
    ck_same(&want, &got);
}
END_TEST

START_TEST(evaluations_keep_their_outputs)
{
    make(logits, either);
    plan *p = ask(PLAN_EVAL, hard(), 1);
    ck_assert_ptr_nonnull(plan_output(p, 0).data);
    net_destroy(n);
}
END_TEST

START_TEST(a_loss_over_such_outputs_is_not_mixed)
{
    make(logits, either);
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = ask(PLAN_TRAIN, hard(), 1);
    const tutti_tensor target = plan_target(p, 0);
    ck_assert_int_eq(plan_blend_loss(p, &target, 0.5, &toy_step, 1.0f, &err), TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "a loss can be mixed where forward and backward pass run apart");
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spent_outputs");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, bits_are_the_same_and_memory_is_shared_where_it_can_be, 0,
                        (int)(sizeof forms / sizeof *forms));
    tcase_add_test(t, another_loss_writes_where_the_first_one_does);
    tcase_add_test(t, gradients_of_microbatches_are_added);
    tcase_add_test(t, evaluations_keep_their_outputs);
    tcase_add_test(t, a_loss_over_such_outputs_is_not_mixed);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
