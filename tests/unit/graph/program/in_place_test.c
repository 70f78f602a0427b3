/* in_place_test.c - results lie where operands die: the first as the kernel says, others as the operation does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/program_internal.h"
#include "graph/runtime/host_memory.h"
#include "toy_model.h"
#include "tutti_internal/op_slots.h"

/* "half": y = x / 2.  "two": r = 2 a + b, s = b - a, s where b lay.  "greedy": the same, but s where a lay, like r. */
enum { WIDTH = 4096, MOST = 3 };

static tutti_status half_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status half_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const float *x = in[0];
    for (int k = 0; k < WIDTH; k++)
        ((float *)out[0])[k] = x[k] * 0.5f;
    return TUTTI_OK;
}

static tutti_status two_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = out[1] = c->in[0];
    return TUTTI_OK;
}

static tutti_status two_run(void *state, const tutti_op_call *c, const void *const *in,
                            void *const *out, void *scratch)
{
    const float *a = in[0], *b = in[1];
    for (int k = 0; k < WIDTH; k++) {
        const float x = a[k], y = b[k];
        ((float *)out[0])[k] = 2.0f * x + y;
        ((float *)out[1])[k] = y - x;
    }
    return TUTTI_OK;
}

static const uint8_t of_b[2] = {0, 2}, of_a[2] = {0, 1};
static const tutti_op_traits half_traits = {.struct_size = sizeof half_traits};
static const tutti_op_traits two_traits = {.struct_size = sizeof two_traits, .updates = of_b};
static const tutti_op_traits greedy_traits = {.struct_size = sizeof greedy_traits,
                                              .updates = of_a};
static const tutti_kernel half_cpu = {sizeof half_cpu, 0, NULL, half_run, NULL};
static const tutti_kernel two_cpu = {sizeof two_cpu, 1, NULL, two_run, NULL};

#define TOY(op, traits_, in, out_, infer_, cpu_)                                               \
    {                                                                                          \
        .struct_size = sizeof(tutti_op), .traits = &(traits_), .name = (op), .nin_min = (in),  \
        .nin_max = (in), .nout = (out_), .infer = (infer_), .cpu = &(cpu_)                     \
    }
static const tutti_op half = TOY("half", half_traits, 1, 1, half_infer, half_cpu);
static const tutti_op two = TOY("two", two_traits, 2, 2, two_infer, two_cpu);
static const tutti_op greedy = TOY("greedy", greedy_traits, 2, 2, two_infer, two_cpu);
static const tutti_op *const table[] = {&greedy, &half, &two, NULL};

typedef struct rig {
    graph *g;
    program *p;
    tutti_value a, b, r, s; /* operands and results of the operation that is looked at */
    tutti_value keep[MOST];
    uint32_t nkeep;
    float *arena, *input[2];
} rig;

/* a and b out of two inputs, or b is a. */
static void rig_begin(rig *r, const char *op, bool same)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 1, WIDTH, 0, 0, 0);
    *r = (rig){.g = graph_create(table, TUTTI_MODE_TRAIN, NULL)};
    tutti_graph *b = graph_builder(r->g);
    const tutti_value in[2] = {graph_input(r->g, &d), graph_input(r->g, &d)};
    r->a = b->emit(b, "half", &in[0], 1, NULL, 0, NULL, 0);
    r->b = same ? r->a : b->emit(b, "half", &in[1], 1, NULL, 0, NULL, 0);
    const tutti_value from[2] = {r->a, r->b};
    tutti_value out[2];
    (void)b->emit(b, op, from, 2, NULL, 0, out, 2);
    r->r = out[0];
    r->s = out[1];
}

static void keep(rig *r, tutti_value v)
{
    r->keep[r->nkeep++] = v;
}

/* 2 s + b, after both results. */
static tutti_value later(rig *r)
{
    tutti_graph *b = graph_builder(r->g);
    const tutti_value in[2] = {r->s, r->b};
    tutti_value out[2];
    (void)b->emit(b, "two", in, 2, NULL, 0, out, 2);
    return out[0];
}

