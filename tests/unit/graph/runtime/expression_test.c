/* expression_test.c - operations of plugins in groups, by tiles on the CPU and by their expressions on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "expression_ops.h"
#include "gradcheck.h"
#include "graph/ir/interpreter.h"
#include "graph/program/program_internal.h"
#include "graph/runtime/host_memory.h"
#include "op_table.h"
#include "toy_model.h"

#include <stdlib.h>

enum { MAX_OPS = 256 };

static const tutti_op *ops[MAX_OPS];
static tutti_op broken; /* squeeze, with an expression that is none */
static tutti_op named;  /* tilt, by its plugin */
static tutti_op_traits broken_traits, named_traits;

static void list_ops(void)
{
    uint32_t n = 0;
    while (tutti_op_table[n]) {
        ck_assert_uint_lt(n + 6, MAX_OPS);
        ops[n] = tutti_op_table[n];
        n++;
    }
    broken = squeeze_op;
    broken.name = "broken";
    broken_traits = squeeze_traits;
    broken_traits.pointwise_cuda =
        "__device__ float broken_f32(float x, const void *attr) { return y; }";
    broken.traits = &broken_traits;
    named = tilt_op;
    named.name = "org.example.tilt@1.0.0:tilt";
    named_traits = tilt_traits;
    named.traits = &named_traits;
    ops[n++] = &named;
    ops[n++] = &squeeze_op;
    ops[n++] = &tilt_op;
    ops[n++] = &blend_op;
    ops[n++] = &broken;
    ops[n] = NULL;
}

/* A graph of two inputs, and one value of it that is kept. */
typedef struct rig {
    graph *g;
    tutti_graph *b;
    tutti_value in[2];
    tutti_value kept;
    float *data[2];
    void *placed[2], *arena;
    const tutti_device *device;
    program *p;
} rig;

static void rig_begin(rig *r, int32_t dtype, int64_t n)
{
    const tutti_desc d = toy_desc(dtype, 1, n, 0, 0, 0);
    list_ops();
    *r = (rig){.g = graph_create(ops, TUTTI_MODE_TRAIN, NULL)};
    ck_assert_ptr_nonnull(r->g);
    r->b = graph_builder(r->g);
    for (int k = 0; k < 2; k++)
        r->in[k] = graph_input(r->g, &d);
}

static tutti_status rig_compile(rig *r, tutti_error *err)
{
    r->device = op_check_device ? op_check_device(err) : NULL;
    ck_assert_msg(r->device || !op_check_device, "%s", err->text);
    const program_spec spec = {.g = r->g,
                               .keep = &r->kept,
                               .nkeep = 1,
                               .nexternal = 2,
                               .threads = 2,
                               .device = r->device};
    ck_assert_ok(graph_error(r->g, err), *err);
    return program_create(&spec, &r->p, err);
}

