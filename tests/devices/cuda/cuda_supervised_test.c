/* cuda_supervised_test.c - supervised training on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_rig.h"
#include "device/net_model.h"

/* Momentum with one slot. */
static void update(void *self, const tutti_update *u)
{
    for (int64_t k = 0; k < u->n; k++) {
        u->slot[0][k] = 0.9f * u->slot[0][k] + u->g[k];
        u->w[k] -= (float)u->lr / (float)u->step * u->slot[0][k];
    }
}

static const char *const slot_names[] = {"momentum", NULL};
static const tutti_optimizer_v1 optimizer = {.struct_size = sizeof optimizer,
                                             .nslots = 1,
                                             .slot_names = slot_names,
                                             .lr = 0.1,
                                             .update = update};

enum { BATCHES = 3 };
static float xs[BATCHES][B * IN];
static int32_t ys[BATCHES][B];

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    static tutti_tensor tensors[2];
    static void *pair[2] = {&tensors[0], &tensors[1]};
    const int k = (*(int *)ctx)++ % BATCHES;
    tensors[0] = (tutti_tensor){xs[k], x_desc, TUTTI_DEVICE_CPU, 0};
    tensors[1] = (tutti_tensor){ys[k], y_desc, TUTTI_DEVICE_CPU, 0};
    toy_fill(tensors[0], (uint64_t)k);
    toy_fill(tensors[1], (uint64_t)k + 10);
    *ret_batch = pair;
    return TUTTI_OK;
}

static double train(const rig *r, int64_t accumulation, int64_t n)
{
    const net_model_options options = {
        .net = r->net, .optimizer = &optimizer, .target = {{0}, 0, TUTTI_I32}, .seed = 17};
    net_model *m = NULL;
    int at = 0;
    const tutti_loop_data data = {.ctx = &at, .next = next};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(net_model_create(&options, &m, &err), err);
    const tutti_supervised_model calls = net_model_calls(m);
    o.device = device_of(r);
    o.step = TUTTI_STEP_ACCELERATOR;
    o.accumulation = accumulation;
    ck_assert_ok(tutti_supervised_trainer(&calls, &o, &s, &err), err);
    args.data = &data;
    args.epoch_length = n;
    ck_assert_ok(tutti_loop_run(tutti_supervised_loop(s), &args, &err), err);
    const double loss = *(double *)tutti_loop_get_state(tutti_supervised_loop(s))->output;
    tutti_supervised_destroy(s);
    net_model_destroy(m);
    return loss;
}

/* Row: accumulation 1 or 2. */
START_TEST(a_supervised_loop_trains_on_a_gpu)
{
    rig *a = open_rig(NULL, 1.0), *b = open_rig("leaks=1", 1.0);
    const double want = train(a, 1 + _i, 12);
    ck_assert(want > 0.0);
    ck_assert_close(train(b, 1 + _i, 12), want, 10.0 * near * want);
    close_nets(a, b);
    ck_assert(on_a_gpu() || traced("launch graph") > 12);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* Row: finite or not.  One number comes back. */
START_TEST(gradients_are_scaled_where_they_are)
{
    const double factors[] = {0.375, (double)INFINITY};
    rig *rigs[] = {open_rig(NULL, 1.0), open_rig("leaks=1", 1.0)};
    for (int k = 0; k < 2; k++) {
        const net_model_options options = {.net = rigs[k]->net,
                                           .optimizer = &optimizer,
                                           .target = {{0}, 0, TUTTI_I32},
                                           .seed = 17};
        net_model *m = NULL;
        tutti_error err = TUTTI_ERROR_INIT;
        int finite = -1;
        ck_assert_ok(net_model_create(&options, &m, &err), err);
        (void)run_plan(rigs[k], PLAN_TRAIN, 0);
        const int before = k ? traced("copy 4 bytes") : 0, all = k ? traced("copy ") : 0;
        ck_assert_ok(net_model_calls(m).scale_gradients(m, factors[_i], &finite, &err), err);
        ck_assert_int_eq(finite, _i == 0);
        if (k) { /* the factor with a 0, and what became of that */
            ck_traced("copy 4 bytes", before + 1);
            ck_traced("copy ", all + 2);
        }
        net_model_destroy(m);
    }
    if (_i == 0)
        close_nets(rigs[0], rigs[1]);
    close_rig(rigs[0]);
    close_rig(rigs[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_supervised");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, gradients_are_scaled_where_they_are, 0, 2);
    tcase_add_loop_test(tc, a_supervised_loop_trains_on_a_gpu, 0, 2);
    return tutti_run(suite);
}
