/* module_tree_test.c - the module tree: surgery, identity of weights, arenas, errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

/* A layer "scale": y = weight * x; "pair": children "a" and "b" in turn. */
static const tutti_module_v1 *service;

static tutti_status scale_build(void *self, tutti_module m, tutti_error *err)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 1, 3, 0, 0, 0);
    const tutti_init init = {TUTTI_INIT_NORMAL, 0, 0.0, 1.0, 0.0, NULL};
    return service->weight(service->ctx, m, "weight", &d, &init, TUTTI_WEIGHT_TRAINABLE, err);
}

static tutti_status scale_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    out[0] = tutti_mul(g, in[0], g->weight(g, m, "weight"));
    return g->status(g);
}

static tutti_status count_build(void *self, tutti_module m, tutti_error *err)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const tutti_init init = {TUTTI_INIT_CONSTANT, 0, 0.0, 0.0, 0.0, NULL};
    return service->weight(service->ctx, m, "calls", &d, &init, 0, err);
}

static tutti_status count_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    const tutti_value calls = g->weight(g, m, "calls");
    g->assign(g, calls, tutti_affine(g, calls, 1.0, 1.0));
    out[0] = in[0];
    return g->status(g);
}

static tutti_status pair_build(void *self, tutti_module m, tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status pair_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    out[0] = in[0];
    for (uint32_t k = 0; service->child_at(service->ctx, m, k); k++)
        (void)g->call(g, service->child_at(service->ctx, m, k), out, 1, out, 1);
    return g->status(g);
}

/* Calls its children from the last to the first. */
static tutti_status reverse_trace(void *self, tutti_graph *g, tutti_module m,
                                  const tutti_value *in, uint32_t nin, tutti_value *out,
                                  uint32_t nout)
{
    uint32_t k = 0;
    while (service->child_at(service->ctx, m, k))
        k++;
    out[0] = in[0];
    while (k-- > 0)
        (void)g->call(g, service->child_at(service->ctx, m, k), out, 1, out, 1);
    return g->status(g);
}

static tutti_status empty_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    return TUTTI_OK;
}

static tutti_status loop_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    return g->call(g, m, in, nin, out, nout);
}

static tutti_status typo_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    out[0] = tutti_mul(g, in[0], g->weight(g, m, "wieght"));
    return g->status(g);
}

static const struct {
    const char *kind;
    tutti_layer_v1 table;
} kinds[] = {
    {"scale", {sizeof(tutti_layer_v1), 0, scale_build, scale_trace}},
    {"count", {sizeof(tutti_layer_v1), 0, count_build, count_trace}},
    {"pair", {sizeof(tutti_layer_v1), 0, pair_build, pair_trace}},
    {"reverse", {sizeof(tutti_layer_v1), 0, pair_build, reverse_trace}},
    {"empty", {sizeof(tutti_layer_v1), 0, pair_build, empty_trace}},
    {"loop", {sizeof(tutti_layer_v1), 0, pair_build, loop_trace}},
    {"typo", {sizeof(tutti_layer_v1), 0, scale_build, typo_trace}},
};

static tutti_status make_layer(void *ctx, const char *kind, const tutti_attr *params,
                               uint32_t nparams, layer_impl *ret_impl, tutti_error *err)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].kind, kind) == 0) {
            *ret_impl = (layer_impl){&kinds[k].table, NULL, NULL, NULL};
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "there is no layer %s", kind);
}

static tutti_error err;

static tutti_module layer(const char *kind)
{
    tutti_module m = 0;
    ck_assert_ok(service->create(service->ctx, kind, NULL, 0, &m, &err), err);
    return m;
}

static void add(tutti_module parent, const char *name, tutti_module child)
{
    ck_assert_ok(service->add(service->ctx, parent, name, child, &err), err);
}

/* body(pair): first(scale), second(scale) */
static tutti_status build(void *self, tutti_module m, const tutti_column *columns,
                          uint32_t ncolumns, tutti_error *e)
{
    const tutti_module top = layer("pair");
    add(top, "first", layer("scale"));
    add(top, "second", layer("scale"));
    add(m, "body", top);
    return TUTTI_OK;
}

