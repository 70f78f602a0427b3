/* across_slots_test.c - statistics of the whole batch: the pass, and programs that pause for sums over slots. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/across_slots.h"
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "graph/program/parts.h"
#include "op_table.h"
#include "same_numbers.h"

#include <stdlib.h>
#include <string.h>

enum { C = 3, MAX_VALUES = 200, NORMS = 2, SLOTS = 2, ROWS = 12 };
static const int64_t slot_first[SLOTS + 1] = {0, 8, ROWS};

/* relu(norm(x) + x), then a second norm. */
typedef struct rig {
    graph *g;
    tutti_value x, dy, factors[NORMS][4]; /* gamma, beta, running mean and variance */
    tutti_value y, new_mean, dx, dgamma;
} rig;

static tutti_value norm(rig *r, tutti_value x, int which, tutti_value *ret_mean)
{
    tutti_graph *b = graph_builder(r->g);
    const tutti_value *f = r->factors[which], in[5] = {x, f[0], f[1], f[2], f[3]};
    tutti_value out[5];
    (void)graph_set_scope(r->g, which ? "second" : "first");
    (void)b->emit(b, "batch_norm", in, 5, NULL, 0, out, 5);
    *ret_mean = out[3];
    return out[0];
}

static void trace(rig *r, int64_t rows)
{
    const tutti_desc x = toy_desc(TUTTI_F32, 2, rows, C, 0, 0);
    const tutti_desc channels = toy_desc(TUTTI_F32, 1, C, 0, 0, 0);
    tutti_value unused;
    r->g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(r->g);
    r->x = graph_input(r->g, &x);
    for (int k = 0; k < NORMS * 4; k++)
        r->factors[k / 4][k % 4] = graph_input(r->g, &channels);
    graph_set_segment(r->g, 0);
    const tutti_value first = norm(r, r->x, 0, &r->new_mean);
    r->y = norm(r, tutti_relu(b, tutti_add(b, first, r->x)), 1, &unused);
    ck_assert_int_eq(b->status(b), TUTTI_OK);
}

typedef tutti_status pass_fn(const graph *from, const bool *wanted, graph *to,
                             tutti_value *ret_map, tutti_error *err);

static void apply(rig *r, pass_fn *pass)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_value map[MAX_VALUES];
    bool wanted[MAX_VALUES] = {false};
    graph *to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    wanted[r->y] = wanted[r->new_mean] = true;
    ck_assert_ok(pass(r->g, wanted, to, map, &err), err);
    r->x = map[r->x];
    r->y = map[r->y];
    r->new_mean = map[r->new_mean];
    for (int k = 0; k < NORMS * 4; k++)
        r->factors[k / 4][k % 4] = map[r->factors[k / 4][k % 4]];
    graph_destroy(r->g);
    r->g = to;
}

static void differentiate(rig *r)
{
    const tutti_desc y = graph_value_at(r->g, r->y)->desc;
    const tutti_value wrt[2] = {r->x, r->factors[0][0]};
    tutti_value d[2];
    graph_set_segment(r->g, 1);
    r->dy = graph_input(r->g, &y);
    ck_assert_int_eq(graph_gradient(r->g, &r->y, &r->dy, 1, wrt, 2, d), TUTTI_OK);
    r->dx = d[0];
    r->dgamma = d[1];
}

static int count(const rig *r, const char *op)
{
    int n = 0;
    for (uint32_t k = 0; k < graph_nnodes(r->g); k++)
        n += strcmp(graph_node_at(r->g, k)->op->name, op) == 0;
    return n;
}

/* Numbers of the batch; rows of the second slot lie higher. */
static double number(uint32_t index, int64_t k)
{
    return index == 0 ? sin(0.7 * (double)k) + (k >= 8 * C ? 2.0 : 0.0)
                      : 1.2 + cos((double)(index * 13u) + (double)k);
}

static interpreter *interpret(const rig *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    interpreter *it;
    ck_assert_ok(interpreter_create(r->g, &it, &err), err);
    for (tutti_value v = 1; v < graph_nvalues(r->g); v++) {
        const graph_value *x = graph_value_at(r->g, v);
        for (int64_t k = 0; x->kind == VALUE_INPUT && k < tutti_numel(&x->desc); k++)
            interpreter_value(it, v)[k] = number(x->index, k);
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(r->g), &toy_step, &err), err);
    return it;
}

static void same(const rig *a, interpreter *x, tutti_value v, interpreter *y, tutti_value w)
{
    for (int64_t k = 0; k < tutti_numel(&graph_value_at(a->g, v)->desc); k++)
        ck_assert_close(interpreter_value(y, w)[k], interpreter_value(x, v)[k], 1e-12);
}

