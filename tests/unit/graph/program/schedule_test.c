/* schedule_test.c - the order of steps: less memory at once, the same results. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/program_internal.h"
#include "graph/runtime/host_memory.h"
#include "toy_model.h"
#include "tutti_internal/op_slots.h"

/* "next": y = x / 2 + 1.  "back": y = d + x / 4.  "heavy": sums of a b, with much scratch. */
enum { WIDTH = 4096, LAYERS = 12, SUMS = 16, SCRATCH = 1 << 20 };
#define VALUE ((uint64_t)WIDTH * sizeof(float))

static tutti_status same_shape(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status next_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const float *x = in[0];
    for (int k = 0; k < WIDTH; k++)
        ((float *)out[0])[k] = x[k] * 0.5f + 1.0f;
    return TUTTI_OK;
}

static tutti_status back_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const float *d = in[0], *x = in[1];
    for (int k = 0; k < WIDTH; k++)
        ((float *)out[0])[k] = d[k] + x[k] * 0.25f;
    return TUTTI_OK;
}

static tutti_status heavy_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = toy_desc(TUTTI_F32, 1, SUMS, 0, 0, 0);
    return TUTTI_OK;
}

static tutti_status heavy_prepare(const tutti_op_call *c, void **ret_state,
                                  uint64_t *ret_scratch, tutti_error *err)
{
    *ret_scratch = SCRATCH;
    return TUTTI_OK;
}

static tutti_status heavy_run(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const float *a = in[0], *b = in[1];
    float *sums = scratch;
    memset(scratch, 0, SCRATCH);
    for (int k = 0; k < WIDTH; k++)
        sums[k % SUMS] += a[k] * b[k];
    memcpy(out[0], sums, SUMS * sizeof *sums);
    return TUTTI_OK;
}

static const tutti_kernel next_cpu = {sizeof(tutti_kernel), 0, NULL, next_run, NULL};
static const tutti_kernel back_cpu = {sizeof(tutti_kernel), 1, NULL, back_run, NULL};
static const tutti_kernel heavy_cpu = {sizeof(tutti_kernel), 0, heavy_prepare, heavy_run, NULL};
static const tutti_op next_op = {.struct_size = sizeof(tutti_op),
                                 .name = "next",
                                 .nin_min = 1,
                                 .nin_max = 1,
                                 .nout = 1,
                                 .infer = same_shape,
                                 .cpu = &next_cpu};
static const tutti_op back_op = {.struct_size = sizeof(tutti_op),
                                 .name = "back",
                                 .nin_min = 2,
                                 .nin_max = 2,
                                 .nout = 1,
                                 .infer = same_shape,
                                 .cpu = &back_cpu};
static const tutti_op heavy_op = {.struct_size = sizeof(tutti_op),
                                  .name = "heavy",
                                  .nin_min = 2,
                                  .nin_max = 2,
                                  .nout = 1,
                                  .infer = heavy_infer,
                                  .cpu = &heavy_cpu};
static const tutti_op *const ops[] = {&next_op, &back_op, &heavy_op, NULL};
/* The same, which other slots wait for. */
static const tutti_op_traits sum_traits = {.struct_size = sizeof sum_traits,
                                           .role = TUTTI_ROLE_SLOT_SUM};
static const tutti_op sum_op = {.struct_size = sizeof(tutti_op),
                                .name = "heavy",
                                .nin_min = 2,
                                .nin_max = 2,
                                .nout = 1,
                                .infer = heavy_infer,
                                .cpu = &heavy_cpu,
                                .traits = &sum_traits};
static const tutti_op *const sum_ops[] = {&next_op, &back_op, &sum_op, NULL};

/* A forward pass whose results a backward pass reads, where heavy steps come as soon as they can. */
typedef struct rig {
    graph *g;
    program *p;
    void *arena;
    float *input;
    float sums[3][SUMS];
} rig;

