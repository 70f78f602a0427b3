/* sdpa_test.c - attention against its definition and differences, in both layouts; refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"

#include "common/op_example.h"

extern const tutti_op tutti_op_sdpa, tutti_op_sdpa_grad, tutti_op_sdpa_packed,
    tutti_op_sdpa_packed_grad;

#define CAUSAL                                                                                 \
    {                                                                                          \
        .name = "causal", .type = TUTTI_ATTR_I64, .i = 1                                       \
    }
#define SCALE(value)                                                                           \
    {                                                                                          \
        .name = "scale", .type = TUTTI_ATTR_F64, .f = (value)                                  \
    }
#define DROPOUT(p)                                                                             \
    {.name = "dropout", .type = TUTTI_ATTR_F64, .f = (p)},                                     \
    {                                                                                          \
        .name = "stream", .type = TUTTI_ATTR_I64, .i = 5                                       \
    }
/* q of tq rows, k and v of tk */
#define QKV(b, h, tq, tk, d)                                                                   \
    DESC(F32, 4, b, h, tq, d), DESC(F32, 4, b, h, tk, d), DESC(F32, 4, b, h, tk, d)
/* what the gradient takes besides */
#define BACK(b, h, tq, d)                                                                      \
    DESC(F32, 4, b, h, tq, d), DESC(F32, 3, b, h, tq), DESC(F32, 4, b, h, tq, d)

static const op_case cases[] = {
    {.op = "sdpa", .nin = 3, .in = {QKV(2, 2, 3, 4, 5)}},
    {.op = "sdpa", .nin = 3, .in = {QKV(1, 2, 4, 4, 3)}, .nattr = 1, .attr = {CAUSAL}},
    {.op = "sdpa",
     .nin = 3,
     .in = {QKV(1, 1, 2, 5, 3)},
     .nattr = 2,
     .attr = {CAUSAL, SCALE(0.7)}},
    {.op = "sdpa", .nin = 4, .in = {QKV(2, 2, 3, 4, 2), DESC(F32, 4, 1, 2, 1, 4)}},
    {.op = "sdpa",
     .nin = 4,
     .in = {QKV(2, 1, 3, 3, 2), DESC(F32, 2, 3, 1)},
     .nattr = 1,
     .attr = {CAUSAL}},
    {.op = "sdpa", .nin = 4, .in = {QKV(2, 2, 2, 3, 2), DESC(F32, 4, 2, 1, 2, 3)}},
    {.op = "sdpa", .nin = 3, .in = {QKV(0, 2, 3, 4, 5)}},
    {.op = "sdpa", .nin = 3, .in = {QKV(2, 1, 0, 4, 5)}},
    {.op = "sdpa_grad", .nin = 6, .in = {QKV(2, 2, 3, 4, 5), BACK(2, 2, 3, 5)}, .no_grad = 63},
    {.op = "sdpa_grad",
     .nin = 7,
     .in = {QKV(1, 2, 3, 5, 4), BACK(1, 2, 3, 4), DESC(F32, 1, 5)},
     .nattr = 1,
     .attr = {CAUSAL},
     .no_grad = 127},
    {.op = "sdpa_packed", .nin = 1, .in = {DESC(F32, 5, 2, 3, 3, 2, 4)}},
    {.op = "sdpa_packed",
     .nin = 2,
     .in = {DESC(F32, 5, 1, 4, 3, 2, 3), DESC(F32, 3, 2, 1, 4)},
     .nattr = 2,
     .attr = {CAUSAL, SCALE(0.4)}},
    {.op = "sdpa_packed_grad",
     .nin = 5,
     .in = {DESC(F32, 5, 2, 3, 3, 2, 5), DESC(F32, 4, 2, 3, 2, 5), DESC(F32, 3, 2, 2, 3),
            DESC(F32, 4, 2, 3, 2, 5), DESC(F32, 2, 3, 3)},
     .nattr = 1,
     .attr = {CAUSAL},
     .no_grad = 31},
};

