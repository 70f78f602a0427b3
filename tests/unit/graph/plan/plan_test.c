/* plan_test.c - plans: cache, segments across plans, accumulation, blending, limits, replay. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/host_memory.h"
#include "op_table.h"
#include "toy_model.h"

#include <stdio.h>

enum { B = 5, IN = 7, HIDDEN = 9, CLASSES = 4 };

static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h = tutti_op1(
        g, "tanh", tutti_matmul(g, x[0], g->weight(g, m, "w0"), g->weight(g, m, "b0"), 0, 1));
    return tutti_matmul(g, h, g->weight(g, m, "w1"), 0, 0, 1);
}

static toy_model model;
static net *n;

static void make(void)
{
    static toy_weight w[4];
    const tutti_init init = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    w[0] = (toy_weight){"w0", toy_desc(TUTTI_F32, 2, HIDDEN, IN, 0, 0), init,
                        TUTTI_WEIGHT_TRAINABLE};
    w[1] = (toy_weight){"b0", toy_desc(TUTTI_F32, 1, HIDDEN, 0, 0, 0), init,
                        TUTTI_WEIGHT_TRAINABLE};
    w[2] = (toy_weight){"w1", toy_desc(TUTTI_F32, 2, CLASSES, HIDDEN, 0, 0), init,
                        TUTTI_WEIGHT_TRAINABLE};
    model = (toy_model){.weights = w, .trace = trace, .loss = tutti_softmax_cross_entropy};
    n = toy_net(tutti_op_table, &model);
}

static void drop(void)
{
    net_destroy(n);
}

static tutti_desc x_desc(void)
{
    return toy_desc(TUTTI_F32, 2, B, IN, 0, 0);
}

static tutti_desc hard(void)
{
    return toy_desc(TUTTI_I32, 1, B, 0, 0, 0);
}

static tutti_desc soft(void)
{
    return toy_desc(TUTTI_F32, 2, B, CLASSES, 0, 0);
}

static float *copy_grads(void)
{
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    float *copy = calloc((size_t)count, sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    return memcpy(copy, grads, sizeof *copy * (size_t)count);
}

static int64_t count_grads(void)
{
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    return count;
}

START_TEST(the_same_request_is_the_same_plan)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    ck_assert_ptr_eq(toy_plan(n, PLAN_TRAIN, x_desc(), hard()), p);
    ck_assert_ptr_ne(toy_plan(n, PLAN_TRAIN, x_desc(), soft()), p);
    ck_assert_ptr_ne(toy_plan(n, PLAN_TRAIN, toy_desc(TUTTI_F32, 2, 3, IN, 0, 0),
                              toy_desc(TUTTI_I32, 1, 3, 0, 0, 0)),
                     p);
    ck_assert_ptr_eq(toy_plan(n, PLAN_TRAIN, x_desc(), hard()), p);
}
END_TEST

/* Central differences of the f32 loss: only as good as f32, but through everything. */
START_TEST(gradients_match_differences_of_the_plan_itself)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    float *grads = copy_grads();
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        float *w = net_weight(n, k)->data.data;
        const float kept = w[3], h = 1e-2f;
        w[3] = kept + h;
        toy_run(p, 1.0f);
        const float up = *(float *)plan_loss(p).data;
        w[3] = kept - h;
        toy_run(p, 1.0f);
        const float down = *(float *)plan_loss(p).data;
        w[3] = kept;
        ck_assert_close(grads[net_offset(n, k) + 3], (up - down) / (2.0f * h), 2e-4);
    }
    free(grads);
}
END_TEST

START_TEST(the_loss_scale_scales_gradients_but_not_the_loss)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    const float loss = *(float *)plan_loss(p).data;
    float *one = copy_grads();
    toy_run(p, 4.0f);
    float *four = copy_grads();
    ck_assert_close(*(float *)plan_loss(p).data, loss, 0.0);
    for (int64_t k = 0; k < count_grads(); k++)
        ck_assert_close(four[k], 4.0f * one[k], 1e-6);
    free(one);
    free(four);
}
END_TEST

START_TEST(two_microbatches_add_up_to_one_batch)
{
    const tutti_desc x2 = toy_desc(TUTTI_F32, 2, 2 * B, IN, 0, 0);
    plan *whole = toy_plan(n, PLAN_TRAIN, x2, toy_desc(TUTTI_I32, 1, 2 * B, 0, 0, 0));
    plan *first = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    plan *more = toy_plan(n, PLAN_TRAIN_ADD, x_desc(), hard());
    toy_fill(plan_input(whole, 0), 1);
    toy_fill(plan_target(whole, 0), 2);
    toy_run(whole, 1.0f);
    float *want = copy_grads();
    for (int k = 0; k < 2; k++) {
        plan *p = k ? more : first;
        memcpy(plan_input(p, 0).data, (float *)plan_input(whole, 0).data + k * B * IN,
               sizeof(float) * B * IN);
        memcpy(plan_target(p, 0).data, (int32_t *)plan_target(whole, 0).data + k * B,
               sizeof(int32_t) * B);
        toy_run(p, 0.5f);
    }
    float *got = copy_grads();
    for (int64_t k = 0; k < count_grads(); k++)
        ck_assert_close(got[k], want[k], 1e-6);
    free(got);
    free(want);
}
END_TEST

