/* passes_test.c - merging, folding and liveness: random graphs give the interpreter's numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"
#include "graph/program/program.h"
#include "graph/runtime/host_memory.h"
#include "op_table.h"
#include "toy_model.h"

enum { ROWS = 6, COLUMNS = 4, NODES = 60, KEPT = 3, GRAPHS = 200 };

/* One random graph, as each of the passes leaves it. */
typedef struct version {
    graph *g;
    tutti_value in[2];
    tutti_value kept[KEPT];
    interpreter *it;
} version;

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static tutti_value number(tutti_graph *b, const tutti_desc *d, float value)
{
    float data[ROWS * COLUMNS];
    for (int k = 0; k < ROWS * COLUMNS; k++)
        data[k] = value;
    const tutti_tensor t = {data, *d, TUTTI_DEVICE_CPU, 0};
    return b->constant(b, &t);
}

/* There and back again, through other shapes. */
static tutti_value around(tutti_graph *b, tutti_value x, uint32_t way)
{
    const int64_t flat[] = {ROWS * COLUMNS}, back[] = {ROWS, COLUMNS}, turn[] = {1, 0},
                  stay[] = {0, 1}, row[] = {1, COLUMNS};
    const tutti_attr rows = tutti_attr_list("shape", row, 2);
    const tutti_attr whole = tutti_attr_list("shape", back, 2);
    const tutti_attr dtype = tutti_attr_i("dtype", TUTTI_F32);
    tutti_value v = x;
    switch (way) {
    case 0:
        return tutti_reshape(b, tutti_reshape(b, x, flat, 1), back, 2);
    case 1:
        return tutti_permute(b, tutti_permute(b, x, turn, 2), turn, 2);
    case 2:
        return tutti_permute(b, x, stay, 2);
    case 3:
        v = b->emit(b, "sum_to", &x, 1, &rows, 1, NULL, 0);
        return b->emit(b, "broadcast_to", &v, 1, &whole, 1, NULL, 0);
    case 4:
        return b->emit(b, "sum_to", &x, 1, &whole, 1, NULL, 0);
    default:
        return b->emit(b, "cast", &x, 1, &dtype, 1, NULL, 0);
    }
}

/* The same for all versions of one seed: nodes refer to values by their order, not their number. */
static void emit_random(version *v, uint64_t seed, int32_t passes)
{
    static const char *const unary[] = {"tanh", "neg", "relu", "sigmoid"};
    static const char *const binary[] = {"add", "mul", "sub", "max"};
    const tutti_desc d = toy_desc(TUTTI_F32, 2, ROWS, COLUMNS, 0, 0);
    tutti_value values[2 + 4 + NODES];
    uint32_t n = 0;
    state = seed;
    v->g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    ck_assert_ptr_nonnull(v->g);
    graph_set_passes(v->g, passes);
    tutti_graph *b = graph_builder(v->g);
    for (int k = 0; k < 2; k++)
        values[n++] = v->in[k] = graph_input(v->g, &d);
    values[n++] = number(b, &d, 0.0f);
    values[n++] = number(b, &d, 1.0f);
    values[n++] = number(b, &d, 0.5f);
    values[n++] = number(b, &d, -1.5f);
    for (int k = 0; k < NODES; k++) {
        const tutti_value x = values[below(n)], y = values[below(n)];
        const uint32_t kind = below(4), which = below(4), way = below(6);
        const double scale = below(2) ? 1.0 : 0.75, shift = below(2) ? 0.0 : 0.25;
        values[n++] = kind == 0   ? tutti_op1(b, unary[which], x)
                      : kind == 1 ? tutti_op2(b, binary[which], x, y)
                      : kind == 2 ? tutti_affine(b, x, scale, shift)
                                  : around(b, x, way);
        /* Sums of sums grow; what is compared should not. */
        values[n - 1] = below(8) ? values[n - 1] : tutti_op1(b, "tanh", values[n - 1]);
    }
    for (int k = 0; k < KEPT; k++)
        v->kept[k] = tutti_op1(b, "tanh", values[n - 1 - (uint32_t)k]);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(graph_error(v->g, &err), err);
}