/* Rows of probabilities that begin at multiples of four and elsewhere. */
static const op_case dropping[] = {
    {.op = "sdpa", .nin = 3, .in = {QKV(2, 2, 3, 4, 5)}, .nattr = 2, .attr = {DROPOUT(0.4)}},
    {.op = "sdpa",
     .nin = 4,
     .in = {QKV(1, 2, 3, 7, 3), DESC(F32, 4, 1, 2, 1, 7)},
     .nattr = 3,
     .attr = {DROPOUT(0.3), CAUSAL}},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(1, 2, 3, 5, 4), BACK(1, 2, 3, 4)},
     .nattr = 3,
     .attr = {DROPOUT(0.3), CAUSAL},
     .no_grad = 63},
    {.op = "sdpa_packed",
     .nin = 1,
     .in = {DESC(F32, 5, 2, 5, 3, 2, 4)},
     .nattr = 2,
     .attr = {DROPOUT(0.5)}},
    {.op = "sdpa_packed_grad",
     .nin = 4,
     .in = {DESC(F32, 5, 2, 3, 3, 2, 5), DESC(F32, 4, 2, 3, 2, 5), DESC(F32, 3, 2, 2, 3),
            DESC(F32, 4, 2, 3, 2, 5)},
     .nattr = 2,
     .attr = {DROPOUT(0.2)},
     .no_grad = 15},
};

static const op_case dropping_large[] = {
    {.op = "sdpa",
     .nin = 3,
     .in = {QKV(1, 2, 70, 131, 24)},
     .nattr = 3,
     .attr = {DROPOUT(0.2), CAUSAL}},
    {.op = "sdpa",
     .nin = 3,
     .in = {QKV(1, 1, 66, 70, 128)},
     .nattr = 2,
     .attr = {DROPOUT(0.2)}},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(1, 1, 66, 70, 128), BACK(1, 1, 66, 128)},
     .nattr = 3,
     .attr = {DROPOUT(0.2), CAUSAL},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    {.op = "sdpa_grad",
     .nin = 7,
     .in = {QKV(1, 2, 70, 131, 24), BACK(1, 2, 70, 24), DESC(F32, 4, 1, 2, 1, 131)},
     .nattr = 3,
     .attr = {DROPOUT(0.2), CAUSAL},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    {.op = "sdpa_packed",
     .nin = 1,
     .in = {DESC(F32, 5, 1, 256, 3, 1, 8)},
     .nattr = 2,
     .attr = {DROPOUT(0.1)},
     .rounds = 1},
    {.op = "sdpa_packed_grad",
     .nin = 4,
     .in = {DESC(F32, 5, 2, 256, 3, 1, 8), DESC(F32, 4, 2, 256, 1, 8), DESC(F32, 3, 2, 1, 256),
            DESC(F32, 4, 2, 256, 1, 8)},
     .nattr = 3,
     .attr = {DROPOUT(0.1), CAUSAL},
     .low = {0, 0, 3},
     .high = {0, 0, 5},
     .rounds = 1},
};