/* The values of the program against the interpreter's, in f64. */
static void rig_compare(rig *r, double tolerance)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_desc *d = &graph_value_at(r->g, r->in[0])->desc;
    const tutti_desc *y = &graph_value_at(r->g, r->kept)->desc;
    interpreter *it;
    r->arena = device_alloc(r->device, program_bytes(r->p));
    program_set_arena(r->p, r->arena);
    ck_assert_ok(interpreter_create(r->g, &it, &err), err);
    for (uint32_t k = 0; k < 2; k++) {
        r->data[k] = host_memory_alloc(tutti_nbytes(d));
        const tutti_tensor t = {r->data[k], *d, TUTTI_DEVICE_CPU, 0};
        toy_fill(t, k + 3);
        interpreter_load(it, r->in[k], &t);
        r->placed[k] = device_alloc(r->device, tutti_nbytes(d));
        ck_assert_ok(device_copy(r->device, r->placed[k], r->data[k], tutti_nbytes(d),
                                 TUTTI_COPY_TO_DEVICE, &err),
                     err);
        program_set_external(r->p, k, r->placed[k]);
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(r->g), &toy_step, &err), err);
    for (int segment = 0; segment < 2; segment++)
        ck_assert_ok(program_run(r->p, segment, &toy_step, &err), err);
    float *got = host_memory_alloc(tutti_nbytes(y));
    ck_assert_ok(device_copy(r->device, got, program_address(r->p, r->kept), tutti_nbytes(y),
                             TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    ck_assert_close(toy_distance(got, interpreter_value(it, r->kept), tutti_numel(y)), 0.0,
                    tolerance);
    free(got);
    interpreter_destroy(it);
}

static void rig_end(rig *r)
{
    program_destroy(r->p);
    graph_destroy(r->g);
    device_free(r->device, r->arena);
    for (int k = 0; k < 2; k++) {
        device_free(r->device, r->placed[k]);
        free(r->data[k]);
    }
}

static tutti_value squeeze(const rig *r, const char *op, tutti_value x)
{
    const tutti_attr slope = tutti_attr_f("slope", 1.5);
    return r->b->emit(r->b, op, &x, 1, &slope, 1, NULL, 0);
}

static const int64_t sizes[] = {0, 1, 15, 4097, 70001};

/* Of one, two and three operands, with attributes and without, among built-in ones, one of them twice. */
START_TEST(they_run_with_built_in_ones_in_one_step)
{
    rig r;
    tutti_error err = TUTTI_ERROR_INIT;
    rig_begin(&r, TUTTI_F32, sizes[_i]);
    const tutti_value a = squeeze(&r, "squeeze", tutti_add(r.b, r.in[0], r.in[1]));
    const tutti_value of[3] = {a, r.in[1], tutti_op2(r.b, "tilt", a, r.in[0])};
    const tutti_attr attr[2] = {tutti_attr_f("a", 0.25), tutti_attr_f("b", -2.0)};
    const tutti_value y = r.b->emit(r.b, "blend", of, 3, attr, 2, NULL, 0);
    r.kept = tutti_relu(r.b, tutti_op2(r.b, "tilt", y, a));
    ck_assert_ok(rig_compile(&r, &err), err);
    ck_assert_uint_eq(program_nsteps(r.p), 1);
    rig_compare(&r, 1e-5);
    rig_end(&r);
}
END_TEST

/* On a GPU there is nothing but the expression. */
START_TEST(one_runs_alone)
{
    rig r;
    tutti_error err = TUTTI_ERROR_INIT;
    rig_begin(&r, TUTTI_F32, sizes[_i]);
    r.kept = tutti_op2(r.b, "tilt", r.in[0], r.in[1]);
    ck_assert_ok(rig_compile(&r, &err), err);
    ck_assert_uint_eq(program_nsteps(r.p), 1);
    rig_compare(&r, 1e-5);
    rig_end(&r);
}
END_TEST

/* The same operation by its own name and by its plugin's, as "id@version:name". */
START_TEST(names_have_their_plugin)
{
    rig r;
    tutti_error err = TUTTI_ERROR_INIT;
    rig_begin(&r, TUTTI_F32, 4097);
    r.kept = tutti_op2(r.b, "tilt", tutti_op2(r.b, named.name, r.in[0], r.in[1]), r.in[1]);
    ck_assert_ok(rig_compile(&r, &err), err);
    ck_assert_uint_eq(program_nsteps(r.p), 1);
    rig_compare(&r, 1e-5);
    rig_end(&r);
}
END_TEST

/* A device outlives the nets whose operations it has compiled: another one may lie where one was. */
START_TEST(an_expression_is_found_by_its_text)
{
    for (int again = 0; again < 2; again++) {
        rig r;
        tutti_error err = TUTTI_ERROR_INIT;
        rig_begin(&r, TUTTI_F32, 15);
        named_traits.pointwise_cuda =
            again ? "__device__ float tilt_f32(float x, float y) { return x * fabsf(y); }"
                  : "__device__ float tilt_f32(float x, float y) { return x + y; }";
        r.kept = tutti_op2(r.b, named.name, r.in[0], r.in[1]);
        ck_assert_ok(rig_compile(&r, &err), err);
        if (again)
            rig_compare(&r, 1e-5);
        rig_end(&r);
    }
}
END_TEST

START_TEST(a_wrong_expression_is_refused)
{
    rig r;
    tutti_error err = TUTTI_ERROR_INIT;
    rig_begin(&r, TUTTI_F32, 8);
    r.kept = squeeze(&r, "broken", r.in[0]);
    const tutti_status s = rig_compile(&r, &err);
    if (!op_check_device) {
        ck_assert_ok(s, err);
    } else {
        ck_assert_int_eq(s, TUTTI_E_ARG);
        ck_assert_msg(strstr(err.text, "pointwise_fusion with broken: NVRTC") &&
                          strstr(err.text, "refuses its text: broken:1:"),
                      "%s", err.text);
    }
    rig_end(&r);
}
END_TEST

/* In a process of its own, on the stand-in. */
START_TEST(without_nvrtc_the_reason_is_told)
{
    rig r;
    tutti_error err = TUTTI_ERROR_INIT;
    if (!getenv("TUTTI_CUDA_STANDIN"))
        return;
    ck_assert_int_eq(setenv("TUTTI_CUDA_NVRTC", "0", 1), 0);
    rig_begin(&r, TUTTI_F32, 8);
    r.kept = tutti_op2(r.b, "tilt", r.in[0], r.in[1]);
    ck_assert_int_eq(rig_compile(&r, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "NVRTC: nvrtcVersion failed");
    rig_end(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expressions of plugins");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, they_run_with_built_in_ones_in_one_step, 0,
                        sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(all, one_runs_alone, 0, sizeof sizes / sizeof *sizes);
    tcase_add_test(all, names_have_their_plugin);
    tcase_add_test(all, an_expression_is_found_by_its_text);
    tcase_add_test(all, a_wrong_expression_is_refused);
    tcase_add_test(all, without_nvrtc_the_reason_is_told);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