/* A batch of one slot has the numbers that it had, gradients too, with the residual and the ReLU in the node. */
START_TEST(alone_the_numbers_stay)
{
    rig was, now;
    trace(&was, ROWS);
    trace(&now, ROWS);
    apply(&now, across_slots);
    ck_assert_int_eq(count(&now, "slot_sum"), NORMS);
    apply(&now, fuse_norms);
    differentiate(&was);
    differentiate(&now);
    ck_assert_int_eq(count(&now, "batch_norm"), 0);
    ck_assert_int_eq(count(&now, "add") - count(&was, "add"), -1);
    ck_assert_int_eq(count(&now, "slot_sum"), 2 * NORMS);
    interpreter *a = interpret(&was), *b = interpret(&now);
    same(&was, a, was.y, b, now.y);
    same(&was, a, was.new_mean, b, now.new_mean);
    same(&was, a, was.dx, b, now.dx);
    same(&was, a, was.dgamma, b, now.dgamma);
    interpreter_destroy(a);
    interpreter_destroy(b);
    graph_destroy(was.g);
    graph_destroy(now.g);
}
END_TEST

START_TEST(parts_of_a_microbatch_are_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_value map[MAX_VALUES], unused;
    rig r;
    trace(&r, ROWS);
    (void)norm(&r, r.y, 1, &unused);
    graph *to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    ck_assert_int_eq(across_slots(r.g, NULL, to, map, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "second: batch_norm normalises parts of a microbatch, as ghost_batchnorm "
                    "does, which statistics of whole batches exclude: distributed.batch_norm "
                    "is \"world\", want \"slot\"");
    graph_destroy(to);
    graph_destroy(r.g);
}
END_TEST

/* ---- slots side by side ---- */

enum { INPUTS = 2 + NORMS * 4 };

typedef struct slot {
    rig r;
    program *p;
    void *arena;
    float inputs[INPUTS][ROWS * C], *dgamma;
    uint32_t at;
} slot;

static float gradients[SLOTS][16];

static void make_slot(slot *s, int which)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const int64_t rows = slot_first[which + 1] - slot_first[which];
    trace(&s->r, rows);
    apply(&s->r, across_slots);
    apply(&s->r, fuse_norms);
    differentiate(&s->r);
    const tutti_value keep[3] = {s->r.y, s->r.new_mean, s->r.dx};
    const program_store store = {.value = s->r.dgamma,
                                 .kind = STORE_MEMORY,
                                 .segment = 1,
                                 .memory = gradients[0],
                                 .bytes = C * sizeof(float)};
    const program_spec spec = {.g = s->r.g,
                               .keep = keep,
                               .nkeep = 3,
                               .stores = &store,
                               .nstores = 1,
                               .nexternal = INPUTS,
                               .threads = 1};
    ck_assert_ok(program_create(&spec, &s->p, &err), err);
    ck_assert_ptr_nonnull(s->arena = aligned_alloc(64, (program_bytes(s->p) + 63) / 64 * 64));
    program_set_arena(s->p, s->arena);
    program_move(s->p, gradients[0], sizeof gradients[0], gradients[which]);
    s->dgamma = gradients[which];
    for (uint32_t k = 0; k < INPUTS; k++) {
        const bool large = k == 0 || k == INPUTS - 1;
        const int64_t first = large ? slot_first[which] * C : 0;
        for (int64_t i = 0; i < (large ? rows * C : C); i++)
            s->inputs[k][i] = (float)number(k, first + i);
        program_set_external(s->p, k, s->inputs[k]);
    }
}

static void free_slot(slot *s)
{
    program_destroy(s->p);
    graph_destroy(s->r.g);
    free(s->arena);
}

enum { MOST = 2 * C + 1 };
static double sums[2 * NORMS][MOST]; /* as the slots have added them up */
static uint32_t nsums;

static void run_side_by_side(slot *slots)
{
    tutti_error err = TUTTI_ERROR_INIT;
    nsums = 0;
    for (int32_t segment = 0; segment < 2; segment++) {
        program_pause pause[SLOTS];
        slots[0].at = slots[1].at = 0;
        for (;;) {
            for (int k = 0; k < SLOTS; k++)
                ck_assert_ok(program_run_part(slots[k].p, segment, &slots[k].at, &toy_step,
                                              &pause[k], &err),
                             err);
            ck_assert_int_eq(!pause[0].numbers, !pause[1].numbers);
            if (!pause[0].numbers)
                break;
            ck_assert_int_eq(pause[0].count, MOST);
            ck_assert_int_eq(pause[1].count, MOST);
            for (int i = 0; i < MOST; i++)
                sums[nsums][i] = pause[0].numbers[i] += pause[1].numbers[i];
            memcpy(pause[1].numbers, pause[0].numbers, sizeof sums[0]);
            nsums++;
        }
    }
}

