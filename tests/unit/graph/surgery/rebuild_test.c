/* rebuild_test.c - modules that are built anew in place, and weights that are read through modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

/* Layers: "scale": y = weight x; "shift": y = weight x + shift; "twice": both children, in turn;
 * "gain": what it gets times its weight "factor"; "flat": of another shape. */
static const tutti_module_v1 *service;
static tutti_error err;

static tutti_status vector(tutti_module m, const char *name, double value)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 1, 3, 0, 0, 0);
    const tutti_init init = {.kind = TUTTI_INIT_CONSTANT, .a = value};
    return service->weight(service->ctx, m, name, &d, &init, TUTTI_WEIGHT_TRAINABLE, &err);
}

static tutti_status scale_build(void *self, tutti_module m, tutti_error *e)
{
    return vector(m, "weight", 2.0);
}

static tutti_status scale_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    out[0] = tutti_mul(g, in[0], g->weight(g, m, "weight"));
    return g->status(g);
}

static tutti_status shift_build(void *self, tutti_module m, tutti_error *e)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 1, 3, 0, 0, 0);
    const tutti_init zero = {.kind = TUTTI_INIT_CONSTANT};
    const tutti_status s = vector(m, "weight", 7.0);
    return s ? s : service->weight(service->ctx, m, "shift", &d, &zero, 0, &err);
}

static tutti_status shift_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    out[0] =
        tutti_add(g, tutti_mul(g, in[0], g->weight(g, m, "weight")), g->weight(g, m, "shift"));
    return g->status(g);
}

static tutti_status add_scale(tutti_module m, const char *name)
{
    tutti_module child;
    const tutti_status s = service->create(service->ctx, "scale", NULL, 0, &child, &err);
    return s ? s : service->add(service->ctx, m, name, child, &err);
}

static tutti_status twice_build(void *self, tutti_module m, tutti_error *e)
{
    const tutti_status s = add_scale(m, "a");
    return s ? s : add_scale(m, "b");
}

static tutti_status twice_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    out[0] = in[0];
    for (uint32_t k = 0; service->child_at(service->ctx, m, k); k++)
        (void)g->call(g, service->child_at(service->ctx, m, k), out, 1, out, 1);
    return g->status(g);
}

static tutti_status gain_build(void *self, tutti_module m, tutti_error *e)
{
    return vector(m, "factor", 5.0);
}

static tutti_status gain_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    out[0] = tutti_mul(g, in[0], g->weight(g, m, "factor"));
    return g->status(g);
}

static tutti_status no_build(void *self, tutti_module m, tutti_error *e)
{
    return TUTTI_OK;
}

static tutti_status flat_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    const int64_t shape[2] = {1, 3};
    out[0] = tutti_reshape(g, in[0], shape, 2);
    return g->status(g);
}

static const struct {
    const char *kind;
    tutti_layer_v1 table;
} kinds[] = {
    {"scale", {sizeof(tutti_layer_v1), 0, scale_build, scale_trace}},
    {"shift", {sizeof(tutti_layer_v1), 0, shift_build, shift_trace}},
    {"twice", {sizeof(tutti_layer_v1), 0, twice_build, twice_trace}},
    {"gain", {sizeof(tutti_layer_v1), 0, gain_build, gain_trace}},
    {"flat", {sizeof(tutti_layer_v1), 0, no_build, flat_trace}},
};

static tutti_status make_layer(void *ctx, const char *kind, const tutti_attr *params,
                               uint32_t nparams, layer_impl *ret_impl, tutti_error *e)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].kind, kind) == 0) {
            *ret_impl = (layer_impl){&kinds[k].table, NULL, NULL, NULL};
            return TUTTI_OK;
        }
    return tutti_fail(e, TUTTI_E_NOTFOUND, "there is no layer %s", kind);
}

/* ---- a model with one "twice" ---- */

static net *n;

static void children(const tutti_module_v1 *s, tutti_module root)
{
    tutti_module top;
    service = s;
    ((net *)s->ctx)->sources.make_layer = make_layer;
    ck_assert_ok(s->create(s->ctx, "twice", NULL, 0, &top, &err), err);
    ck_assert_ok(s->add(s->ctx, root, "top", top, &err), err);
}

static tutti_value trace(tutti_graph *g, tutti_module root, const tutti_value *x)
{
    tutti_value y = 0;
    (void)g->call(g, service->child(service->ctx, root, "top"), x, 1, &y, 1);
    return y;
}

