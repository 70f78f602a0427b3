/* pointwise_test.c - groups of elementwise nodes: found, run by tiles, equal to the interpreter. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gradcheck.h"
#include "graph/ir/interpreter.h"
#include "graph/program/program_internal.h"
#include "graph/runtime/host_memory.h"
#include "op_table.h"
#include "toy_model.h"

enum { MAX_KEPT = 64 };

/* A program over one graph with inputs 0, 1, ... and some values kept, beside its interpreter. */
typedef struct rig {
    graph *g;
    tutti_graph *b;
    tutti_value in[3];
    float *data[3];  /* the host's */
    void *placed[3]; /* the same where the program runs */
    const tutti_device *device;
    tutti_value kept[MAX_KEPT];
    uint32_t nkept;
    program *p;
    void *arena;
} rig;

static void rig_begin(rig *r, tutti_desc d, uint32_t nin)
{
    *r = (rig){.g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL)};
    ck_assert_ptr_nonnull(r->g);
    r->b = graph_builder(r->g);
    for (uint32_t k = 0; k < nin; k++)
        r->in[k] = graph_input(r->g, &d);
}

static void rig_compile(rig *r, int threads)
{
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t nin = 0;
    while (nin < 3 && r->in[nin])
        nin++;
    r->device = op_check_device ? op_check_device(&err) : NULL;
    ck_assert_msg(r->device || !op_check_device, "%s", err.text);
    const program_spec spec = {.g = r->g,
                               .keep = r->kept,
                               .nkeep = r->nkept,
                               .nexternal = nin,
                               .threads = threads,
                               .device = r->device};
    ck_assert_ok(graph_error(r->g, &err), err);
    ck_assert_ok(program_create(&spec, &r->p, &err), err);
    uint32_t a, b, count;
    const arena_interval *map = program_intervals(r->p, &count);
    ck_assert(!arena_overlap(map, count, &a, &b));
    r->arena = device_alloc(r->device, program_bytes(r->p));
    program_set_arena(r->p, r->arena);
    for (uint32_t k = 0; k < nin; k++) {
        const tutti_desc *d = &graph_value_at(r->g, r->in[k])->desc;
        r->data[k] = host_memory_alloc(tutti_nbytes(d));
        toy_fill((tutti_tensor){r->data[k], *d, TUTTI_DEVICE_CPU, 0}, k + 3);
        r->placed[k] = device_alloc(r->device, tutti_nbytes(d));
        ck_assert_ok(device_copy(r->device, r->placed[k], r->data[k], tutti_nbytes(d),
                                 TUTTI_COPY_TO_DEVICE, &err),
                     err);
        program_set_external(r->p, k, r->placed[k]);
    }
}

/* A kept value, for the caller to free. */
static float *rig_fetch(const rig *r, uint32_t k)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const uint64_t bytes = tutti_nbytes(&graph_value_at(r->g, r->kept[k])->desc);
    float *got = host_memory_alloc(bytes);
    ck_assert_ok(device_copy(r->device, got, program_address(r->p, r->kept[k]), bytes,
                             TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    return got;
}

/* Kernels against the f64 interpreter, for every kept value. */
static void rig_compare_within(rig *r, double tolerance)
{
    tutti_error err = TUTTI_ERROR_INIT;
    interpreter *it;
    ck_assert_ok(interpreter_create(r->g, &it, &err), err);
    for (uint32_t k = 0; k < 3 && r->in[k]; k++) {
        const tutti_tensor t = {r->data[k], graph_value_at(r->g, r->in[k])->desc,
                                TUTTI_DEVICE_CPU, 0};
        interpreter_load(it, r->in[k], &t);
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(r->g), &toy_step, &err), err);
    for (int segment = 0; segment < 2; segment++)
        ck_assert_ok(program_run(r->p, segment, &toy_step, &err), err);
    for (uint32_t k = 0; k < r->nkept; k++) {
        const tutti_desc *d = &graph_value_at(r->g, r->kept[k])->desc;
        float *got = rig_fetch(r, k);
        ck_assert_close(toy_distance(got, interpreter_value(it, r->kept[k]), tutti_numel(d)),
                        0.0, tolerance);
        free(got);
    }
    interpreter_destroy(it);
}

