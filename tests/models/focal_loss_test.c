/* focal_loss_test.c - the plugin focal_loss in plans: its formula, its gradient, and gamma 0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_reference.h"
#include "made.h"
#include "made_plans.h"

#include <stdio.h>

enum { B = 5, IN = 6, CLASSES = 4 };

static tutti_column columns[2] = {{"input", {{IN}, 1, TUTTI_F32}, 0},
                                  {"target", {{0}, 0, TUTTI_I32}, CLASSES}};
static float x[B * IN], probabilities[B * CLASSES];
static int32_t labels[B] = {3, 0, -100, 1, 0};
static const tutti_step step = {.struct_size = sizeof step, .seed = 5};

/* A perceptron without hidden layers, large enough that it is sure of some rows, with the algorithm in it. */
static instance *begin(made *m, double gamma, double stirred)
{
    char json[80];
    build(m, "{\"name\":\"mlp\",\"hidden\":[]}", columns, 2);
    stir(m, stirred);
    if (gamma < 0.0)
        return NULL;
    (void)snprintf(json, sizeof json, "{\"name\":\"focal_loss\",\"gamma\":%g}", gamma);
    instance *i = open_object(m, TUTTI_KIND_ALGORITHM, json);
    ck_assert_msg(i != NULL, "%s", err.text);
    const tutti_loss_v1 *table = instance_query(i, TUTTI_LOSS_V1);
    ck_assert_ptr_nonnull(table);
    ck_assert_ok(net_add_loss(m->net, table, instance_self(i), "focal_loss", i, &err), err);
    return i;
}