static tutti_value loss(tutti_graph *g, tutti_value y, tutti_value target)
{
    static const int64_t axis[1] = {1};
    const tutti_value d = tutti_sub(g, y, target);
    return tutti_reduce(g, "mean", tutti_mul(g, d, d), axis, 1, 0);
}

static toy_model model = {.children = children, .trace = trace, .loss = loss};

static void make(void)
{
    err = (tutti_error)TUTTI_ERROR_INIT;
    n = toy_net(tutti_op_table, &model);
}

static void drop(void)
{
    net_destroy(n);
}

static tutti_module find(const char *name)
{
    const tutti_module top = service->child(service->ctx, 1, "top");
    return name ? service->child(service->ctx, top, name) : top;
}

static tutti_module layer(const char *kind)
{
    tutti_module m = 0;
    ck_assert_ok(service->create(service->ctx, kind, NULL, 0, &m, &err), err);
    return m;
}

static const tutti_weight *weight_at(const char *path)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, path) == 0)
            return net_weight(n, k);
    return NULL;
}

static void set(const char *path, float value)
{
    ck_assert_msg(weight_at(path) != NULL, "there is no weight %s", path);
    for (int k = 0; k < 3; k++)
        ((float *)weight_at(path)->data.data)[k] = value;
}

/* What the model makes of ones, after a commit; also compares all that comes out with f64. */
static double result(void)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 3, 0, 0);
    if (net_commit(n, &err))
        ck_abort_msg("%s", err.text);
    plan *p = toy_plan(n, PLAN_TRAIN, d, d);
    toy_fill(plan_target(p, 0), 2);
    for (int k = 0; k < 12; k++)
        ((float *)plan_input(p, 0).data)[k] = 1.0f;
    toy_compare(p, 1.0f, 1e-5);
    return (double)((float *)plan_output(p, 0).data)[0];
}

START_TEST(a_module_built_anew_stays_in_place_with_the_weights_it_still_has)
{
    const tutti_module a = find("a");
    set("top.a.weight", 3.0f);
    ck_assert_ok(service->rebuild(service->ctx, a, "shift", NULL, 0, &err), err);
    ck_assert_uint_eq(find("a"), a);
    ck_assert_str_eq(service->kind(service->ctx, a), "shift");
    ck_assert_close(result(), 6.0, 0.0); /* 3, not 7, times b's 2 */
    ck_assert_ptr_nonnull(weight_at("top.a.shift"));
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, "top.a.weight") == 0)
            ck_assert_int_ge(net_previous_offset(n, k),
                             0); /* the optimizer's state goes along */
    ck_assert_ok(service->rebuild(service->ctx, a, "scale", NULL, 0, &err), err);
    ck_assert_close(result(), 6.0, 0.0);
    ck_assert_ptr_null(weight_at("top.a.shift"));
}
END_TEST

START_TEST(children_stay_whatever_has_become_of_them)
{
    const tutti_module top = find(NULL), wrap = layer("twice"), b = find("b");
    ck_assert_ok(service->replace(service->ctx, b, wrap, &err), err); /* 2 a, then 2 2 */
    ck_assert_ok(service->rebuild(service->ctx, top, NULL, NULL, 0, &err), err);
    ck_assert_uint_eq(find("b"), wrap);
    ck_assert_uint_eq(service->parent(service->ctx, wrap), top);
    ck_assert_close(result(), 8.0, 0.0);
    ck_assert_ok(service->rebuild(service->ctx, find("a"), "twice", NULL, 0, &err), err);
    ck_assert_close(result(), 16.0, 0.0); /* new children come along */
    ck_assert_str_eq(service->path(service->ctx, service->child(service->ctx, find("a"), "b")),
                     "top.a.b");
}
END_TEST

START_TEST(a_parametrized_weight_is_read_through_modules_in_turn)
{
    const tutti_module a = find("a"), gain = layer("gain"), more = layer("gain");
    ck_assert_ok(service->parametrize(service->ctx, a, "weight", gain, &err), err);
    ck_assert_ok(service->parametrize(service->ctx, find("b"), "weight", more, &err), err);
    ck_assert_close(result(), 2.0 * 5.0 * 2.0 * 5.0, 0.0);
    ck_assert_ptr_nonnull(weight_at("top.a.weight.gain.factor")->grad);
    set("top.a.weight.gain.factor", 0.5f);
    ck_assert_close(result(), 10.0, 0.0);
    ck_assert_ok(service->parametrize(service->ctx, a, "weight", layer("gain"), &err), err);
    ck_assert_close(result(), 50.0, 0.0);
    ck_assert_uint_eq(service->parametrization(service->ctx, a, "weight", 0), gain);
    ck_assert_uint_ne(service->parametrization(service->ctx, a, "weight", 1), 0);
    ck_assert_uint_eq(service->parametrization(service->ctx, a, "weight", 2), 0);
    ck_assert_uint_eq(service->parametrization(service->ctx, a, "wieght", 0), 0);
}
END_TEST