enum { SPAN = 8 };

typedef struct watched {
    plan *p;
    float *taken;  /* what spans held when the backward pass was done with them */
    int64_t spans; /* taken so far; each has been overwritten then */
    uint32_t steps;
} watched;

static void take_spans(void *ctx, uint32_t step)
{
    watched *w = ctx;
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    ck_assert_uint_eq(step, ++w->steps);
    for (int64_t first = 0; first < count; first += SPAN) {
        const int64_t length = count - first < SPAN ? count - first : SPAN;
        const uint32_t last = plan_gradient_step(w->p, first, length);
        ck_assert_uint_ne(last, UINT32_MAX);
        if (last != step && (last != 0 || step != 1))
            continue;
        memcpy(w->taken + first, grads + first, (size_t)length * sizeof *grads);
        for (int64_t k = first; k < first + length; k++)
            grads[k] = 1e30f;
        w->spans++;
    }
}

/* Whoever takes a gradient away as soon as the backward pass is done with it gets the whole of it, and disturbs nothing. */
START_TEST(the_backward_pass_says_when_it_is_done_with_a_gradient)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    float *whole = copy_grads();
    watched w = {.p = p, .taken = calloc((size_t)count, sizeof *w.taken)};
    ck_assert_ptr_nonnull(w.taken);
    plan_watch_backward(p, take_spans, &w, NULL, 0);
    toy_run(p, 1.0f);
    plan_watch_backward(p, NULL, NULL, NULL, 0);
    ck_assert_int_eq(w.spans, (count + SPAN - 1) / SPAN);
    ck_assert_mem_eq(w.taken, whole, (size_t)count * sizeof *whole);
    for (int64_t k = 0; k < count; k++)
        ck_assert(grads[k] == 1e30f);
    ck_assert_uint_lt(plan_gradient_step(p, 0, SPAN),
                      w.steps);                      /* the last layer's are there early */
    memset(grads, 0, (size_t)count * sizeof *grads); /* padding, which nobody writes */
    toy_run(p, 1.0f);
    ck_assert_uint_eq(w.spans, (count + SPAN - 1) / SPAN);
    ck_assert_mem_eq(grads, whole, (size_t)count * sizeof *whole);
    free(w.taken);
    free(whole);
}
END_TEST

START_TEST(replays_are_equal_bit_for_bit)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    float *first = copy_grads();
    for (int k = 0; k < 10; k++) {
        toy_run(p, 1.0f);
        float *again = copy_grads();
        ck_assert_mem_eq(first, again, sizeof(float) * (size_t)count_grads());
        free(again);
    }
    free(first);
}
END_TEST

/* What label smoothing does at before_loss. */
START_TEST(the_target_may_change_its_shape_between_forward_and_loss)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
    plan *q = toy_plan(n, PLAN_TRAIN, x_desc(), soft());
    ck_assert_ptr_eq(plan_output(q, 0).data, plan_output(p, 0).data);
    ck_assert_ptr_eq(plan_input(q, 0).data, plan_input(p, 0).data);
    const int32_t *class = plan_target(p, 0).data;
    float *fraction = plan_target(q, 0).data;
    for (int k = 0; k < B * CLASSES; k++)
        fraction[k] = 0.02f + (class[k / CLASSES] == k % CLASSES ? 0.92f : 0.0f);
    ck_assert_ok(plan_run(q, SEGMENT_LOSS, &toy_step, 1.0f, &err), err);
    ck_assert_ok(plan_run(q, SEGMENT_BACKWARD, &toy_step, 1.0f, &err), err);
    float *got = copy_grads();
    toy_run(q, 1.0f);
    float *want = copy_grads();
    ck_assert_mem_eq(got, want, sizeof(float) * (size_t)count_grads());
    toy_compare(q, 1.0f, 1e-5);
    free(got);
    free(want);
}
END_TEST

START_TEST(outputs_may_be_changed_in_place_before_the_loss)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
    memset(plan_output(p, 0).data, 0, sizeof(float) * B * CLASSES);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err), err);
    ck_assert_close(*(float *)plan_loss(p).data, log(CLASSES), 1e-6);
}
END_TEST