static tutti_status trace(void *self, tutti_graph *g, tutti_module m, const tutti_value *inputs,
                          uint32_t ninputs, tutti_value *outputs, uint32_t noutputs)
{
    return g->call(g, service->child(service->ctx, m, "body"), inputs, 1, outputs, 1);
}

static tutti_value loss(void *self, tutti_graph *g, const tutti_value *outputs,
                        uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                        int32_t reduction)
{
    const tutti_value d = tutti_sub(g, outputs[0], targets[0]);
    return tutti_reduce(g, "mean", tutti_mul(g, d, d), NULL, 0, 0);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = toy_inputs,
                                     .targets = toy_targets,
                                     .build = build,
                                     .trace = trace,
                                     .loss = loss};
static net *n;

static void make(void)
{
    const net_options options = {.ops = tutti_op_table, .seed = 17, .threads = 1};
    const model_impl model = {&table, NULL, NULL, "scales", NULL};
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(net_create(&options, &n, &err), err);
    n->sources.make_layer = make_layer;
    service = net_modules(n);
    ck_assert_ok(net_build_model(n, &model, NULL, 0, &err), err);
    ck_assert_ok(net_commit(n, &err), err);
}

static void drop(void)
{
    net_destroy(n);
}

static tutti_module find(const char *path)
{
    for (tutti_module m = service->root(service->ctx); m; m = service->next(service->ctx, m))
        if (strcmp(service->path(service->ctx, m), path) == 0)
            return m;
    return 0;
}

static const tutti_weight *weight_at(const char *path)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, path) == 0)
            return net_weight(n, k);
    return NULL;
}

static plan *make_plan(tutti_error *e)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 3, 0, 0);
    const plan_request r = {
        .kind = PLAN_TRAIN, .ninputs = 1, .ntargets = 1, .inputs = {d}, .targets = {d}};
    plan *p = NULL;
    (void)!net_plan(n, &r, &p, e);
    return p;
}

static plan *ready_plan(void)
{
    plan *p = make_plan(&err);
    ck_assert_msg(p != NULL, "%s", err.text);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    return p;
}

static void commit(void)
{
    ck_assert_ok(net_commit(n, &err), err);
}

START_TEST(weights_have_paths_and_the_last_comes_first)
{
    ck_assert_uint_eq(net_weight_count(n), 2);
    ck_assert_str_eq(net_weight(n, 0)->path, "body.second.weight");
    ck_assert_str_eq(net_weight(n, 1)->path, "body.first.weight");
    ck_assert_int_eq(net_offset(n, 0), 0);
    ck_assert_int_eq(net_offset(n, 1), 16);
    ck_assert_int_eq(net_previous_offset(n, 0), -1);
    ck_assert_uint_eq((uintptr_t)net_weight(n, 1)->data.data % 64, 0);
    float *weights, *grads;
    int64_t count;
    net_arena(n, &weights, &grads, &count);
    ck_assert_int_eq(count, 32);
    ck_assert_ptr_eq(net_weight(n, 1)->data.data, weights + 16);
    ck_assert_ptr_eq(net_weight(n, 1)->grad, grads + 16);
}
END_TEST

static uint32_t first_before_the_rest(const void *ctx, const char *path)
{
    return strcmp(path, ctx) == 0 ? 0 : 1;
}

START_TEST(weights_of_one_group_lie_together)
{
    float *weights, *grads;
    int64_t count;
    net_set_groups(n, first_before_the_rest, "body.first.weight");
    n->tree.changed = true;
    commit();
    ck_assert_str_eq(net_weight(n, 0)->path, "body.first.weight");
    ck_assert_str_eq(net_weight(n, 1)->path, "body.second.weight");
    ck_assert_int_eq(net_offset(n, 0), 0);
    ck_assert_int_eq(net_offset(n, 1), 16);
    ck_assert_int_eq(net_previous_offset(n, 0), 16);
    net_arena(n, &weights, &grads, &count);
    ck_assert_ptr_eq(net_weight(n, 0)->data.data, weights);
}
END_TEST

