/* batch_norm_relu_grad_test.c - the gradient of a norm and of the ReLU behind it: the definition, and the bits of both
 * one by one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"
#include "relu/relu.h"

#include "common/op_refusal.h"

#define LIKE_X(...) DESC(F32, __VA_ARGS__)
#define OF(c) DESC(F32, 1, c)
#define POSITIVE .low = {0, 0, 0, 0, 0.5}, .high = {0, 0, 0, 0, 2}

static const op_case cases[] = {
    {.op = "batch_norm_relu_grad",
     .nin = 6,
     .in = {LIKE_X(3, 3, 2, 3), LIKE_X(3, 3, 2, 3), OF(3), OF(3), OF(3), LIKE_X(3, 3, 2, 3)},
     POSITIVE,
     .no_grad = 63},
    {.op = "batch_norm_relu_grad",
     .nin = 7,
     .in = {LIKE_X(2, 5, 35), LIKE_X(2, 5, 35), OF(35), OF(35), OF(35), LIKE_X(2, 5, 35),
            LIKE_X(2, 5, 35)},
     POSITIVE,
     .no_grad = 127},
    {.op = "batch_norm_relu_grad",
     .nin = 7,
     .in = {LIKE_X(2, 0, 3), LIKE_X(2, 0, 3), OF(3), OF(3), OF(3), LIKE_X(2, 0, 3),
            LIKE_X(2, 0, 3)},
     POSITIVE,
     .no_grad = 127},
};

START_TEST(it_agrees_with_its_definition)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

/* ---- beside batch_norm_grad ---- */

enum { ROWS = 301, MORE = 6, NIN = 7, NOUT = 4, DU = 3 };

/* Operands of one call, and results of both ways. */
typedef struct call {
    tutti_desc in[NIN], out[NOUT];
    void *data[NIN], *du, *want[3], *got[3];
    int64_t n, c;
} call;

static float number_of(const void *data, int32_t dtype, int64_t k)
{
    float v;
    return *half_read(data, dtype, k, 1, &v);
}

static void set_number_of(void *data, int32_t dtype, int64_t k, float v)
{
    float place;
    float *to = half_place(data, dtype, k, &place);
    *to = v;
    half_write(data, dtype, k, 1, to);
}

/* Numbers around 0; those of the deviations are above it. */
static void *numbers(const tutti_desc *d, uint32_t seed, int positive)
{
    const int64_t n = tutti_numel(d);
    void *data = calloc((size_t)n, sizeof(float));
    ck_assert_ptr_nonnull(data);
    for (int64_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        const float v = (float)((int32_t)seed >> 8) * 0x1p-23f;
        set_number_of(data, d->dtype, k, positive ? 1.5f + v : v);
    }
    return data;
}

static void begin(call *a, int64_t c, const int32_t *dtypes)
{
    *a = (call){.n = ROWS * c, .c = c};
    for (int k = 0; k < NIN; k++) {
        const int row = k >= 2 && k < 5;
        a->in[k] =
            row ? (tutti_desc){{c}, 1, TUTTI_F32} : (tutti_desc){{ROWS, c}, 2, dtypes[k]};
        a->data[k] = numbers(&a->in[k], 7u + (uint32_t)k, k == 4);
    }
    for (int k = 0; k < NOUT; k++)
        a->out[k] = k == 1 || k == 2 ? a->in[2] : a->in[k == DU];
    for (int k = 0; k < 3; k++) {
        a->want[k] = calloc((size_t)a->n, sizeof(float));
        a->got[k] = calloc((size_t)a->n, sizeof(float));
        ck_assert(a->want[k] && a->got[k]);
    }
    ck_assert_ptr_nonnull(a->du = calloc((size_t)a->n, sizeof(float)));
}

static void end(call *a)
{
    for (int k = 0; k < NIN; k++)
        free(a->data[k]);
    for (int k = 0; k < 3; k++)
        free(a->want[k]), free(a->got[k]);
    free(a->du);
}

static void run_op(const tutti_op *op, const tutti_op_call *c, const void *const *in,
                   void *const *out)
{
    void *state = NULL, *scratch;
    uint64_t bytes = 0;
    ck_assert_int_eq(op->cpu->prepare(c, &state, &bytes, NULL), TUTTI_OK);
    ck_assert_ptr_nonnull(scratch = aligned_alloc(64, (bytes + 127) / 64 * 64));
    memset(scratch, 0xFF, bytes);
    ck_assert_int_eq(op->cpu->run(state, c, in, out, scratch), TUTTI_OK);
    free(scratch);
}

/* What ReLU's gradient and then batch_norm_grad give. */
static void one_by_one(call *a, uint32_t nin)
{
    const batch_norm_grad_attr plain = {0};
    const tutti_desc in[5] = {a->in[0], a->out[DU], a->in[2], a->in[3], a->in[4]};
    const tutti_op_call c = {sizeof c, 5, 3, 2, in, a->out, &plain, NULL, NULL, NULL};
    for (int64_t k = 0; k < a->n; k++) {
        float dy = number_of(a->data[1], a->in[1].dtype, k);
        if (nin > MORE)
            dy += number_of(a->data[MORE], a->in[MORE].dtype, k);
        set_number_of(a->du, a->out[DU].dtype, k,
                      relu_grad_f32(dy, number_of(a->data[5], a->in[5].dtype, k)));
    }
    const void *from[5] = {a->data[0], a->du, a->data[2], a->data[3], a->data[4]};
    run_op(&tutti_op_batch_norm_grad, &c, from, a->want);
}