static void rig_compare(rig *r)
{
    rig_compare_within(r, 1e-5);
}

static void rig_end(rig *r)
{
    program_destroy(r->p);
    graph_destroy(r->g);
    device_free(r->device, r->arena);
    for (int k = 0; k < 3; k++) {
        device_free(r->device, r->placed[k]);
        free(r->data[k]);
    }
}

static const int64_t sizes[] = {0, 1, 15, 4096, 4097, 70001};

START_TEST(a_group_is_one_step_at_every_size)
{
    rig r;
    rig_begin(&r, toy_desc(TUTTI_F32, 1, sizes[_i], 0, 0, 0), 2);
    const tutti_value sum = tutti_add(r.b, r.in[0], r.in[1]);
    const tutti_value y = tutti_relu(r.b, sum);
    r.kept[r.nkept++] = tutti_mul(r.b, tutti_op1(r.b, "tanh", y), r.in[0]);
    rig_compile(&r, 3);
    ck_assert_uint_eq(program_nsteps(r.p), 1);
    rig_compare(&r);
    rig_end(&r);
}
END_TEST

/* A residual's gradient, as mixed precision has it; each result may be rounded to 8 bits. */
START_TEST(a_group_reads_bf16)
{
    rig r;
    rig_begin(&r, toy_desc(TUTTI_BF16, 1, sizes[_i], 0, 0, 0), 3);
    const tutti_attr high = tutti_attr_i("dtype", TUTTI_F32);
    const tutti_value sum = tutti_add(r.b, r.in[0], r.in[1]);
    const tutti_value masked = tutti_op2(r.b, "relu_grad", sum, r.in[2]);
    r.kept[r.nkept++] = r.b->emit(r.b, "cast", &masked, 1, &high, 1, NULL, 0);
    rig_compile(&r, 3);
    ck_assert_uint_eq(program_nsteps(r.p), 1);
    rig_compare_within(&r, 0x1p-6);
    rig_end(&r);
}
END_TEST

START_TEST(results_that_others_read_are_written)
{
    rig r;
    const int64_t axis = 0;
    rig_begin(&r, toy_desc(TUTTI_F32, 2, 700, 100, 0, 0), 2);
    const tutti_value sum = tutti_add(r.b, r.in[0], r.in[1]);
    const tutti_value y = tutti_relu(r.b, sum);
    r.kept[r.nkept++] = tutti_mul(r.b, y, sum);
    r.kept[r.nkept++] = tutti_reduce(r.b, "sum", y, &axis, 1, 0);
    r.kept[r.nkept++] = sum;
    rig_compile(&r, 2);
    ck_assert_uint_eq(program_nsteps(r.p), 2);
    rig_compare(&r);
    rig_end(&r);
}
END_TEST

/* sum needs relu's result before the group could end. */
START_TEST(a_reader_in_between_cuts_the_group)
{
    rig r;
    rig_begin(&r, toy_desc(TUTTI_F32, 2, 60, 100, 0, 0), 1);
    const tutti_value y = tutti_relu(r.b, r.in[0]);
    const tutti_value all = tutti_reduce(r.b, "sum", y, NULL, 0, 0);
    r.kept[r.nkept++] = tutti_mul(r.b, y, all);
    rig_compile(&r, 2);
    ck_assert_uint_eq(program_nsteps(r.p), 3);
    rig_compare(&r);
    rig_end(&r);
}
END_TEST

START_TEST(a_number_for_all_elements_stays_whole)
{
    rig r;
    rig_begin(&r, toy_desc(TUTTI_F32, 1, 50000, 0, 0, 0), 1);
    const tutti_value all = tutti_reduce(r.b, "mean", r.in[0], NULL, 0, 0);
    r.kept[r.nkept++] = tutti_relu(r.b, tutti_sub(r.b, r.in[0], all));
    rig_compile(&r, 2);
    ck_assert_uint_eq(program_nsteps(r.p), 2);
    rig_compare(&r);
    rig_end(&r);
}
END_TEST