START_TEST(a_commit_without_a_change_is_nothing)
{
    const uint64_t version = net_version(n);
    const void *data = net_weight(n, 0)->data.data;
    commit();
    ck_assert_uint_eq(net_version(n), version);
    ck_assert_ptr_eq(net_weight(n, 0)->data.data, data);
}
END_TEST

START_TEST(a_first_value_depends_on_its_own_path_alone)
{
    float kept[3];
    memcpy(kept, weight_at("body.second.weight")->data.data, sizeof kept);
    drop();
    make();
    ck_assert_mem_eq(kept, weight_at("body.second.weight")->data.data, sizeof kept);
    ck_assert_mem_ne(kept, weight_at("body.first.weight")->data.data, sizeof kept);
    add(find("body"), "third", layer("scale"));
    commit();
    ck_assert_mem_eq(kept, weight_at("body.second.weight")->data.data, sizeof kept);
}
END_TEST

START_TEST(wrapping_keeps_value_and_offset_of_the_inner_weights)
{
    float kept[3];
    const tutti_module old = find("body.first"), wrap = layer("pair");
    memcpy(kept, weight_at("body.first.weight")->data.data, sizeof kept);
    ck_assert_ok(service->replace(service->ctx, old, wrap, &err), err);
    add(wrap, "inner", old);
    add(wrap, "more", layer("scale"));
    commit();
    const tutti_weight *w = weight_at("body.first.inner.weight");
    ck_assert_ptr_nonnull(w);
    ck_assert_mem_eq(kept, w->data.data, sizeof kept);
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        ck_assert_int_eq(net_previous_offset(n, k), net_weight(n, k) == w ? 16
                                                    : strstr(net_weight(n, k)->path, "more")
                                                        ? -1
                                                        : 0);
    ck_assert_uint_eq(find("body.first"), wrap);
    (void)ready_plan();
}
END_TEST

START_TEST(a_replaced_module_leaves_with_its_values)
{
    tutti_tensor before, after;
    float kept[3];
    const tutti_module old = find("body.first");
    ck_assert_ok(service->weight_data(service->ctx, old, "weight", &before, &err), err);
    memcpy(kept, before.data, sizeof kept);
    ck_assert_ok(service->replace(service->ctx, old, layer("pair"), &err), err);
    commit();
    ck_assert_uint_eq(net_weight_count(n), 1);
    ck_assert_uint_eq(service->parent(service->ctx, old), 0);
    ck_assert_ok(service->weight_data(service->ctx, old, "weight", &after, &err), err);
    ck_assert_mem_eq(kept, after.data, sizeof kept);
}
END_TEST

START_TEST(a_taken_weight_is_the_same_weight)
{
    const tutti_module from = find("body.first"), to = layer("scale");
    float kept[3];
    memcpy(kept, weight_at("body.first.weight")->data.data, sizeof kept);
    ck_assert_ok(service->take_weight(service->ctx, to, "weight", from, "weight", &err), err);
    ck_assert_ok(service->replace(service->ctx, from, to, &err), err);
    commit();
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, "body.first.weight") == 0)
            ck_assert_int_eq(net_previous_offset(n, k), 16);
    ck_assert_mem_eq(kept, weight_at("body.first.weight")->data.data, sizeof kept);
}
END_TEST

START_TEST(a_shared_weight_is_listed_once_and_gets_both_gradients)
{
    ck_assert_ok(service->take_weight(service->ctx, find("body.second"), "weight",
                                      find("body.first"), "weight", &err),
                 err);
    commit();
    ck_assert_uint_eq(net_weight_count(n), 1);
    toy_compare(ready_plan(), 1.0f, 1e-5);
}
END_TEST