/* What ReLU lets nothing through for: no number, and zeros of either sign. */
static void add_odd_numbers(call *a)
{
    for (int64_t k = 0; k < a->n; k += 11) {
        set_number_of(a->data[5], a->in[5].dtype, k, k % 2 ? NAN : -0.0f);
        set_number_of(a->data[1], a->in[1].dtype, k, k % 3 ? INFINITY : NAN);
    }
}

/* Where du lies: in its own place, with dx; where dy lay, and dx where x lay; where more lay. */
enum { APART, OF_DY, OF_MORE, PLACES };

static void agrees(int64_t channels, const int32_t *dtypes, uint32_t nin, int place)
{
    const batch_norm_grad_attr plain = {0};
    call a;
    begin(&a, channels, dtypes);
    add_odd_numbers(&a);
    one_by_one(&a, nin);
    const tutti_op_call c = {sizeof c, nin, 4, 2, a.in, a.out, &plain, NULL, NULL, NULL};
    void *apart = calloc((size_t)a.n, sizeof(float));
    void *du = place == OF_DY ? a.data[1] : place == OF_MORE ? a.data[MORE] : apart;
    void *dx = place == OF_DY ? a.data[0] : a.got[0];
    void *out[NOUT] = {dx, a.got[1], a.got[2], du};
    run_op(&tutti_op_batch_norm_relu_grad, &c, (const void *const *)a.data, out);
    ck_assert_mem_eq(du, a.du, tutti_nbytes(&a.out[DU]));
    ck_assert_mem_eq(dx, a.want[0], tutti_nbytes(&a.out[0]));
    ck_assert_mem_eq(a.got[1], a.want[1], tutti_nbytes(&a.out[1]));
    ck_assert_mem_eq(a.got[2], a.want[2], tutti_nbytes(&a.out[2]));
    free(apart);
    end(&a);
}

/* x, dy, gamma, mean, invstd, y, more: F32, BF16, F16, and a mixture. */
static const int32_t all_dtypes[][NIN] = {
    {TUTTI_F32, TUTTI_F32, 0, 0, 0, TUTTI_F32, TUTTI_F32},
    {TUTTI_BF16, TUTTI_BF16, 0, 0, 0, TUTTI_BF16, TUTTI_BF16},
    {TUTTI_F16, TUTTI_F16, 0, 0, 0, TUTTI_F16, TUTTI_F16},
    {TUTTI_F32, TUTTI_BF16, 0, 0, 0, TUTTI_F16, TUTTI_F32},
};

/* Channels that fill registers, that are left over, both, and more than go row by row. */
START_TEST(the_bits_are_those_of_both_one_by_one)
{
    static const int64_t channels[] = {5, 16, 24, 64, 83, 160, 1104};
    for (int k = 0; k < OP_COUNT(channels); k++)
        for (uint32_t nin = MORE; nin <= NIN; nin++)
            for (int place = 0; place < PLACES; place++)
                if (place != OF_MORE || all_dtypes[_i][MORE] == all_dtypes[_i][1])
                    agrees(channels[k], all_dtypes[_i], nin, place);
}
END_TEST

static const batch_norm_grad_attr none = {0}, relu = {1};

static const op_refusal refusals[] = {
    {{LIKE_X(2, 2, 3), LIKE_X(2, 1, 3), OF(3), OF(3), OF(3), LIKE_X(2, 2, 3)},
     6,
     &none,
     TUTTI_E_SHAPE,
     "batch_norm_relu_grad: x is F32 (2, 3) and dy is F32 (1, 3), want the same shape"},
    {{LIKE_X(2, 2, 3), LIKE_X(2, 2, 3), OF(3), OF(4), OF(3), LIKE_X(2, 2, 3)},
     6,
     &none,
     TUTTI_E_SHAPE,
     "batch_norm_relu_grad: mean is F32 (4), want (3)"},
    {{LIKE_X(2, 2, 3), LIKE_X(2, 2, 3), OF(3), OF(3), OF(3), DESC(F64, 2, 2, 3)},
     6,
     &none,
     TUTTI_E_ARG,
     "batch_norm_relu_grad: y is F64 (2, 3), want F32"},
    {{LIKE_X(2, 2, 3), LIKE_X(2, 2, 3), OF(3), OF(3), OF(3), LIKE_X(2, 2, 3)},
     6,
     &relu,
     TUTTI_E_RANGE,
     "batch_norm_relu_grad: act is 1, want 0: y tells the mask"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_batch_norm_relu_grad, &refusals[_i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("batch_norm_relu_grad");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, it_agrees_with_its_definition, 0, OP_COUNT(cases));
    tcase_add_loop_test(t, the_bits_are_those_of_both_one_by_one, 0, OP_COUNT(all_dtypes));
    tcase_add_loop_test(t, what_does_not_fit_is_refused_in_one_sentence, 0, OP_COUNT(refusals));
    return tutti_run(s);
}