/* Of every operation that may be in one, with its attributes' defaults: x (x op y), x above 0. */
START_TEST(every_elementwise_operation_is_computed)
{
    for (const tutti_op *const *op = tutti_op_table; *op; op++) {
        if (!((*op)->flags & TUTTI_OP_ELEMENTWISE) || (*op)->cpu->prepare)
            continue;
        rig r;
        rig_begin(&r, toy_desc(TUTTI_F32, 1, 1003, 0, 0, 0), 3);
        const tutti_value x = tutti_affine(r.b, tutti_op1(r.b, "abs", r.in[0]), 1.0, 0.5);
        const tutti_value in[3] = {x, r.in[1], r.in[2]};
        const tutti_value y = r.b->emit(r.b, (*op)->name, in, (*op)->nin_max, NULL, 0, NULL, 0);
        r.kept[r.nkept++] = tutti_mul(r.b, y, x);
        rig_compile(&r, 1);
        ck_assert_msg(program_nsteps(r.p) == 1, "%s is not in the group", (*op)->name);
        rig_compare(&r);
        rig_end(&r);
    }
}
END_TEST

START_TEST(a_cast_rounds_in_the_middle_of_a_group)
{
    rig r;
    rig_begin(&r, toy_desc(TUTTI_F32, 1, 4099, 0, 0, 0), 1);
    const tutti_attr low = tutti_attr_i("dtype", TUTTI_BF16);
    const tutti_attr high = tutti_attr_i("dtype", TUTTI_F32);
    const tutti_value x = tutti_op1(r.b, "neg", r.in[0]);
    const tutti_value rounded = r.b->emit(r.b, "cast", &x, 1, &low, 1, NULL, 0);
    const tutti_value back = r.b->emit(r.b, "cast", &rounded, 1, &high, 1, NULL, 0);
    r.kept[r.nkept++] = tutti_op1(r.b, "neg", back);
    rig_compile(&r, 2);
    ck_assert_uint_eq(program_nsteps(r.p), 1);
    for (int segment = 0; segment < 2; segment++) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(program_run(r.p, segment, &toy_step, &err), err);
    }
    float *got = rig_fetch(&r, 0);
    for (int k = 0; k < 4099; k++) {
        uint32_t bits;
        memcpy(&bits, &got[k], sizeof bits);
        ck_assert_uint_eq(bits & 0xFFFFu, 0);
        ck_assert_close(got[k], (double)r.data[0][k], 1.0 / 256);
    }
    free(got);
    rig_end(&r);
}
END_TEST

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* 40 nodes over whatever there is, some values read from outside, in any order. */
START_TEST(random_graphs_agree_with_the_interpreter)
{
    static const char *const unary[] = {"relu", "tanh", "neg", "sigmoid", "abs"};
    static const char *const binary[] = {"add", "sub", "mul", "max", "relu_grad"};
    uint64_t state = (uint64_t)_i + 1;
    tutti_value v[64];
    uint32_t n = 3;
    rig r;
    rig_begin(&r, toy_desc(TUTTI_F32, 2, 1 + (int64_t)draw(&state, 300), 131, 0, 0), 3);
    memcpy(v, r.in, sizeof r.in);
    for (int k = 0; k < 40; k++) {
        const tutti_value a = v[draw(&state, n)], b = v[draw(&state, n)];
        const uint64_t kind = draw(&state, 8);
        if (kind < 3)
            v[n++] = tutti_op1(r.b, unary[draw(&state, 5)], a);
        else if (kind < 7)
            v[n++] = tutti_affine(r.b, tutti_op2(r.b, binary[draw(&state, 5)], a, b), 0.5, 0.1);
        else
            v[n++] = tutti_mul(r.b, a, tutti_reduce(r.b, "mean", b, NULL, 0, 0));
    }
    r.kept[r.nkept++] = v[n - 1];
    while (r.nkept < 4)
        r.kept[r.nkept++] = v[3 + draw(&state, n - 3)];
    rig_compile(&r, 1 + _i % 4);
    rig_compare(&r);
    rig_compare(&r); /* in place: the inputs are still what they were */
    rig_end(&r);
}
END_TEST