START_TEST(a_frozen_weight_leaves_the_arena_and_comes_back)
{
    float kept[3];
    memcpy(kept, weight_at("body.first.weight")->data.data, sizeof kept);
    ck_assert_ok(service->set_trainable(service->ctx, find("body.first"), 0, &err), err);
    commit();
    ck_assert_ptr_null(weight_at("body.first.weight")->grad);
    ck_assert_int_eq(net_offset(n, 1), -1);
    ck_assert_mem_eq(kept, weight_at("body.first.weight")->data.data, sizeof kept);
    toy_compare(ready_plan(), 1.0f, 1e-5);
    ck_assert_ok(service->set_trainable(service->ctx, find("body.first"), 1, &err), err);
    commit();
    ck_assert_ptr_nonnull(weight_at("body.first.weight")->grad);
    ck_assert_mem_eq(kept, weight_at("body.first.weight")->data.data, sizeof kept);
}
END_TEST

START_TEST(surgery_raises_the_version_and_drops_plans)
{
    const uint64_t version = net_version(n);
    (void)ready_plan();
    add(find("body"), "third", layer("scale"));
    ck_assert_ptr_null(make_plan(&err));
    ck_assert_error(err, TUTTI_E_STATE, "scales: the tree has changed since the last commit");
    err = (tutti_error)TUTTI_ERROR_INIT;
    commit();
    ck_assert_uint_eq(net_version(n), version + 1);
    toy_compare(ready_plan(), 1.0f, 1e-5);
}
END_TEST

/* The second call sees what the first has assigned. */
START_TEST(a_buffer_assigned_twice_counts_twice)
{
    const tutti_module counter = layer("count"), other = layer("count");
    add(find("body"), "counter", counter);
    add(find("body"), "other", other);
    ck_assert_ok(service->take_weight(service->ctx, other, "calls", counter, "calls", &err),
                 err);
    commit();
    plan *p = ready_plan();
    for (int k = 0; k < 3; k++)
        toy_run(p, 1.0f);
    ck_assert_close(*(float *)weight_at("body.counter.calls")->data.data, 6.0, 0.0);
}
END_TEST

START_TEST(refusals_say_why)
{
    const tutti_module first = find("body.first"), top = find("body");
    tutti_tensor view;
#define REFUSED(call, status, text)                                                            \
    do {                                                                                       \
        err = (tutti_error)TUTTI_ERROR_INIT;                                                   \
        ck_assert_int_eq(call, status);                                                        \
        ck_assert_error(err, status, text);                                                    \
    } while (0)
    tutti_module m = 0;
    REFUSED(service->create(service->ctx, "nothing", NULL, 0, &m, &err), TUTTI_E_NOTFOUND,
            "there is no layer nothing");
    REFUSED(service->add(service->ctx, top, "again", first, &err), TUTTI_E_STATE,
            "body.first: the module is in the tree already");
    REFUSED(service->add(service->ctx, top, "first", layer("scale"), &err), TUTTI_E_EXISTS,
            "body: there is a \"first\" already");
    REFUSED(service->add(service->ctx, top, "a.b", layer("scale"), &err), TUTTI_E_ARG,
            "body: \"a.b\" cannot be a child's name");
    REFUSED(service->add(service->ctx, 99, "x", layer("scale"), &err), TUTTI_E_ARG,
            "there is no module 99");
    m = layer("pair");
    add(m, "inside", layer("pair"));
    REFUSED(service->add(service->ctx, service->child(service->ctx, m, "inside"), "x", m, &err),
            TUTTI_E_STATE, "pair: a module cannot be placed inside itself");
    REFUSED(service->replace(service->ctx, 1, layer("scale"), &err), TUTTI_E_STATE,
            "scales: only a module that is in the tree below the root can be replaced");
    REFUSED(service->weight_data(service->ctx, first, "bias", &view, &err), TUTTI_E_NOTFOUND,
            "body.first: there is no weight \"bias\"; it has weight");
    m = layer("count");
    REFUSED(service->take_weight(service->ctx, m, "calls", first, "weight", &err),
            TUTTI_E_SHAPE,
            "count: weight \"calls\" is F32 (), \"weight\" of body.first is F32 (3)");
    const tutti_desc odd = {{3}, 1, 77}, large = {{1LL << 40, 1LL << 40}, 2, TUTTI_F16};
    const tutti_init init = {.kind = TUTTI_INIT_CONSTANT};
    REFUSED(service->weight(service->ctx, m, "odd", &odd, &init, 0, &err), TUTTI_E_ARG,
            "count: weight \"odd\": dtype 77 is none of this ABI");
    REFUSED(service->weight(service->ctx, m, "odd", &large, &init, 0, &err), TUTTI_E_RANGE,
            "count: weight \"odd\": more than 2^63 bytes");
#undef REFUSED
}
END_TEST