START_TEST(a_mixed_loss_is_the_blend_of_both)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    int32_t a[B], b[B + 1];
    float loss[2];
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    memcpy(a, plan_target(p, 0).data, sizeof a);
    for (int k = 0; k < B; k++)
        b[k + 1] = (a[k] + 1) % CLASSES;
    float *grads[2];
    for (int k = 0; k < 2; k++) {
        memcpy(plan_target(p, 0).data, k ? b + 1 : a, sizeof a);
        toy_run(p, 1.0f);
        loss[k] = *(float *)plan_loss(p).data;
        grads[k] = copy_grads();
    }
    plan_set_target(p, 0, a);
    ck_assert_ptr_eq(plan_target(p, 0).data, a);
    plan_set_target(p, 0, NULL);
    memcpy(plan_target(p, 0).data, a, sizeof a);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err), err);
    const tutti_tensor second = {b + 1, hard(), TUTTI_DEVICE_CPU, 0}; /* not aligned */
    ck_assert_ok(plan_blend_loss(p, &second, 0.3, &toy_step, 1.0f, &err), err);
    ck_assert_close(*(float *)plan_loss(p).data, 0.7 * (double)loss[0] + 0.3 * (double)loss[1],
                    1e-6);
    ck_assert_ok(plan_run(p, SEGMENT_BACKWARD, &toy_step, 1.0f, &err), err);
    float *got = copy_grads();
    for (int64_t k = 0; k < count_grads(); k++)
        ck_assert_close(got[k], 0.7f * grads[0][k] + 0.3f * grads[1][k], 1e-6);
    free(got);
    free(grads[0]);
    free(grads[1]);
}
END_TEST

START_TEST(a_soft_target_can_be_mixed_into_a_hard_one)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    float fraction[B * CLASSES];
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    const int32_t *class = plan_target(p, 0).data;
    for (int k = 0; k < B * CLASSES; k++)
        fraction[k] = class[k / CLASSES] == k % CLASSES;
    toy_run(p, 1.0f);
    const float loss = *(float *)plan_loss(p).data;
    float *want = copy_grads();
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err), err);
    const tutti_tensor second = {fraction, soft(), TUTTI_DEVICE_CPU, 0};
    ck_assert_ok(plan_blend_loss(p, &second, 0.4, &toy_step, 1.0f, &err), err);
    ck_assert_close(*(float *)plan_loss(p).data, loss, 1e-6);
    ck_assert_ok(plan_run(p, SEGMENT_BACKWARD, &toy_step, 1.0f, &err), err);
    float *got = copy_grads();
    for (int64_t k = 0; k < count_grads(); k++)
        ck_assert_close(got[k], want[k], 1e-6);
    free(got);
    free(want);
}
END_TEST

START_TEST(a_plan_too_large_is_refused_with_the_numbers)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = NULL;
    const plan_request r = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {toy_desc(TUTTI_F32, 2, 4096, IN, 0, 0)},
                            .targets = {toy_desc(TUTTI_I32, 1, 4096, 0, 0, 0)}};
    char want[160], need[32];
    net_set_memory_limit(n, 100 * 1024);
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_NOMEM);
    ck_assert_ptr_null(p);
    const tutti_error refusal = err;
    net_set_memory_limit(n, 0);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(net_plan(n, &r, &p, &err), err);
    /* 112 KiB of inputs, 16 of targets, 144 of hidden units and of their gradient, 64 of outputs
     * and of theirs; kernels have scratch besides. */
    ck_assert_uint_ge(plan_bytes(p), (112 + 16 + 2 * 144 + 2 * 64) * 1024);
    (void)snprintf(want, sizeof want,
                   "the training plan for inputs of F32 (4096, 7) needs %s, 100.0 KiB are "
                   "available; use a smaller microbatch_size",
                   bytes_text(plan_bytes(p), need, sizeof need));
    ck_assert_error(refusal, TUTTI_E_NOMEM, want);
}
END_TEST

START_TEST(memory_is_shared_by_what_is_never_alive_together)
{
    for (int kind = PLAN_TRAIN; kind <= PLAN_EVAL; kind++)
        toy_check_arena(toy_plan(n, kind, x_desc(), hard()));
}
END_TEST

START_TEST(an_evaluation_needs_no_target)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p;
    const plan_request r = {.kind = PLAN_EVAL, .ninputs = 1, .inputs = {x_desc()}};
    ck_assert_ok(net_plan(n, &r, &p, &err), err);
    toy_fill(plan_input(p, 0), 1);
    toy_run(p, 1.0f);
    ck_assert_uint_eq(plan_noutputs(p), 1);
    ck_assert(isfinite(((float *)plan_output(p, 0).data)[B * CLASSES - 1]));
    ck_assert_int_eq(plan_run(p, SEGMENT_BACKWARD, &toy_step, 1.0f, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "this plan has no backward pass");
}
END_TEST