/* Compiles and runs it, and finds the numbers of what is kept: `expect` of a and b, in the order of keep(). */
static void rig_run(rig *r, float (*const *expect)(float a, float b))
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_desc d = toy_desc(TUTTI_F32, 1, WIDTH, 0, 0, 0);
    const program_spec spec = {
        .g = r->g, .keep = r->keep, .nkeep = r->nkeep, .nexternal = 2, .threads = 1};
    ck_assert_ok(graph_error(r->g, &err), err);
    ck_assert_ok(program_create(&spec, &r->p, &err), err);
    uint32_t x, y, count;
    const arena_interval *map = program_intervals(r->p, &count);
    ck_assert(!arena_overlap(map, count, &x, &y));
    r->arena = host_memory_alloc(program_bytes(r->p));
    program_set_arena(r->p, r->arena);
    for (uint32_t k = 0; k < 2; k++) {
        r->input[k] = host_memory_alloc(sizeof(float) * WIDTH);
        toy_fill((tutti_tensor){r->input[k], d, TUTTI_DEVICE_CPU, 0}, 5 + k);
        program_set_external(r->p, k, r->input[k]);
    }
    ck_assert_ok(program_run(r->p, 0, &toy_step, &err), err);
    for (uint32_t k = 0; k < r->nkeep; k++) {
        const float *got = program_address(r->p, r->keep[k]);
        for (int i = 0; i < WIDTH; i++) {
            const float a = r->input[0][i] * 0.5f, b = r->input[1][i] * 0.5f;
            ck_assert_float_eq(got[i], expect[k](a, r->b == r->a ? a : b));
        }
    }
}

static bool together(const rig *r, tutti_value v, tutti_value w)
{
    return program_alias_set(r->p, v) == program_alias_set(r->p, w);
}

static void rig_end(rig *r)
{
    program_destroy(r->p);
    graph_destroy(r->g);
    free(r->arena);
    free(r->input[0]);
    free(r->input[1]);
}

static float r_of(float a, float b)
{
    return 2.0f * a + b;
}

static float s_of(float a, float b)
{
    return b - a;
}

static float b_of(float a, float b)
{
    (void)a;
    return b;
}

static float later_of(float a, float b)
{
    return 2.0f * (b - a) + b;
}

START_TEST(both_results_lie_where_operands_die)
{
    rig r;
    rig_begin(&r, "two", false);
    keep(&r, r.r);
    keep(&r, r.s);
    rig_run(&r, (float (*const[])(float, float)){r_of, s_of});
    ck_assert(together(&r, r.r, r.a) && together(&r, r.s, r.b));
    rig_end(&r);
}
END_TEST

START_TEST(what_is_read_later_stays)
{
    rig r;
    rig_begin(&r, "two", false);
    keep(&r, r.r);
    keep(&r, later(&r));
    rig_run(&r, (float (*const[])(float, float)){r_of, later_of});
    ck_assert(together(&r, r.r, r.a) && !together(&r, r.s, r.b));
    rig_end(&r);
}
END_TEST

START_TEST(what_is_kept_stays)
{
    rig r;
    rig_begin(&r, "two", false);
    keep(&r, r.r);
    keep(&r, r.s);
    keep(&r, r.b);
    rig_run(&r, (float (*const[])(float, float)){r_of, s_of, b_of});
    ck_assert(!together(&r, r.s, r.b));
    rig_end(&r);
}
END_TEST

START_TEST(what_is_read_twice_stays)
{
    rig r;
    rig_begin(&r, "two", true);
    keep(&r, r.r);
    keep(&r, r.s);
    rig_run(&r, (float (*const[])(float, float)){r_of, s_of});
    ck_assert(!together(&r, r.r, r.a) && !together(&r, r.s, r.a));
    rig_end(&r);
}
END_TEST

/* Not even if nobody reads the first one. */
START_TEST(two_results_do_not_share_an_operand)
{
    rig r;
    rig_begin(&r, "greedy", false);
    keep(&r, r.s);
    if (_i)
        keep(&r, r.r);
    rig_run(&r, (float (*const[])(float, float)){s_of, r_of});
    ck_assert(!together(&r, r.r, r.s));
    rig_end(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("in_place");
    TCase *t = tcase_create("all");
    tcase_add_test(t, both_results_lie_where_operands_die);
    tcase_add_test(t, what_is_read_later_stays);
    tcase_add_test(t, what_is_kept_stays);
    tcase_add_test(t, what_is_read_twice_stays);
    tcase_add_loop_test(t, two_results_do_not_share_an_operand, 0, 2);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