static tutti_value cast(const rig *r, tutti_value x, int32_t dtype)
{
    const tutti_attr to = tutti_attr_i("dtype", dtype);
    return r->b->emit(r->b, "cast", &x, 1, &to, 1, NULL, 0);
}

/* 36 random f32 values, of which some are rounded to 16 bits on the way; the last, one more and up to three rounded
 * ones are kept, or all. */
static void rig_rounded(rig *r, uint64_t seed, bool all)
{
    static const char *const unary[] = {"relu", "tanh", "neg", "sigmoid", "abs"};
    static const char *const binary[] = {"add", "sub", "mul", "max", "relu_grad"};
    static const int32_t halves[] = {TUTTI_BF16, TUTTI_F16};
    uint64_t state = seed;
    tutti_value v[64];
    uint32_t n = 0;
    rig_begin(r, toy_desc(halves[draw(&state, 2)], 1, 1 + (int64_t)draw(&state, 9000), 0, 0, 0),
              3);
    for (int k = 0; k < 3; k++)
        v[n++] = cast(r, r->in[k], TUTTI_F32);
    while (n < 36) {
        const tutti_value a = v[draw(&state, n)], b = v[draw(&state, n)];
        const uint64_t kind = draw(&state, 8);
        if (kind < 2)
            v[n++] = tutti_op1(r->b, unary[draw(&state, 5)], a);
        else if (kind < 5)
            v[n++] = tutti_op2(r->b, binary[draw(&state, 5)], a, b);
        else {
            const tutti_value rounded = cast(r, a, halves[draw(&state, 2)]);
            if (kind == 5 && r->nkept < 3)
                r->kept[r->nkept++] = rounded;
            v[n++] = cast(r, rounded, TUTTI_F32);
        }
    }
    r->kept[r->nkept++] = v[n - 1];
    r->kept[r->nkept++] = v[3 + draw(&state, n - 3)];
    for (uint32_t k = 3; all && k < n; k++)
        r->kept[r->nkept++] = v[k];
}

/* Where all are kept nothing is in a buffer but copies of 16 bits. */
START_TEST(what_stays_in_buffers_has_the_bits_of_what_is_stored)
{
    rig few, all;
    rig_rounded(&few, (uint64_t)_i + 1, false);
    rig_rounded(&all, (uint64_t)_i + 1, true);
    rig_compile(&few, 1 + _i % 3);
    rig_compile(&all, 1 + _i % 3);
    ck_assert_uint_lt(program_nsteps(few.p), program_nsteps(all.p));
    for (int segment = 0; segment < 2; segment++) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(program_run(few.p, segment, &toy_step, &err), err);
        ck_assert_ok(program_run(all.p, segment, &toy_step, &err), err);
    }
    for (uint32_t k = 0; k < few.nkept; k++) {
        void *x = rig_fetch(&few, k), *y = rig_fetch(&all, k);
        ck_assert_mem_eq(x, y, tutti_nbytes(&graph_value_at(few.g, few.kept[k])->desc));
        free(x);
        free(y);
    }
    rig_end(&few);
    rig_end(&all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pointwise fusion");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_group_is_one_step_at_every_size, 0,
                        sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(all, a_group_reads_bf16, 0, sizeof sizes / sizeof *sizes);
    tcase_add_test(all, results_that_others_read_are_written);
    tcase_add_test(all, a_reader_in_between_cuts_the_group);
    tcase_add_test(all, every_elementwise_operation_is_computed);
    tcase_add_test(all, a_cast_rounds_in_the_middle_of_a_group);
    tcase_add_test(all, a_number_for_all_elements_stays_whole);
    tcase_add_loop_test(all, random_graphs_agree_with_the_interpreter, 0, 60);
    tcase_add_loop_test(all, what_stays_in_buffers_has_the_bits_of_what_is_stored, 0, 60);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