/* Several tiles and threads; whole and broken tiles and registers; scores far apart. */
static const op_case large[] = {
    {.op = "sdpa", .nin = 3, .in = {QKV(2, 3, 129, 129, 32)}, .nattr = 1, .attr = {CAUSAL}},
    {.op = "sdpa",
     .nin = 3,
     .in = {QKV(1, 2, 70, 200, 20)},
     .nattr = 1,
     .attr = {CAUSAL},
     .low = {-20},
     .high = {20}},
    {.op = "sdpa",
     .nin = 4,
     .in = {QKV(1, 3, 65, 64, 64), DESC(F32, 3, 3, 65, 64)},
     .low = {0, 0, 0, -40},
     .high = {0, 0, 0, 40}},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(2, 3, 129, 129, 32), BACK(2, 3, 129, 32)},
     .nattr = 1,
     .attr = {CAUSAL},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    {.op = "sdpa_grad",
     .nin = 7,
     .in = {QKV(1, 2, 70, 200, 20), BACK(1, 2, 70, 20), DESC(F32, 4, 1, 2, 1, 200)},
     .nattr = 1,
     .attr = {CAUSAL},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(1, 5, 65, 64, 40), BACK(1, 5, 65, 40)},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    /* long enough for cuDNN, where probabilities of 16 bits are multiplied */
    {.op = "sdpa",
     .nin = 3,
     .in = {QKV(1, 2, 256, 256, 8)},
     .nattr = 1,
     .attr = {CAUSAL},
     .rounds = 1},
    {.op = "sdpa_packed", .nin = 1, .in = {DESC(F32, 5, 1, 256, 3, 2, 8)}, .rounds = 1},
    /* there with more queries than keys, and with a broken tile of keys, which some versions get wrong */
    {.op = "sdpa", .nin = 3, .in = {QKV(1, 1, 300, 260, 8)}, .rounds = 1},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(1, 1, 300, 260, 8), BACK(1, 1, 300, 8)},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5},
     .rounds = 1},
    {.op = "sdpa_packed_grad",
     .nin = 4,
     .in = {DESC(F32, 5, 1, 300, 3, 1, 8), DESC(F32, 4, 1, 300, 1, 8), DESC(F32, 3, 1, 1, 300),
            DESC(F32, 4, 1, 300, 1, 8)},
     .nattr = 1,
     .attr = {CAUSAL},
     .low = {0, 0, 3},
     .high = {0, 0, 5},
     .rounds = 1},
    /* more elements than a device's block has results; more than two such blocks */
    {.op = "sdpa", .nin = 3, .in = {QKV(1, 2, 66, 70, 96)}, .nattr = 1, .attr = {CAUSAL}},
    {.op = "sdpa", .nin = 3, .in = {QKV(1, 1, 20, 70, 261)}},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(1, 1, 66, 70, 80), BACK(1, 1, 66, 80)},
     .nattr = 1,
     .attr = {CAUSAL},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    {.op = "sdpa_grad",
     .nin = 6,
     .in = {QKV(1, 1, 20, 70, 261), BACK(1, 1, 20, 261)},
     .low = {0, 0, 0, 0, 3},
     .high = {0, 0, 0, 0, 5}},
    {.op = "sdpa_packed",
     .nin = 1,
     .in = {DESC(F32, 5, 2, 100, 3, 3, 48)},
     .nattr = 1,
     .attr = {CAUSAL}},
    {.op = "sdpa_packed_grad",
     .nin = 4,
     .in = {DESC(F32, 5, 2, 100, 3, 3, 48), DESC(F32, 4, 2, 100, 3, 48),
            DESC(F32, 3, 2, 3, 100), DESC(F32, 4, 2, 100, 3, 48)},
     .nattr = 1,
     .attr = {CAUSAL},
     .low = {0, 0, 3},
     .high = {0, 0, 5}},
};