static void fill(float *x, uint64_t key)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, ROWS, COLUMNS, 0, 0);
    toy_fill((tutti_tensor){x, d, TUTTI_DEVICE_CPU, 0}, key);
}

static void interpret(version *v, float *const *x)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(interpreter_create(v->g, &v->it, &err), err);
    for (int k = 0; k < 2; k++) {
        const tutti_tensor t = {x[k], graph_value_at(v->g, v->in[k])->desc, TUTTI_DEVICE_CPU,
                                0};
        interpreter_load(v->it, v->in[k], &t);
    }
    ck_assert_ok(interpreter_run(v->it, 0, graph_nnodes(v->g), &toy_step, &err), err);
}

static void end(version *v)
{
    interpreter_destroy(v->it);
    graph_destroy(v->g);
}

/* 1e-6: folded constants are f32. */
static void same_numbers(const version *a, const version *b)
{
    for (int k = 0; k < KEPT; k++)
        for (int j = 0; j < ROWS * COLUMNS; j++)
            ck_assert_close(interpreter_value(b->it, b->kept[k])[j],
                            interpreter_value(a->it, a->kept[k])[j], 1e-6);
}

static uint32_t count_live(const version *v)
{
    bool live[2 * NODES + 2 * NODES + KEPT] = {false};
    uint32_t n = 0;
    ck_assert_uint_le(graph_nnodes(v->g), sizeof live);
    graph_mark_live(v->g, v->kept, KEPT, live);
    for (uint32_t k = 0; k < graph_nnodes(v->g); k++)
        n += live[k];
    return n;
}

/* The program, which runs live nodes only, in groups and one arena. */
static void run_program(const version *folded, const version *plain, float *const *x)
{
    tutti_error err = TUTTI_ERROR_INIT;
    program *p;
    const program_spec spec = {
        .g = folded->g, .keep = folded->kept, .nkeep = KEPT, .nexternal = 2, .threads = 1};
    ck_assert_ok(program_create(&spec, &p, &err), err);
    ck_assert_uint_le(program_nsteps(p), count_live(folded));
    void *arena = host_memory_alloc(program_bytes(p));
    program_set_arena(p, arena);
    for (uint32_t k = 0; k < 2; k++)
        program_set_external(p, k, x[k]);
    for (int segment = 0; segment < 2; segment++)
        ck_assert_ok(program_run(p, segment, &toy_step, &err), err);
    for (int k = 0; k < KEPT; k++)
        ck_assert_close(toy_distance(program_address(p, folded->kept[k]),
                                     interpreter_value(plain->it, plain->kept[k]),
                                     ROWS * COLUMNS),
                        0.0, 1e-4);
    program_destroy(p);
    free(arena);
}

START_TEST(random_graphs_keep_their_numbers)
{
    uint32_t nodes[3] = {0, 0, 0}, live = 0;
    float *x[2];
    for (uint64_t k = 0; k < 2; k++) {
        x[k] = host_memory_alloc(sizeof(float) * ROWS * COLUMNS);
        fill(x[k], k + 5);
    }
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        version v[3];
        for (int32_t k = GRAPH_PLAIN; k <= GRAPH_FOLD; k++) {
            emit_random(&v[k], seed, k);
            interpret(&v[k], x);
            nodes[k] += graph_nnodes(v[k].g);
        }
        same_numbers(&v[GRAPH_PLAIN], &v[GRAPH_MERGE]);
        same_numbers(&v[GRAPH_PLAIN], &v[GRAPH_FOLD]);
        ck_assert_uint_le(graph_nnodes(v[GRAPH_MERGE].g), graph_nnodes(v[GRAPH_PLAIN].g));
        ck_assert_uint_le(graph_nnodes(v[GRAPH_FOLD].g), graph_nnodes(v[GRAPH_MERGE].g));
        live += count_live(&v[GRAPH_FOLD]);
        run_program(&v[GRAPH_FOLD], &v[GRAPH_PLAIN], x);
        for (int k = 0; k < 3; k++)
            end(&v[k]);
    }
    /* Each pass must have found something. */
    ck_assert_uint_lt(nodes[GRAPH_MERGE], nodes[GRAPH_PLAIN]);
    ck_assert_uint_lt(2 * nodes[GRAPH_FOLD], nodes[GRAPH_PLAIN] + nodes[GRAPH_MERGE]);
    ck_assert_uint_lt(live, nodes[GRAPH_FOLD]);
    free(x[0]);
    free(x[1]);
}
END_TEST