/* Whoever takes the weight, or is built anew, reads it through the same module. */
START_TEST(a_parametrization_follows_its_weight)
{
    const tutti_module a = find("a"), next = layer("scale");
    ck_assert_ok(service->parametrize(service->ctx, a, "weight", layer("gain"), &err), err);
    ck_assert_ok(service->rebuild(service->ctx, a, "shift", NULL, 0, &err), err);
    ck_assert_close(result(), 20.0, 0.0);
    ck_assert_ok(service->take_weight(service->ctx, next, "weight", a, "weight", &err), err);
    ck_assert_ok(service->replace(service->ctx, a, next, &err), err);
    ck_assert_close(result(), 20.0, 0.0);
    ck_assert_ok(service->set_trainable(service->ctx, next, 0, &err), err);
    ck_assert_close(result(), 20.0, 0.0);
    ck_assert_ptr_null(weight_at("top.a.weight.gain.factor")->grad);
    ck_assert_ok(service->replace(service->ctx, next, layer("scale"), &err), err);
    ck_assert_close(result(), 4.0, 0.0);
    ck_assert_ptr_null(weight_at("top.a.weight.gain.factor")); /* left with it */
}
END_TEST

#define REFUSED(call, status, text)                                                            \
    do {                                                                                       \
        err = (tutti_error)TUTTI_ERROR_INIT;                                                   \
        ck_assert_int_eq(call, status);                                                        \
        ck_assert_error(err, status, text);                                                    \
    } while (0)

START_TEST(what_cannot_be_is_refused)
{
    const tutti_module a = find("a"), gain = layer("gain"), shift = layer("shift");
    REFUSED(service->rebuild(service->ctx, 1, NULL, NULL, 0, &err), TUTTI_E_ARG,
            "there is no module 1 that could be built anew");
    REFUSED(service->rebuild(service->ctx, a, "nothing", NULL, 0, &err), TUTTI_E_NOTFOUND,
            "there is no layer nothing");
    ck_assert_str_eq(service->kind(service->ctx, a), "scale");
    REFUSED(service->parametrize(service->ctx, shift, "shift", gain, &err), TUTTI_E_ARG,
            "shift: shift is a buffer, which has no parametrization");
    REFUSED(service->parametrize(service->ctx, a, "bias", gain, &err), TUTTI_E_NOTFOUND,
            "top.a: there is no weight \"bias\"; it has weight");
    REFUSED(service->parametrize(service->ctx, a, "weight", find("b"), &err), TUTTI_E_STATE,
            "module 4 cannot be a parametrization: it has a place already");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(service->parametrize(service->ctx, a, "weight", gain, &err), err);
    REFUSED(service->add(service->ctx, a, "x", gain, &err), TUTTI_E_STATE,
            "gain: the module is in the tree already");
    REFUSED(service->parametrize(service->ctx, find("b"), "weight", gain, &err), TUTTI_E_STATE,
            "module 5 cannot be a parametrization: it has a place already");
}
END_TEST

START_TEST(a_parametrization_that_changes_the_shape_is_refused)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 3, 0, 0);
    const plan_request r = {
        .kind = PLAN_TRAIN, .ninputs = 1, .ntargets = 1, .inputs = {d}, .targets = {d}};
    plan *p = NULL;
    ck_assert_ok(service->parametrize(service->ctx, find("a"), "weight", layer("flat"), &err),
                 err);
    ck_assert_ok(net_commit(n, &err), err);
    ck_assert_int_eq(net_plan(n, &r, &p, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "top.a: flat makes F32 (1, 3) of a weight F32 (3): its shape must stay");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rebuild");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make, drop);
    tcase_add_test(all, a_module_built_anew_stays_in_place_with_the_weights_it_still_has);
    tcase_add_test(all, children_stay_whatever_has_become_of_them);
    tcase_add_test(all, a_parametrized_weight_is_read_through_modules_in_turn);
    tcase_add_test(all, a_parametrization_follows_its_weight);
    tcase_add_test(all, what_cannot_be_is_refused);
    tcase_add_test(all, a_parametrization_that_changes_the_shape_is_refused);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