static const struct {
    const char *kind;
    tutti_status status;
    const char *text;
} bad[] = {
    {"typo", TUTTI_E_NOTFOUND, "body.bad: there is no weight \"wieght\"; it has weight"},
    {"empty", TUTTI_E_FAIL, "body.bad: trace left a result empty"},
    {"loop", TUTTI_E_STATE, "body.bad: call: modules call each other without end"},
};

START_TEST(errors_while_tracing_name_the_module)
{
    add(find("body"), "bad", layer(bad[_i].kind));
    commit();
    ck_assert_ptr_null(make_plan(&err));
    ck_assert_error(err, bad[_i].status, bad[_i].text);
}
END_TEST

START_TEST(shapes_that_do_not_fit_name_module_and_op)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 5, 0, 0);
    const plan_request r = {
        .kind = PLAN_TRAIN, .ninputs = 1, .ntargets = 1, .inputs = {d}, .targets = {d}};
    plan *p = NULL;
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_SHAPE);
    ck_assert_ptr_null(p);
    ck_assert_msg(strncmp(err.text, "body.first: mul: ", 17) == 0, "%s", err.text);
}
END_TEST

/* The tree has the second first, but it is used last: so it comes first. */
START_TEST(with_columns_the_order_is_that_of_the_backward_pass)
{
    const net_options options = {.ops = tutti_op_table, .seed = 17, .threads = 1};
    const model_impl backwards = {&table, NULL, NULL, "scales", NULL};
    const tutti_column column = {"input", toy_desc(TUTTI_F32, 1, 3, 0, 0, 0), 0};
    drop();
    ck_assert_ok(net_create(&options, &n, &err), err);
    n->sources.make_layer = make_layer;
    service = net_modules(n);
    ck_assert_ok(net_build_model(n, &backwards, &column, 1, &err), err);
    const tutti_module wrap = layer("reverse"), old = find("body");
    ck_assert_ok(service->replace(service->ctx, old, wrap, &err), err);
    add(wrap, "second", layer("scale"));
    add(wrap, "first", layer("scale"));
    commit();
    ck_assert_str_eq(net_weight(n, 0)->path, "body.second.weight");
    ck_assert_str_eq(net_weight(n, 1)->path, "body.first.weight");
    toy_compare(ready_plan(), 1.0f, 1e-5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make, drop);
    tcase_add_test(all, weights_have_paths_and_the_last_comes_first);
    tcase_add_test(all, with_columns_the_order_is_that_of_the_backward_pass);
    tcase_add_test(all, weights_of_one_group_lie_together);
    tcase_add_test(all, a_commit_without_a_change_is_nothing);
    tcase_add_test(all, a_first_value_depends_on_its_own_path_alone);
    tcase_add_test(all, wrapping_keeps_value_and_offset_of_the_inner_weights);
    tcase_add_test(all, a_replaced_module_leaves_with_its_values);
    tcase_add_test(all, a_taken_weight_is_the_same_weight);
    tcase_add_test(all, a_shared_weight_is_listed_once_and_gets_both_gradients);
    tcase_add_test(all, a_frozen_weight_leaves_the_arena_and_comes_back);
    tcase_add_test(all, surgery_raises_the_version_and_drops_plans);
    tcase_add_test(all, a_buffer_assigned_twice_counts_twice);
    tcase_add_test(all, refusals_say_why);
    tcase_add_loop_test(all, errors_while_tracing_name_the_module, 0, sizeof bad / sizeof *bad);
    tcase_add_test(all, shapes_that_do_not_fit_name_module_and_op);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