START_TEST(a_column_of_an_unknown_dtype_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p;
    plan_request r = {.kind = PLAN_TRAIN,
                      .ninputs = 1,
                      .ntargets = 1,
                      .inputs = {x_desc()},
                      .targets = {hard()}};
    r.targets[0].dtype = 77;
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "target 0: dtype 77 is none of this ABI");
    err.status = TUTTI_OK;
    r.inputs[0].dtype = 78;
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "input 0: dtype 78 is none of this ABI");
}
END_TEST

START_TEST(a_class_out_of_range_is_an_error_of_the_step)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    ((int32_t *)plan_target(p, 0).data)[1] = CLASSES;
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
    ck_assert_int_eq(plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err), TUTTI_E_RANGE);
    ck_assert_error(
        err, TUTTI_E_RANGE,
        "loss: softmax_cross_entropy: a class or an index is out of range (E_RANGE)");
}
END_TEST

START_TEST(flops_count_every_matrix_product)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    /* forward: two; backward: both weights and the hidden units */
    const double first = 2.0 * B * IN * HIDDEN, second = 2.0 * B * HIDDEN * CLASSES;
    ck_assert_close(plan_flops(p), 2.0 * first + 3.0 * second, 0.0);
}
END_TEST

START_TEST(plans_can_be_read)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    plan_dump(toy_plan(n, PLAN_TRAIN, x_desc(), hard()), file);
    (void)fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "softmax_cross_entropy(%1, %2)  # loss"));
    ck_assert_ptr_nonnull(strstr(text, "arena "));
    free(text);
}
END_TEST

/* The model's own call, beside what the plan has; `fails` makes it fail. */
typedef struct seen {
    plan *p;
    int calls;
    bool fails;
} seen;

static tutti_status see(void *ctx, const tutti_activation *a, tutti_error *err)
{
    seen *s = ctx;
    const tutti_tensor x = plan_input(s->p, 0), y = plan_output(s->p, 0);
    s->calls++;
    if (s->fails)
        return tutti_fail(err, TUTTI_E_FAIL, "enough");
    ck_assert_str_eq(a->path, "");
    ck_assert_uint_eq(a->ninputs, 1);
    ck_assert_uint_eq(a->noutputs, 1);
    ck_assert_int_eq(memcmp(a->inputs[0].data, x.data, tutti_nbytes(&x.desc)), 0);
    ck_assert(tutti_same_shape(&a->outputs[0].desc, &y.desc));
    for (int64_t k = 0; k < tutti_numel(&y.desc); k++)
        ck_assert_close(((float *)a->outputs[0].data)[k], ((float *)y.data)[k], 1e-6);
    return TUTTI_OK;
}

START_TEST(activations_are_those_of_the_plan)
{
    plan *p = toy_plan(n, PLAN_TRAIN, x_desc(), hard());
    seen s = {.p = p};
    tutti_error err = TUTTI_ERROR_INIT;
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    float *grads = copy_grads(), *weights, *now;
    int64_t count;
    ck_assert_ok(plan_activations(p, &toy_step, see, &s, &err), err);
    ck_assert_int_eq(s.calls, 1);
    net_arena(n, &weights, &now, &count);
    ck_assert_int_eq(memcmp(grads, now, sizeof *grads * (size_t)count), 0);
    s.fails = true;
    ck_assert_int_eq(plan_activations(p, &toy_step, see, &s, &err), TUTTI_E_FAIL);
    ck_assert_str_eq(err.text, "enough");
    free(grads);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make, drop);
    tcase_add_test(all, the_same_request_is_the_same_plan);
    tcase_add_test(all, activations_are_those_of_the_plan);
    tcase_add_test(all, gradients_match_differences_of_the_plan_itself);
    tcase_add_test(all, the_loss_scale_scales_gradients_but_not_the_loss);
    tcase_add_test(all, two_microbatches_add_up_to_one_batch);
    tcase_add_test(all, the_backward_pass_says_when_it_is_done_with_a_gradient);
    tcase_add_test(all, replays_are_equal_bit_for_bit);
    tcase_add_test(all, the_target_may_change_its_shape_between_forward_and_loss);
    tcase_add_test(all, outputs_may_be_changed_in_place_before_the_loss);
    tcase_add_test(all, a_mixed_loss_is_the_blend_of_both);
    tcase_add_test(all, a_soft_target_can_be_mixed_into_a_hard_one);
    tcase_add_test(all, a_plan_too_large_is_refused_with_the_numbers);
    tcase_add_test(all, memory_is_shared_by_what_is_never_alive_together);
    tcase_add_test(all, an_evaluation_needs_no_target);
    tcase_add_test(all, a_column_of_an_unknown_dtype_is_refused);
    tcase_add_test(all, a_class_out_of_range_is_an_error_of_the_step);
    tcase_add_test(all, flops_count_every_matrix_product);
    tcase_add_test(all, plans_can_be_read);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
