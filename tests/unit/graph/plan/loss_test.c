/* loss_test.c - losses of algorithms around the model's: their order, where they count, what is refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"
#include "toy_model.h"

enum { B = 6, IN = 5, CLASSES = 3 };

/* `self` is two numbers: the loss below times the first, plus the second. */
static tutti_value scaled(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    const double *by = self;
    const tutti_value below = in->below(in->ctx, g, in->outputs, in->noutputs, in->targets,
                                        in->ntargets, in->reduction);
    return tutti_affine(g, below, by[0], by[1]);
}

/* The loss below of logits at another temperature, beside that of these. */
static tutti_value both(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)self;
    const tutti_value warm = tutti_affine(g, in->outputs[0], 0.5, 0.0);
    const tutti_value a = in->below(in->ctx, g, &warm, 1, in->targets, 1, in->reduction);
    const tutti_value b = in->below(in->ctx, g, in->outputs, 1, in->targets, 1, in->reduction);
    return tutti_add(g, a, b);
}

/* The mean of its own over the samples' losses below, squared. */
static tutti_value of_samples(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)self;
    const tutti_value each =
        in->below(in->ctx, g, in->outputs, 1, in->targets, 1, TUTTI_REDUCTION_NONE);
    const tutti_value square = tutti_mul(g, each, each);
    return in->reduction == TUTTI_REDUCTION_MEAN ? tutti_reduce(g, "mean", square, NULL, 0, 0)
                                                 : square;
}

static tutti_value the_logits(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)self, (void)g;
    return in->outputs[0];
}

static tutti_value nothing(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)self, (void)g, (void)in;
    return 0;
}

static tutti_value trained(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)in;
    return g->weight(g, *(tutti_module *)self, "w");
}

static tutti_value odd_reduction(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)self;
    return in->below(in->ctx, g, in->outputs, 1, in->targets, 1, 9);
}

static tutti_value two_outputs(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    (void)self;
    const tutti_value two[2] = {in->outputs[0], in->outputs[0]};
    return in->below(in->ctx, g, two, 2, in->targets, 1, in->reduction);
}

static const tutti_loss_v1 scaled_table = {.struct_size = sizeof scaled_table, .loss = scaled},
                           both_table = {.struct_size = sizeof both_table, .loss = both},
                           samples_table = {.struct_size = sizeof samples_table,
                                            .loss = of_samples};

static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    return tutti_matmul(g, tutti_op1(g, "tanh", x[0]), g->weight(g, m, "w"), 0, 0, 1);
}

static toy_model model;

static net *make(void)
{
    static toy_weight w[2];
    const tutti_init draw = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    w[0] = (toy_weight){"w", toy_desc(TUTTI_F32, 2, CLASSES, IN, 0, 0), draw,
                        TUTTI_WEIGHT_TRAINABLE};
    model = (toy_model){.weights = w, .trace = trace, .loss = tutti_softmax_cross_entropy};
    return toy_net(tutti_op_table, &model);
}

static net *with(const tutti_loss_v1 *table, void *self, const char *who, net *n)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(net_add_loss(n, table, self, who, NULL, &err), err);
    return n;
}

static plan *begin(net *n, int kind)
{
    plan *p = toy_plan(n, kind, toy_desc(TUTTI_F32, 2, B, IN, 0, 0),
                       toy_desc(TUTTI_I32, 1, B, 0, 0, 0));
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    return p;
}

static const float *losses_of(net *n, int kind)
{
    plan *p = begin(n, kind);
    toy_run(p, 1.0f);
    return plan_loss(p).data;
}

START_TEST(the_first_is_innermost)
{
    double twice[2] = {2.0, 0.0}, one_more[2] = {1.0, 1.0};
    net *n = make();
    const float bare = *losses_of(n, PLAN_TRAIN);
    with(&scaled_table, one_more, "more", n);
    with(&scaled_table, twice, "twice", n);
    ck_assert_close((double)*losses_of(n, PLAN_TRAIN), 2.0 * ((double)bare + 1.0), 1e-6);
    net_destroy(n);
}
END_TEST

START_TEST(training_has_it_each_sample_has_it_and_evaluation_has_not)
{
    double by[2] = {3.0, 0.0};
    net *n = make();
    float bare[B];
    const float mean = *losses_of(n, PLAN_TRAIN), tested = *losses_of(n, PLAN_EVAL);
    memcpy(bare, losses_of(n, PLAN_LOSSES), sizeof bare);
    with(&scaled_table, by, "thrice", n);
    ck_assert_close((double)*losses_of(n, PLAN_TRAIN), 3.0 * (double)mean, 1e-6);
    ck_assert(*losses_of(n, PLAN_EVAL) == tested);
    const float *each = losses_of(n, PLAN_LOSSES);
    for (int k = 0; k < B; k++)
        ck_assert_close((double)each[k], 3.0 * (double)bare[k], 1e-6);
    net_destroy(n);
}
END_TEST