static const float *result(const slot *s, tutti_value v)
{
    return program_address(s->p, v);
}

static void close_to(const float *got, const double *want, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        ck_assert_close((double)got[k], want[k], 2e-5); /* sums and rounding in f32 */
}

/* Two slots of unequal size have what the f64 interpreter gives for the batch as one. */
START_TEST(slots_have_the_numbers_of_the_batch)
{
    static slot slots[SLOTS];
    double dgamma[C];
    rig whole;
    trace(&whole, ROWS);
    differentiate(&whole);
    interpreter *it = interpret(&whole);
    for (int k = 0; k < SLOTS; k++)
        make_slot(&slots[k], k);
    int64_t sizes[2 * NORMS];
    ck_assert_uint_eq(program_sums(slots[0].p, 0, sizes, NORMS), NORMS);
    ck_assert_uint_eq(program_sums(slots[0].p, 1, sizes + NORMS, NORMS), NORMS);
    for (int k = 0; k < 2 * NORMS; k++)
        ck_assert_int_eq(sizes[k], MOST);
    run_side_by_side(slots);
    ck_assert_uint_eq(nsums, 2 * NORMS);
    for (int k = 0; k < SLOTS; k++) {
        const int64_t first = slot_first[k] * C, n = slot_first[k + 1] * C - first;
        close_to(result(&slots[k], slots[k].r.y), interpreter_value(it, whole.y) + first, n);
        close_to(result(&slots[k], slots[k].r.dx), interpreter_value(it, whole.dx) + first, n);
        close_to(result(&slots[k], slots[k].r.new_mean), interpreter_value(it, whole.new_mean),
                 C);
    }
    for (int k = 0; k < C; k++)
        dgamma[k] = interpreter_value(it, whole.dgamma)[k] - (double)slots[0].dgamma[k];
    close_to(slots[1].dgamma, dgamma, C);
    interpreter_destroy(it);
    graph_destroy(whole.g);
    for (int k = 0; k < SLOTS; k++)
        free_slot(&slots[k]);
}
END_TEST

static tutti_status put_sum(void *ctx, double *numbers, int64_t n, tutti_error *err)
{
    uint32_t *at = ctx;
    (void)err;
    ck_assert_int_eq(n, MOST);
    memcpy(numbers, sums[(*at)++], sizeof sums[0]);
    return TUTTI_OK;
}

/* A slot that asks for the sums as it runs, somewhere else, has the bits of one that pauses. */
START_TEST(a_slot_that_asks_has_the_bits_of_one_that_pauses)
{
    static slot slots[SLOTS], again;
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t at = 0;
    float before[16];
    for (int k = 0; k < SLOTS; k++)
        make_slot(&slots[k], k);
    run_side_by_side(slots);
    memcpy(before, gradients[1], sizeof before);
    make_slot(&again, 1);
    memset(gradients[1], 0, sizeof gradients[1]);
    program_sum(again.p, put_sum, &at);
    for (int32_t segment = 0; segment < 2; segment++)
        ck_assert_ok(program_run(again.p, segment, &toy_step, &err), err);
    ck_assert_uint_eq(at, 2 * NORMS);
    ck_assert_mem_eq(before, gradients[1], sizeof before);
    ck_assert_mem_eq(result(&again, again.r.dx), result(&slots[1], slots[1].r.dx),
                     (ROWS - 8) * C * sizeof(float));
    program_sum(again.p, NULL, NULL); /* its own statistics */
    ck_assert_ok(program_run(again.p, 0, &toy_step, &err), err);
    ck_assert_mem_ne(result(&again, again.r.y), result(&slots[1], slots[1].r.y),
                     (ROWS - 8) * C * sizeof(float));
    free_slot(&again);
    for (int k = 0; k < SLOTS; k++)
        free_slot(&slots[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("across_slots");
    TCase *t = tcase_create("all");
    tcase_add_test(t, alone_the_numbers_stay);
    tcase_add_test(t, parts_of_a_microbatch_are_refused);
    tcase_add_test(t, slots_have_the_numbers_of_the_batch);
    tcase_add_test(t, a_slot_that_asks_has_the_bits_of_one_that_pauses);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