static trial batch(int soft)
{
    for (int k = 0; k < B * IN; k++)
        x[k] = (float)((k * 37 + 11) % 23) / 11.0f - 1.0f;
    for (int r = 0; r < B; r++)
        for (int k = 0; k < CLASSES; k++)
            probabilities[r * CLASSES + k] = (float)((r + 2 * k) % 4 + 1) / 10.0f;
    const tutti_desc hard = {{B}, 1, TUTTI_I32}, wide = {{B, CLASSES}, 2, TUTTI_F32};
    return (trial){.inputs = {{x, {{B, IN}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0}},
                   .target = {soft ? (void *)probabilities : (void *)labels, soft ? wide : hard,
                              TUTTI_DEVICE_CPU, 0},
                   .ninputs = 1};
}

static plan *run(made *m, int kind, int soft)
{
    const trial t = batch(soft);
    plan *p = planned(m, kind, &t);
    for (int segment = 0; segment < (kind == PLAN_TRAIN ? 3 : 2); segment++)
        ck_assert_ok(plan_run(p, segment, &step, 1.0f, &err), err);
    return p;
}

/* FL = sum_n t_n (1 - p_n)^gamma (-log p_n) of row r of logits; *ret_count is how much the row counts. */
static double formula(const float *z, int r, int soft, double gamma, double *ret_count)
{
    double sum = 0.0, loss = 0.0;
    *ret_count = 0.0;
    for (int k = 0; k < CLASSES; k++)
        sum += exp((double)z[r * CLASSES + k]);
    for (int k = 0; k < CLASSES; k++) {
        const double p = exp((double)z[r * CLASSES + k]) / sum;
        const double t = soft ? (double)probabilities[r * CLASSES + k] : labels[r] == k;
        loss += t * pow(1.0 - p, gamma) * -log(p);
        *ret_count += t;
    }
    return loss;
}

static const double gammas[] = {0.5, 1.0, 2.0, 5.0};

/* _i: gamma, classes or probabilities */
START_TEST(it_is_the_formula_of_every_sample_and_of_the_batch)
{
    made m;
    const int soft = _i % 2;
    const double gamma = gammas[_i / 2];
    instance *i = begin(&m, gamma, 1.5);
    double sum = 0.0, count = 0.0, one;
    plan *p = run(&m, PLAN_LOSSES, soft);
    const float *each = plan_loss(p).data, *z = plan_output(p, 0).data;
    for (int r = 0; r < B; r++) {
        const double want = formula(z, r, soft, gamma, &one);
        ck_assert_close((double)each[r], want, 2e-6);
        sum += want;
        count += one;
    }
    p = run(&m, PLAN_TRAIN, soft);
    ck_assert_close((double)*(float *)plan_loss(p).data, sum / count, 2e-6);
    instance_free(i);
    unmake(&m);
}
END_TEST

/* _i likewise.  Where the model is all but sure, p is 1 in f32. */
START_TEST(its_gradient_is_that_of_f64_differences)
{
    for (int sure = 0; sure < 2; sure++) {
        made m;
        instance *i = begin(&m, gammas[_i / 2], sure ? 60.0 : 1.0);
        plan *p = run(&m, PLAN_TRAIN, _i % 2);
        plan_numbers at, up, down;
        ck_assert_ok(plan_reference(p, &step, 1.0f, &at, &err), err);
        for (uint32_t k = 0; k < net_weight_count(m.net); k++) {
            const tutti_weight *w = net_weight(m.net, k);
            const double *want = at.grads + net_offset(m.net, k);
            float *v = w->data.data;
            ck_close_all(w->path, w->grad, want, tutti_numel(&w->data.desc), 0.05, 2e-5);
            for (int64_t e = 0; !sure && e < tutti_numel(&w->data.desc); e++) {
                const float kept = v[e], high = kept + 0x1p-10f, low = kept - 0x1p-10f;
                v[e] = high;
                ck_assert_ok(plan_reference(p, &step, 1.0f, &up, &err), err);
                v[e] = low;
                ck_assert_ok(plan_reference(p, &step, 1.0f, &down, &err), err);
                v[e] = kept;
                ck_assert_close(
                    want[e], (up.loss[0] - down.loss[0]) / ((double)high - (double)low), 1e-6);
                plan_numbers_fini(&up);
                plan_numbers_fini(&down);
            }
        }
        plan_numbers_fini(&at);
        instance_free(i);
        unmake(&m);
    }
}
END_TEST

/* _i: classes or probabilities; loss and gradients, byte by byte */
START_TEST(gamma_0_is_the_cross_entropy_to_the_bit)
{
    made with, without;
    float *weights, *got, *want;
    int64_t n;
    instance *i = begin(&with, 0.0, 1.5);
    (void)begin(&without, -1.0, 1.5);
    const float a = *(float *)plan_loss(run(&with, PLAN_TRAIN, _i)).data;
    const float b = *(float *)plan_loss(run(&without, PLAN_TRAIN, _i)).data;
    ck_assert_mem_eq(&a, &b, sizeof a);
    net_arena(with.net, &weights, &got, &n);
    net_arena(without.net, &weights, &want, &n);
    ck_assert_int_gt(n, IN * CLASSES);
    ck_assert_mem_eq(got, want, sizeof *got * (size_t)n);
    instance_free(i);
    unmake(&with);
    unmake(&without);
}
END_TEST

START_TEST(evaluation_has_the_models_own_loss)
{
    made m;
    instance *i = begin(&m, 2.0, 1.5);
    double sum = 0.0, count = 0.0, one;
    plan *p = run(&m, PLAN_EVAL, 0);
    for (int r = 0; r < B; r++) {
        sum += formula(plan_output(p, 0).data, r, 0, 0.0, &one);
        count += one;
    }
    ck_assert_close((double)*(float *)plan_loss(p).data, sum / count, 2e-6);
    instance_free(i);
    unmake(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("focal loss");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, it_is_the_formula_of_every_sample_and_of_the_batch, 0, 8);
    tcase_add_loop_test(t, its_gradient_is_that_of_f64_differences, 0, 8);
    tcase_add_loop_test(t, gamma_0_is_the_cross_entropy_to_the_bit, 0, 2);
    tcase_add_test(t, evaluation_has_the_models_own_loss);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