static graph *g;
static tutti_graph *b;

static void make(void)
{
    g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    ck_assert_ptr_nonnull(g);
    graph_set_passes(g, GRAPH_FOLD);
    b = graph_builder(g);
}

static void drop(void)
{
    graph_destroy(g);
}

START_TEST(what_changes_nothing_is_its_input)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, ROWS, COLUMNS, 0, 0);
    const tutti_value x = graph_input(g, &d), one = number(b, &d, 1.0f),
                      zero = number(b, &d, 0.0f);
    for (uint32_t way = 2; way < 6; way++)
        if (way != 3)
            ck_assert_uint_eq(around(b, x, way), x);
    ck_assert_uint_eq(tutti_affine(b, x, 1.0, 0.0), x);
    ck_assert_uint_eq(tutti_mul(b, one, x), x);
    ck_assert_uint_eq(tutti_div(b, x, one), x);
    ck_assert_uint_eq(tutti_add(b, zero, x), x);
    ck_assert_uint_eq(tutti_sub(b, x, zero), x);
    ck_assert_uint_eq(graph_nnodes(g), 0);
    ck_assert_uint_ne(tutti_sub(b, zero, x), x);
    ck_assert_uint_ne(tutti_div(b, one, x), x);
    ck_assert_uint_ne(tutti_mul(b, zero, x), zero); /* x may be no number */
    ck_assert_uint_eq(graph_nnodes(g), 3);
}
END_TEST

START_TEST(constants_are_worked_out)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, ROWS, COLUMNS, 0, 0);
    const tutti_value half = number(b, &d, 0.5f);
    const tutti_value y = tutti_affine(b, tutti_mul(b, half, half), 2.0, 1.0);
    const graph_value *v = graph_value_at(g, y);
    ck_assert_int_eq(v->kind, VALUE_CONST);
    for (int k = 0; k < ROWS * COLUMNS; k++)
        ck_assert_close(((const float *)v->data)[k], 1.5, 0.0);
    ck_assert_uint_eq(graph_nnodes(g), 0);
}
END_TEST

/* The run must say it, with its place. */
START_TEST(constants_that_a_kernel_refuses_stay_nodes)
{
    const int32_t index[2] = {0, 9};
    const tutti_desc d = toy_desc(TUTTI_I32, 1, 2, 0, 0, 0);
    const tutti_tensor t = {(void *)(uintptr_t)index, d, TUTTI_DEVICE_CPU, 0};
    const tutti_value x = b->constant(b, &t);
    const tutti_attr classes = tutti_attr_i("classes", 3);
    (void)b->emit(b, "one_hot", &x, 1, &classes, 1, NULL, 0);
    ck_assert_uint_eq(graph_nnodes(g), 1);
}
END_TEST

START_TEST(what_is_drawn_or_guarded_is_never_folded)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, ROWS, COLUMNS, 0, 0);
    const tutti_desc scalar = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const tutti_value half = number(b, &d, 0.5f), keep = graph_input(g, &scalar);
    const tutti_attr p = tutti_attr_f("p", 0.5);
    (void)b->emit(b, "dropout", &half, 1, &p, 1, NULL, 0);
    ck_assert_uint_eq(graph_nnodes(g), 1);
    const tutti_value before = b->guard(b, keep);
    (void)tutti_mul(b, half, half);
    (void)tutti_affine(b, half, 1.0, 0.0);
    b->unguard(b, before);
    ck_assert_uint_eq(graph_nnodes(g), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("passes");
    TCase *all = tcase_create("all");
    tcase_add_test(all, random_graphs_keep_their_numbers);
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, all);
    TCase *single = tcase_create("single");
    tcase_add_checked_fixture(single, make, drop);
    tcase_add_test(single, what_changes_nothing_is_its_input);
    tcase_add_test(single, constants_are_worked_out);
    tcase_add_test(single, constants_that_a_kernel_refuses_stay_nodes);
    tcase_add_test(single, what_is_drawn_or_guarded_is_never_folded);
    suite_add_tcase(suite, single);
    return tutti_run(suite);
}