START_TEST(small_heads_agree_with_definition_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

START_TEST(long_sequences_agree_with_the_definition)
{
    op_case c = large[_i];
    c.no_grad = 127;
    op_case_holds(&c, _i);
}
END_TEST

START_TEST(probabilities_left_out_agree_with_definition_and_differences)
{
    op_case_holds(&dropping[_i], _i);
}
END_TEST

START_TEST(probabilities_left_out_of_long_rows_agree_with_the_definition)
{
    op_case c = dropping_large[_i];
    c.no_grad = 127;
    op_case_holds(&c, _i);
}
END_TEST

/* Of a million draws as many are kept as should be; the same whatever is asked for at once. */
START_TEST(what_is_left_out_depends_on_the_element_alone)
{
    const sdpa_shape s = {.tq = 70, .tk = 131, .drop = 0.3f, .purpose = 9};
    int64_t kept = 0, n = 0;
    for (int64_t head = 0; head < 100; head++)
        for (int64_t i = 0; i < s.tq; i++)
            for (int64_t j = 0; j + 32 <= s.tk; j += 32, n += 32)
                kept += __builtin_popcount(sdpa_kept(&s, 1, 2, head, i, j, 32));
    ck_assert_close((double)kept / (double)n, 0.7, 2e-3);
    for (int64_t j = 0; j < 64; j++) {
        const uint32_t one = sdpa_kept(&s, 1, 2, 3, 4, j, 1) & 1;
        ck_assert_uint_eq(one, sdpa_kept(&s, 1, 2, 3, 4, j / 32 * 32, 32) >> j % 32 & 1);
    }
}
END_TEST

static const sdpa_attr plain = {0}, causal = {.causal = 1}, all_dropped = {.dropout = 1.0};

/* One head, D = 1: scores are q k.  Causal, the first query sees the first of two keys alone. */
static const op_example examples[] = {
    {.in = {DESC(F32, 4, 1, 1, 1, 1), DESC(F32, 4, 1, 1, 2, 1), DESC(F32, 4, 1, 1, 2, 1)},
     .data = {F32S(1), F32S(0, 1), F32S(2, 4)},
     .attr = &plain,
     .out = DESC(F32, 4, 1, 1, 1, 1),
     .want = F32S(3.46211716f)}, /* 2 + 2 sigmoid(1) */
    {.in = {DESC(F32, 4, 1, 1, 2, 1), DESC(F32, 4, 1, 1, 2, 1), DESC(F32, 4, 1, 1, 2, 1)},
     .data = {F32S(1, 1), F32S(0, 1), F32S(2, 4)},
     .attr = &causal,
     .out = DESC(F32, 4, 1, 1, 2, 1),
     .want = F32S(2, 3.46211716f)},
};

/* 2 x 3 heads of width 4; 5 queries at the end of 7 keys see 3, 4, 5, 6 and 7 of them where later ones are hidden. */
START_TEST(flops_are_two_for_every_product_of_what_is_seen)
{
    const tutti_desc q = DESC(F32, 4, 2, 3, 5, 4), k = DESC(F32, 4, 2, 3, 7, 4);
    const tutti_desc lse = DESC(F32, 3, 2, 3, 5), x = DESC(F32, 5, 2, 5, 3, 3, 4);
    const tutti_desc y = DESC(F32, 4, 2, 5, 3, 4), low = DESC(BF16, 4, 2, 3, 5, 4);
    const tutti_desc apart[6] = {q, k, k, q, lse, q}, packed[4] = {x, y, lse, y};
    const tutti_desc mixed[3] = {low, k, k};
    const struct {
        const tutti_op *op;
        const tutti_desc *in;
        uint32_t nin;
        const sdpa_attr *attr;
        double want;
    } counts[] = {{&tutti_op_sdpa, apart, 3, &plain, 4.0 * 6 * 4 * 35},
                  {&tutti_op_sdpa, apart, 3, &causal, 4.0 * 6 * 4 * 25},
                  {&tutti_op_sdpa, mixed, 3, &causal, 4.0 * 6 * 4 * 25},
                  {&tutti_op_sdpa_grad, apart, 6, &plain, 10.0 * 6 * 4 * 35},
                  {&tutti_op_sdpa_grad, apart, 6, &causal, 10.0 * 6 * 4 * 25},
                  {&tutti_op_sdpa_packed, packed, 1, &causal, 4.0 * 6 * 4 * 15},
                  {&tutti_op_sdpa_packed_grad, packed, 4, &plain, 10.0 * 6 * 4 * 25}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const tutti_op_call c = {.struct_size = sizeof c,
                                 .nin = counts[i].nin,
                                 .in = counts[i].in,
                                 .attr = counts[i].attr};
        ck_assert_close(counts[i].op->traits->flops(&c), counts[i].want, 0.0);
    }
}
END_TEST

/* op_example compares the first result; the second needs room too. */
START_TEST(two_keys_are_weighed_as_worked_out_by_hand)
{
    const op_example *e = &examples[_i];
    const tutti_desc lse = {{1, 1, e->in[0].dim[2]}, 3, TUTTI_F32};
    const tutti_desc out[2] = {e->out, lse};
    const tutti_op_call c = {sizeof c, 3, 2, 1, e->in, out, e->attr, NULL, NULL, NULL};
    float y[2], sums[2];
    void *state = NULL, *outs[2] = {y, sums};
    uint64_t size;
    ck_assert_int_eq(tutti_op_sdpa.cpu->prepare(&c, &state, &size, NULL), TUTTI_OK);
    void *scratch = aligned_alloc(64, (size + 63) / 64 * 64);
    ck_assert_int_eq(tutti_op_sdpa.cpu->run(state, &c, e->data, outs, scratch), TUTTI_OK);
    op_example_compare(e, y);
    ck_assert_close(sums[lse.dim[2] - 1], log(1 + exp(1)), 1e-6);
    free(scratch);
}
END_TEST

/* Keys behind a bias of minus infinity, whole tiles of them, count for nothing. */
START_TEST(a_bias_of_minus_infinity_hides_keys)
{
    enum { T = 200, HIDDEN = 130, D = 8 };
    const tutti_desc q = DESC(F32, 4, 1, 1, 3, D), k = DESC(F32, 4, 1, 1, T, D);
    const tutti_desc few = DESC(F32, 4, 1, 1, T - HIDDEN, D), b = DESC(F32, 1, T);
    const tutti_desc in[4] = {q, k, k, b}, in_few[3] = {q, few, few};
    const tutti_desc out[2] = {q, DESC(F32, 3, 1, 1, 3)};
    const tutti_op_call all = {sizeof all, 4, 2, 1, in, out, &plain, NULL, NULL, NULL};
    const tutti_op_call part = {sizeof part, 3, 2, 1, in_few, out, &plain, NULL, NULL, NULL};
    static float qs[3 * D], ks[T * D], vs[T * D], bias[T];
    float y[2][3 * D], lse[2][3];
    uint64_t size;
    for (int i = 0; i < T * D; i++) {
        ks[i] = (float)((i * 37) % 11) * 0.1f;
        vs[i] = (float)((i * 53) % 17) - 8.0f;
        qs[i % (3 * D)] = (float)((i * 29) % 7) * 0.2f;
        bias[i / D] = i / D < HIDDEN ? -INFINITY : 0.0f;
    }
    ck_assert_int_eq(tutti_op_sdpa.cpu->prepare(&all, &(void *){NULL}, &size, NULL), TUTTI_OK);
    void *scratch = aligned_alloc(64, (size + 63) / 64 * 64);
    const void *ins[4] = {qs, ks, vs, bias},
               *few_ins[3] = {qs, ks + HIDDEN * D, vs + HIDDEN * D};
    ck_assert_int_eq(tutti_op_sdpa.cpu->run(NULL, &all, ins, (void *[]){y[0], lse[0]}, scratch),
                     TUTTI_OK);
    ck_assert_int_eq(
        tutti_op_sdpa.cpu->run(NULL, &part, few_ins, (void *[]){y[1], lse[1]}, scratch),
        TUTTI_OK);
    for (int i = 0; i < 3 * D; i++)
        ck_assert_close(y[0][i], y[1][i], 1e-5);
    for (int i = 0; i < 3; i++)
        ck_assert_close(lse[0][i], lse[1][i], 1e-5);
    free(scratch);
}
END_TEST

/* Whichever thread does a tile, it is done alike. */
START_TEST(one_thread_and_three_give_the_same_bits)
{
    enum { B = 1, T = 130, H = 2, D = 32, N = B * T * H * D };
    const tutti_desc x = DESC(F32, 5, B, T, 3, H, D), y = DESC(F32, 4, B, T, H, D);
    const tutti_desc lse = DESC(F32, 3, B, H, T), in[4] = {x, y, lse, y}, out[2] = {y, lse};
    static float xs[3 * N], ys[2][N], dx[2][3 * N], sums[2][B * H * T], dys[N];
    for (int i = 0; i < 3 * N; i++) {
        xs[i] = (float)((i * 7919) % 1000) * 1e-3f - 0.5f;
        dys[i / 3] = xs[i];
    }
    for (int k = 0; k < 2; k++) {
        const int threads = k ? 3 : 1;
        const tutti_op_call c = {sizeof c, 1, 2, threads, in, out, &causal, NULL, NULL, NULL};
        const tutti_op_call g = {sizeof g, 4, 1, threads, in, &x, &causal, NULL, NULL, NULL};
        const tutti_op *op[2] = {&tutti_op_sdpa_packed, &tutti_op_sdpa_packed_grad};
        uint64_t size[2];
        ck_assert_int_eq(op[0]->cpu->prepare(&c, &(void *){NULL}, &size[0], NULL), TUTTI_OK);
        ck_assert_int_eq(op[1]->cpu->prepare(&g, &(void *){NULL}, &size[1], NULL), TUTTI_OK);
        void *scratch = aligned_alloc(64, (size[0] + size[1] + 63) / 64 * 64);
        const void *ins[4] = {xs, ys[k], sums[k], dys};
        ck_assert_int_eq(op[0]->cpu->run(NULL, &c, ins, (void *[]){ys[k], sums[k]}, scratch),
                         TUTTI_OK);
        ck_assert_int_eq(op[1]->cpu->run(NULL, &g, ins, (void *[]){dx[k]}, scratch), TUTTI_OK);
        free(scratch);
    }
    ck_assert_mem_eq(ys[0], ys[1], sizeof ys[0]);
    ck_assert_mem_eq(sums[0], sums[1], sizeof sums[0]);
    ck_assert_mem_eq(dx[0], dx[1], sizeof dx[0]);
}
END_TEST

static const op_refusal refusals[] = {
    {{DESC(F32, 3, 2, 3, 4), DESC(F32, 4, 1, 2, 3, 4), DESC(F32, 4, 1, 2, 3, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa: q is F32 (2, 3, 4), want rank 4"},
    {{DESC(F32, 4, 1, 2, 3, 4), DESC(F32, 4, 1, 2, 3, 4), DESC(F16, 4, 1, 2, 3, 4)},
     3,
     &plain,
     TUTTI_E_ARG,
     "sdpa: v is F16 (1, 2, 3, 4), want F32"},
    {{DESC(F32, 4, 1, 2, 3, 4), DESC(F32, 4, 1, 2, 3, 4), DESC(F32, 4, 1, 2, 5, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa: k is F32 (1, 2, 3, 4) and v is F32 (1, 2, 5, 4), want the same shape"},
    {{DESC(F32, 4, 1, 2, 3, 4), DESC(F32, 4, 1, 3, 3, 4), DESC(F32, 4, 1, 3, 3, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa: q is F32 (1, 2, 3, 4) and k is F32 (1, 3, 3, 4), want them alike but for the third "
     "dimension"},
    {{QKV(1, 2, 3, 3, 4)},
     3,
     &all_dropped,
     TUTTI_E_RANGE,
     "sdpa: dropout is 1, want 0 to below 1"},
    {{QKV(1, 2, 3, 0, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa: k is F32 (1, 2, 0, 4), want keys with elements"},
    {{QKV(1, 2, 3, 2, 4)},
     3,
     &causal,
     TUTTI_E_SHAPE,
     "sdpa: causal with 3 queries and 2 keys, want as many keys or more"},
    {{QKV(1, 2, 3, 5, 4), DESC(F32, 2, 2, 5)},
     4,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa: bias is F32 (2, 5), want what broadcasts to (1, 2, 3, 5)"},
    {{QKV(1, 2, 3, 5, 4), DESC(I32, 1, 5)},
     4,
     &plain,
     TUTTI_E_ARG,
     "sdpa: bias is I32 (5), want F32"},
};
static const op_refusal packed_refusals[] = {
    {{DESC(F32, 5, 2, 3, 2, 2, 4)},
     1,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa_packed: qkv is F32 (2, 3, 2, 2, 4), want (B, T, 3, H, D)"},
    {{DESC(F32, 3, 2, 3, 12)},
     1,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa_packed: qkv is F32 (2, 3, 12), want (B, T, 3, H, D)"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 5, 2, 3, 3, 2, 4), DESC(F32, 4, 2, 3, 2, 4), DESC(F32, 3, 2, 3, 2),
      DESC(F32, 4, 2, 3, 2, 4)},
     4,
     &plain,
     TUTTI_E_SHAPE,
     "sdpa_packed_grad: lse is F32 (2, 3, 2) and a number a query is F32 (2, 2, 3), want the "
     "same shape"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_sdpa, &refusals[k]);
    for (int k = 0; k < OP_COUNT(packed_refusals); k++)
        op_refusal_holds(&tutti_op_sdpa_packed, &packed_refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_sdpa_packed_grad, &grad_refusals[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sdpa");
    TCase *t = op_test_cases(s, 100);
    tcase_add_loop_test(t, small_heads_agree_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, long_sequences_agree_with_the_definition, 0, OP_COUNT(large));
    tcase_add_loop_test(t, probabilities_left_out_agree_with_definition_and_differences, 0,
                        OP_COUNT(dropping));
    tcase_add_loop_test(t, probabilities_left_out_of_long_rows_agree_with_the_definition, 0,
                        OP_COUNT(dropping_large));
    tcase_add_test(t, what_is_left_out_depends_on_the_element_alone);
    tcase_add_test(t, flops_are_two_for_every_product_of_what_is_seen);
    tcase_add_loop_test(t, two_keys_are_weighed_as_worked_out_by_hand, 0, OP_COUNT(examples));
    tcase_add_test(t, a_bias_of_minus_infinity_hides_keys);
    tcase_add_test(t, one_thread_and_three_give_the_same_bits);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