/* _i: other outputs for the loss below; the losses of samples */
START_TEST(its_gradient_is_the_interpreters_and_that_of_differences)
{
    net *n = with(_i ? &samples_table : &both_table, NULL, "it", make());
    plan *p = begin(n, PLAN_TRAIN);
    tutti_error err = TUTTI_ERROR_INIT;
    plan_numbers at, up, down;
    toy_compare(p, 1.0f, 2e-6);
    ck_assert_ok(plan_reference(p, &toy_step, 1.0f, &at, &err), err);
    float *w = net_weight(n, 0)->data.data;
    for (int k = 0; k < CLASSES * IN; k++) {
        const float kept = w[k], high = kept + 0x1p-10f, low = kept - 0x1p-10f;
        w[k] = high;
        ck_assert_ok(plan_reference(p, &toy_step, 1.0f, &up, &err), err);
        w[k] = low;
        ck_assert_ok(plan_reference(p, &toy_step, 1.0f, &down, &err), err);
        w[k] = kept;
        ck_assert_close(at.grads[net_offset(n, 0) + k],
                        (up.loss[0] - down.loss[0]) / ((double)high - (double)low), 1e-6);
        plan_numbers_fini(&up);
        plan_numbers_fini(&down);
    }
    plan_numbers_fini(&at);
    net_destroy(n);
}
END_TEST

static tutti_value square_of_inputs(void *self, tutti_graph *g, const tutti_penalty_input *in)
{
    (void)self;
    return tutti_reduce(g, "sum", tutti_mul(g, in->dinputs[0], in->dinputs[0]), NULL, 0, 0);
}

START_TEST(a_penalty_is_made_of_its_gradients)
{
    static const tutti_penalty_v1 table = {.struct_size = sizeof table,
                                           .term = square_of_inputs};
    double by[2] = {3.0, 0.0};
    tutti_error err = TUTTI_ERROR_INIT;
    net *n = make();
    const double bare = (double)*losses_of(n, PLAN_TRAIN);
    ck_assert_ok(net_add_penalty(n, &table, NULL, NULL, &err), err);
    const double term = (double)*losses_of(n, PLAN_TRAIN) - bare;
    ck_assert(term > 1e-3);
    with(&scaled_table, by, "thrice", n);
    ck_assert_close((double)*losses_of(n, PLAN_TRAIN), 3.0 * bare + 9.0 * term, 1e-5);
    net_destroy(n);
}
END_TEST

START_TEST(both_losses_of_a_mixed_one_have_it)
{
    double by[2] = {3.0, 0.0};
    tutti_error err = TUTTI_ERROR_INIT;
    int32_t other[B] = {0, 1, 2, 0, 1, 2};
    const tutti_tensor second = {other, toy_desc(TUTTI_I32, 1, B, 0, 0, 0), TUTTI_DEVICE_CPU,
                                 0};
    double mixed[2];
    for (int k = 0; k < 2; k++) {
        net *n = make();
        if (k)
            with(&scaled_table, by, "thrice", n);
        plan *p = begin(n, PLAN_TRAIN);
        ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
        ck_assert_ok(plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err), err);
        ck_assert_ok(plan_blend_loss(p, &second, 0.25, &toy_step, 1.0f, &err), err);
        mixed[k] = (double)*(float *)plan_loss(p).data;
        net_destroy(n);
    }
    ck_assert_close(mixed[1], 3.0 * mixed[0], 1e-6);
}
END_TEST

static tutti_module root = 1;
static const struct {
    tutti_loss_v1 table;
    tutti_status status;
    const char *sentence;
} wrong[] = {
    {{sizeof(tutti_loss_v1), 0, the_logits},
     TUTTI_E_SHAPE,
     "it: the loss is F32 (6, 3), want one F32"},
    {{sizeof(tutti_loss_v1), 0, nothing}, TUTTI_E_FAIL, "it: gives no loss, want an F32"},
    {{sizeof(tutti_loss_v1), 0, trained}, TUTTI_E_UNSUPPORTED, NULL},
    {{sizeof(tutti_loss_v1), 0, odd_reduction},
     TUTTI_E_ARG,
     "it: asks the loss below for a reduction that there is not"},
    {{sizeof(tutti_loss_v1), 0, two_outputs},
     TUTTI_E_ARG,
     "it: gives the loss below another number of outputs"},
};

START_TEST(a_loss_that_is_none_is_refused_with_its_name)
{
    tutti_error err = TUTTI_ERROR_INIT;
    net *n = with(&wrong[_i].table, &root, "it", make());
    plan *p;
    const plan_request r = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {toy_desc(TUTTI_F32, 2, B, IN, 0, 0)},
                            .targets = {toy_desc(TUTTI_I32, 1, B, 0, 0, 0)}};
    ck_assert_int_eq(net_plan(n, &r, &p, &err), wrong[_i].status);
    if (wrong[_i].sentence)
        ck_assert_str_eq(err.text, wrong[_i].sentence);
    net_destroy(n);
}
END_TEST

START_TEST(there_is_room_for_eight)
{
    double by[2] = {1.0, 0.0};
    tutti_error err = TUTTI_ERROR_INIT;
    net *n = make();
    for (int k = 0; k < 8; k++)
        with(&scaled_table, by, "it", n);
    ck_assert_int_eq(net_add_loss(n, &scaled_table, by, "ninth", NULL, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "ninth: 8 objects change the loss already");
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_first_is_innermost);
    tcase_add_test(all, training_has_it_each_sample_has_it_and_evaluation_has_not);
    tcase_add_loop_test(all, its_gradient_is_the_interpreters_and_that_of_differences, 0, 2);
    tcase_add_test(all, a_penalty_is_made_of_its_gradients);
    tcase_add_test(all, both_losses_of_a_mixed_one_have_it);
    tcase_add_loop_test(all, a_loss_that_is_none_is_refused_with_its_name, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(all, there_is_room_for_eight);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
