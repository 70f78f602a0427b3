/* airbench_model_test.c - several views of an image, against a network that sees them one by one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_plans.h"

enum { B = 3, SIDE = 26, C = 3, SIZE = SIDE * SIDE * C, CLASSES = 10 };

static const tutti_column columns[2] = {{"input", {{SIDE, SIDE, C}, 3, TUTTI_F32}, 0},
                                        {"target", {{0}, 0, TUTTI_I32}, CLASSES}};

/* What a model says of these images in evaluation. */
static void ask(const char *views, const float *x, float *ret)
{
    static int32_t labels[B] = {1, 2, 3};
    const tutti_desc images = {{B, SIDE, SIDE, C}, 4, TUTTI_F32}, label = {{B}, 1, TUTTI_I32};
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    const trial t = {.inputs = {{(void *)(uintptr_t)x, images, TUTTI_DEVICE_CPU, 0}},
                     .target = {labels, label, TUTTI_DEVICE_CPU, 0},
                     .ninputs = 1};
    char json[96];
    made m;
    (void)snprintf(json, sizeof json,
                   "{\"name\":\"airbench\",\"widths\":[24,28,32],\"views\":\"%s\"}", views);
    build(&m, json, columns, 2);
    stir(&m, 0.05);
    plan *p = planned(&m, PLAN_EVAL, &t);
    ck_assert_ok(plan_run(p, 0, &step, 1.0f, &err), err);
    const tutti_tensor got = plan_output(p, 0);
    ck_assert_int_eq(tutti_numel(&got.desc), B * CLASSES);
    memcpy(ret, got.data, B * CLASSES * sizeof *ret);
    unmake(&m);
}

/* Where pixel k of a line `by` pixels further on comes from, reflected at the edge. */
static int source(int k, int by)
{
    const int at = k - by;
    return at < 0 ? -at : at >= SIDE ? 2 * (SIDE - 1) - at : at;
}

static void view(const float *x, int by, int mirrored, float *ret)
{
    for (int k = 0; k < B * SIZE; k++) {
        const int column = k / C % SIDE, row = k / C / SIDE % SIDE;
        const int from = source(mirrored ? SIDE - 1 - column : column, by);
        ret[k] = x[((k / SIZE * SIDE + source(row, by)) * SIDE + from) * C + k % C];
    }
}

/* The paper: half for the image and its mirror image, a quarter for each of two shifts and theirs. */
START_TEST(outputs_are_the_mean_over_views)
{
    static float x[B * SIZE], seen[B * SIZE];
    const int shifts = _i ? 3 : 1;
    const double share[3] = {_i ? 0.25 : 0.5, 0.125, 0.125};
    double want[B * CLASSES] = {0}, away = 0;
    float got[B * CLASSES], one[B * CLASSES];
    tutti_stream r = tutti_stream_at(3, TUTTI_RNG_PLUGIN, 0, 0);
    for (int k = 0; k < B * SIZE; k++)
        x[k] = (float)(tutti_stream_uniform(&r) * 2.0 - 1.0);
    for (int k = 0; k < 2 * shifts; k++) {
        static const int by[3] = {0, 1, -1};
        view(x, by[k / 2], k % 2, seen);
        ask("one", seen, one);
        for (int j = 0; j < B * CLASSES; j++)
            want[j] += share[k / 2] * one[j];
        away = fmax(away, fabs(want[0] - one[0]));
    }
    ck_assert_double_gt(away, 1e-3); /* views differ */
    ask(_i ? "mirror_shift" : "mirror", x, got);
    ck_close_all("the mean", got, want, B * CLASSES, 0.0,
                 1e-5); /* f32, summed in another order */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("airbench_model");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, outputs_are_the_mean_over_views, 0, 2);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
