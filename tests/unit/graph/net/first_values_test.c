/* first_values_test.c - what weights hold at first, and when they get it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"

#include "graph/net/first_values.h"
#include "graph/net/weight_draws.h"
#include "graph/runtime/host_memory.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

enum { SEED = 17, IN = 512, OUT = 512, MANY = 70001 };

/* Element k by the definition alone. */
static double defined(const tutti_init *i, uint64_t key, int64_t k)
{
    const tutti_rng4 r = tutti_rng(SEED, TUTTI_RNG_INIT, key, (uint64_t)k / 2);
    const double u =
        k & 1 ? tutti_uniform_f64(r.v[2], r.v[3]) : tutti_uniform_f64(r.v[0], r.v[1]);
    double pair[2];
    tutti_normal_f64(r, &pair[0], &pair[1]);
    switch (i->kind) {
    case TUTTI_INIT_NORMAL:
        return i->a + i->b * pair[k & 1];
    case TUTTI_INIT_UNIFORM:
        return i->a + (i->b - i->a) * u;
    case TUTTI_INIT_KAIMING_NORMAL:
        return i->a / sqrt(i->fan) * pair[k & 1];
    case TUTTI_INIT_KAIMING_UNIFORM:
        return i->a * sqrt(3.0 / i->fan) * (2.0 * u - 1.0);
    default:
        return i->a;
    }
}

static const tutti_init inits[] = {{TUTTI_INIT_CONSTANT, 0, 0.3, 0.0, 0.0, NULL},
                                   {TUTTI_INIT_NORMAL, 0, 0.0, 0.02, 0.0, NULL},
                                   {TUTTI_INIT_NORMAL, 0, 1.5, 2.0, 0.0, NULL},
                                   {TUTTI_INIT_NORMAL, 0, -1e-3, 1e-3, 0.0, NULL},
                                   {TUTTI_INIT_UNIFORM, 0, -0.1, 0.7, 0.0, NULL},
                                   {TUTTI_INIT_KAIMING_NORMAL, 0, 1.4, 0.0, 27.0, NULL},
                                   {TUTTI_INIT_KAIMING_UNIFORM, 0, 1.0, 0.0, 27.0, NULL},
                                   {TUTTI_INIT_KAIMING_NORMAL, 0, 0.0, 0.0, 27.0, NULL},
                                   {TUTTI_INIT_KAIMING_UNIFORM, 0, 0.0, 0.0, 27.0, NULL}};

START_TEST(each_value_is_the_definition_to_the_bit)
{
    const tutti_init *init = &inits[_i];
    float *data = malloc(sizeof *data * MANY);
    for (int threads = 1; threads <= 3; threads++) {
        const int64_t count = threads == 2 ? 1 : MANY;
        const tutti_desc d = {{count}, 1, TUTTI_F32};
        memset(data, 0xFF, sizeof *data * MANY);
        first_values_draw(init, &d, SEED, (uint64_t)_i + 5, threads, data);
        for (int64_t k = 0; k < count; k++) {
            const float want = (float)defined(init, (uint64_t)_i + 5, k);
            ck_assert_mem_eq(&data[k], &want, sizeof want);
        }
    }
    free(data);
}
END_TEST

/* So many that some lie too near to the middle between two floats for vectors to tell. */
START_TEST(where_vectors_cannot_tell_the_definition_does)
{
    enum { SOME = 1 << 20 };
    const tutti_init *init = &inits[1];
    const weight_recipe r = {.scale = init->b, .shifted = true, .normal = true};
    const tutti_desc d = {{SOME}, 1, TUTTI_F32};
    float *data = malloc(sizeof *data * SOME), some[WEIGHT_DRAWS];
    int64_t unsure = 0;
    first_values_draw(init, &d, SEED, 3, 2, data);
    for (int64_t k = 0; k < SOME; k++)
        ck_assert(data[k] == (float)defined(init, 3, k));
    for (int64_t k = 0; k < SOME; k += WEIGHT_DRAWS)
        unsure += !TUTTI_ISA_PICK(weight_draws)(&r, SEED, 3, (uint64_t)k / 2, some);
    ck_assert_int_ge(unsure, 1);
    ck_assert_int_lt(unsure, 100);
    free(data);
}
END_TEST

START_TEST(other_dtypes_too)
{
    int32_t whole[3];
    double wide[3];
    const tutti_init u = {TUTTI_INIT_UNIFORM, 0, 0.0, 100.0, 0.0, NULL};
    const tutti_desc i32 = {{3}, 1, TUTTI_I32}, f64 = {{3}, 1, TUTTI_F64};
    first_values_draw(&u, &i32, SEED, 9, 2, whole);
    first_values_draw(&u, &f64, SEED, 9, 2, wide);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(whole[k], llrint(defined(&u, 9, k)));
        ck_assert(wide[k] == defined(&u, 9, k));
    }
}
END_TEST

/* ---- nets whose weights are blank at first ---- */

#define WEIGHT(name, rows)                                                                     \
    {                                                                                          \
        name, {{rows, IN}, 2, TUTTI_F32}, {.kind = TUTTI_INIT_NORMAL, .b = 0.5},               \
            TUTTI_WEIGHT_TRAINABLE                                                             \
    }

static const toy_weight weights[] = {WEIGHT("w0", OUT), WEIGHT("w1", OUT), {.name = NULL}};

static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    return tutti_add(g, tutti_matmul(g, x[0], g->weight(g, m, "w0"), 0, 0, 1),
                     tutti_matmul(g, x[0], g->weight(g, m, "w1"), 0, 0, 1));
}

static toy_model model(void)
{
    return (toy_model){.weights = weights, .trace = trace, .loss = tutti_softmax_cross_entropy};
}