static void rig_init(rig *r, const tutti_op *const *table, bool add)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_desc d = toy_desc(TUTTI_F32, 1, WIDTH, 0, 0, 0);
    program_store stores[3];
    tutti_value v[LAYERS + 1], in[2];
    r->g = graph_create(table, TUTTI_MODE_TRAIN, NULL);
    ck_assert_ptr_nonnull(r->g);
    tutti_graph *b = graph_builder(r->g);
    v[0] = graph_input(r->g, &d);
    graph_set_segment(r->g, 0);
    for (int k = 0; k < LAYERS; k++)
        v[k + 1] = b->emit(b, "next", &v[k], 1, NULL, 0, NULL, 0);
    graph_set_segment(r->g, 1);
    in[0] = v[LAYERS];
    for (int k = LAYERS - 1, j = 0; k >= 0; k--) {
        in[1] = v[k];
        if (j < 3) {
            const tutti_value w = b->emit(b, "heavy", in, 2, NULL, 0, NULL, 0);
            stores[j] = (program_store){.value = w,
                                        .kind = STORE_MEMORY,
                                        .segment = 1,
                                        .add = add,
                                        .memory = r->sums[j],
                                        .bytes = sizeof r->sums[j]};
            memset(r->sums[j], 0, sizeof r->sums[j]);
            j++;
        }
        in[0] = b->emit(b, "back", in, 2, NULL, 0, NULL, 0);
    }
    ck_assert_ok(graph_error(r->g, &err), err);
    const program_spec spec = {.g = r->g,
                               .keep = in,
                               .nkeep = 1,
                               .stores = stores,
                               .nstores = 3,
                               .nexternal = 1,
                               .threads = 1};
    ck_assert_ok(program_create(&spec, &r->p, &err), err);
    uint32_t x, y, count;
    const arena_interval *map = program_intervals(r->p, &count);
    ck_assert(!arena_overlap(map, count, &x, &y));
    r->arena = host_memory_alloc(program_bytes(r->p));
    r->input = host_memory_alloc(VALUE);
    ck_assert(r->arena && r->input);
    toy_fill((tutti_tensor){r->input, d, TUTTI_DEVICE_CPU, 0}, 5);
    program_set_arena(r->p, r->arena);
    program_set_external(r->p, 0, r->input);
    ck_assert_ok(program_run(r->p, 0, &toy_step, &err), err);
    ck_assert_ok(program_run(r->p, 1, &toy_step, &err), err);
}

static void rig_fini(rig *r)
{
    program_destroy(r->p);
    graph_destroy(r->g);
    free(r->arena);
    free(r->input);
}

/* The sums by a run in the order of the nodes. */
static void expect_sums(const rig *r)
{
    static float v[LAYERS + 1][WIDTH], d[WIDTH];
    memcpy(v[0], r->input, VALUE);
    for (int l = 0; l < LAYERS; l++)
        for (int k = 0; k < WIDTH; k++)
            v[l + 1][k] = v[l][k] * 0.5f + 1.0f;
    memcpy(d, v[LAYERS], VALUE);
    for (int j = 0; j < 3; j++) {
        float sums[SUMS] = {0};
        for (int k = 0; k < WIDTH; k++)
            sums[k % SUMS] += d[k] * v[LAYERS - 1 - j][k];
        ck_assert_mem_eq(sums, r->sums[j], sizeof sums);
        for (int k = 0; k < WIDTH; k++)
            d[k] = d[k] + v[LAYERS - 1 - j][k] * 0.25f;
    }
}

START_TEST(much_scratch_waits_until_what_was_kept_for_the_backward_pass_is_gone)
{
    rig r;
    rig_init(&r, ops, _i == 1);
    expect_sums(&r);
    /* In the order of the nodes: all of the forward pass beside it.  Three waiting steps need two
     * inputs each, which they share in part, and there is the result. */
    ck_assert_uint_le(program_bytes(r.p), SCRATCH + 8 * VALUE);
    rig_fini(&r);
}
END_TEST

START_TEST(steps_stay_in_their_segment_and_behind_what_they_read)
{
    rig r;
    rig_init(&r, ops, false);
    const program *p = r.p;
    ck_assert_uint_eq(p->cut, LAYERS);
    for (uint32_t k = 0; k < p->nsteps; k++) {
        const step *s = &p->steps[k];
        ck_assert_int_eq(s->node->segment, k >= p->cut);
        ck_assert_uint_eq(s->time, k + (k >= p->cut));
        for (uint32_t j = 0; j < s->node->nin; j++)
            for (uint32_t i = k; i < p->nsteps; i++)
                ck_assert_uint_ne(p->steps[i].node->out, s->node->in[j]);
    }
    rig_fini(&r);
}
END_TEST

static bool in_order(const program *p)
{
    tutti_value before = 0;
    bool rises = true;
    for (uint32_t k = p->cut; k < p->nsteps; k++) {
        const graph_node *n = p->steps[k].node;
        if (!n || strcmp(n->op->name, "heavy") != 0)
            continue;
        rises = rises && n->out > before;
        before = n->out;
    }
    return rises;
}

/* Ranks whose slots have other shapes make the same sums in the same order. */
START_TEST(sums_over_slots_keep_their_order)
{
    rig free_order, kept;
    rig_init(&free_order, ops, false);
    rig_init(&kept, sum_ops, false);
    ck_assert(!in_order(free_order.p)); /* which would save memory */
    ck_assert(in_order(kept.p));
    expect_sums(&kept);
    rig_fini(&free_order);
    rig_fini(&kept);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *t = tcase_create("schedule");
    tcase_add_loop_test(t, much_scratch_waits_until_what_was_kept_for_the_backward_pass_is_gone,
                        0, 2);
    tcase_add_test(t, steps_stay_in_their_segment_and_behind_what_they_read);
    tcase_add_test(t, sums_over_slots_keep_their_order);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