static net *deferred_net(toy_model *m)
{
    tutti_error err = TUTTI_ERROR_INIT;
    net *n;
    const net_options options = {
        .ops = tutti_op_table, .seed = SEED, .threads = 2, .deferred_init = true};
    ck_assert_ok(net_create(&options, &n, &err), err);
    m->service = net_modules(n);
    const model_impl impl = {&toy_table, m, NULL, "toy", NULL};
    ck_assert_ok(net_build_model(n, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(n, &err), err);
    return n;
}

static const float *values(const net *n, const char *path)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, path) == 0)
            return net_weight(n, k)->data.data;
    ck_abort_msg("there is no %s", path);
}

static void check_drawn(const float *got, const char *path)
{
    for (int64_t k = 0; k < OUT * IN; k += 37)
        ck_assert(got[k] == (float)defined(&weights[0].init, tutti_hash(path), k));
}

static bool is_blank(const float *data)
{
    for (int64_t k = 0; k < OUT * IN; k++)
        if (data[k] != 0.0f)
            return false;
    return true;
}

static plan *train_plan(net *n)
{
    return toy_plan(n, PLAN_TRAIN, toy_desc(TUTTI_F32, 2, 4, IN, 0, 0),
                    toy_desc(TUTTI_I32, 1, 4, 0, 0, 0));
}

START_TEST(a_plan_needs_no_values)
{
    toy_model m = model();
    net *n = deferred_net(&m);
    float *w, *g;
    int64_t count;
    ck_assert(net_is_blank(n));
    (void)train_plan(n);
    net_arena(n, &w, &g, &count);
    ck_assert_uint_lt(host_memory_resident(w, (uint64_t)count * sizeof *w),
                      (uint64_t)count * sizeof *w / 2);
    net_destroy(n);
}
END_TEST

START_TEST(a_run_of_a_plan_draws_them)
{
    toy_model m = model();
    net *n = deferred_net(&m);
    plan *p = train_plan(n);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_compare(p, 1.0f, 1e-4);
    check_drawn(values(n, "w0"), "w0");
    check_drawn(values(n, "w1"), "w1");
    ck_assert(!net_is_blank(n));
    net_destroy(n);
}
END_TEST

START_TEST(what_is_written_before_is_not_drawn)
{
    tutti_error err = TUTTI_ERROR_INIT;
    toy_model m = model();
    net *n = deferred_net(&m);
    float *w0 = (float *)(uintptr_t)values(n, "w0");
    net_overwrites(n, w0);
    w0[7] = 3.0f;
    ck_assert_ok(net_fill_weights(n, &err), err);
    ck_assert(w0[7] == 3.0f && w0[8] == 0.0f);
    check_drawn(values(n, "w1"), "w1");
    net_destroy(n);
}
END_TEST

START_TEST(a_plugin_that_asks_for_one_gets_it_alone)
{
    tutti_error err = TUTTI_ERROR_INIT;
    toy_model m = model();
    net *n = deferred_net(&m);
    tutti_tensor t;
    ck_assert_ok(m.service->weight_data(m.service->ctx, 1, "w1", &t, &err), err);
    check_drawn(t.data, "w1");
    ck_assert(is_blank(values(n, "w0")));
    ((float *)t.data)[0] = 5.0f;
    n->tree.changed = true;
    ck_assert_ok(net_commit(n, &err), err);
    ck_assert(values(n, "w1")[0] == 5.0f && is_blank(values(n, "w0")));
    ck_assert_ok(net_fill_weights(n, &err), err);
    ck_assert(values(n, "w1")[0] == 5.0f);
    check_drawn(values(n, "w0"), "w0");
    net_destroy(n);
}
END_TEST

/* Surgery moves a blank weight, and takes another one out of the tree. */
START_TEST(a_weight_keeps_the_values_of_its_first_path)
{
    tutti_error err = TUTTI_ERROR_INIT;
    toy_model m = model();
    net *n = deferred_net(&m);
    ck_assert_ok(m.service->take_weight(m.service->ctx, 1, "w0", 1, "w1", &err), err);
    ck_assert_ok(net_commit(n, &err), err);
    ck_assert_uint_eq(net_weight_count(n), 1);
    ck_assert_ok(net_fill_weights(n, &err), err);
    check_drawn(values(n, "w0"), "w1");
    net_destroy(n);
}
END_TEST

START_TEST(commits_draw_once_values_are_wanted)
{
    tutti_error err = TUTTI_ERROR_INIT;
    toy_model m = model();
    net *n = deferred_net(&m);
    const toy_weight more = WEIGHT("more", OUT);
    ck_assert_ok(net_fill_weights(n, &err), err);
    ck_assert_ok(m.service->weight(m.service->ctx, 1, more.name, &more.desc, &more.init,
                                   more.flags, &err),
                 err);
    ck_assert_ok(net_commit(n, &err), err);
    check_drawn(values(n, "more"), "more");
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("first values");
    TCase *tc = tcase_create("first values");
    tcase_add_loop_test(tc, each_value_is_the_definition_to_the_bit, 0,
                        (int)(sizeof inits / sizeof *inits));
    tcase_add_test(tc, where_vectors_cannot_tell_the_definition_does);
    tcase_add_test(tc, other_dtypes_too);
    tcase_add_test(tc, a_plan_needs_no_values);
    tcase_add_test(tc, a_run_of_a_plan_draws_them);
    tcase_add_test(tc, what_is_written_before_is_not_drawn);
    tcase_add_test(tc, a_plugin_that_asks_for_one_gets_it_alone);
    tcase_add_test(tc, a_weight_keeps_the_values_of_its_first_path);
    tcase_add_test(tc, commits_draw_once_values_are_wanted);
    suite_add_tcase(s, tc);
    return tutti_run(s);
}
