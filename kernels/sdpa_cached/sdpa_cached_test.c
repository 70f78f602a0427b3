/* sdpa_cached_test.c - attention to a cache against its definition and numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

/* q of h heads, k and v of n keys and g heads, positions for t queries below n. */
#define QKV(b, t, h, n, g, d)                                                                  \
    DESC(F32, 4, b, t, h, d), DESC(F32, 4, b, n, g, d), DESC(F32, 4, b, n, g, d),              \
        DESC(I32, 1, t)
#define WITHIN(n) .low = {-1, -1, -1, 0, -1}, .high = {1, 1, 1, (n), 1}, .no_grad = 31

static const op_case cases[] = {
    {.op = "sdpa_cached", .nin = 4, .in = {QKV(2, 3, 2, 5, 2, 4)}, WITHIN(5)},
    {.op = "sdpa_cached", .nin = 4, .in = {QKV(1, 1, 4, 9, 2, 3)}, WITHIN(9)},
    {.op = "sdpa_cached", .nin = 4, .in = {QKV(1, 2, 6, 7, 1, 40)}, WITHIN(7)},
    {.op = "sdpa_cached",
     .nin = 4,
     .in = {DESC(F32, 4, 1, 2, 2, 5), DESC(F32, 4, 1, 6, 2, 5), DESC(F32, 4, 1, 6, 2, 5),
            DESC(I64, 1, 2)},
     .nattr = 1,
     .attr = {{.name = "scale", .type = TUTTI_ATTR_F64, .f = 0.3}},
     WITHIN(6)},
    {.op = "sdpa_cached",
     .nin = 5,
     .in = {QKV(2, 3, 2, 5, 2, 4), DESC(F32, 3, 2, 1, 5)},
     WITHIN(5)},
    {.op = "sdpa_cached",
     .nin = 5,
     .in = {QKV(2, 3, 2, 5, 1, 4), DESC(F32, 4, 2, 1, 3, 1)},
     WITHIN(5)},
    {.op = "sdpa_cached", .nin = 4, .in = {QKV(0, 3, 2, 5, 2, 4)}, WITHIN(5)},
    {.op = "sdpa_cached", .nin = 4, .in = {QKV(1, 40, 4, 60, 2, 64)}, WITHIN(60)},
};

static const op_refusal refusals[] = {
    {.in = {QKV(1, 2, 3, 4, 2, 5)},
     .nin = 4,
     .attr = &(const double){0.0},
     .status = TUTTI_E_SHAPE,
     .text =
         "sdpa_cached: q is F32 (1, 2, 3, 5) and k is F32 (1, 4, 2, 5), want (B, T, H, D) and "
         "(B, N, G, D) where G divides H"},
    {.in = {DESC(F32, 4, 1, 2, 2, 5), DESC(F32, 4, 1, 4, 2, 5), DESC(F32, 4, 1, 4, 2, 5),
            DESC(I32, 1, 3)},
     .nin = 4,
     .attr = &(const double){0.0},
     .status = TUTTI_E_SHAPE,
     .text = "sdpa_cached: position is I32 (3), want (2)"},
    {.in = {QKV(1, 2, 2, 4, 2, 5), DESC(F32, 1, 3)},
     .nin = 5,
     .attr = &(const double){0.0},
     .status = TUTTI_E_SHAPE,
     .text = "sdpa_cached: bias is F32 (3), want what broadcasts to (1, 2, 2, 4)"},
};

extern const tutti_op tutti_op_sdpa_cached;

/* What lies behind a query's position may be anything, as it does in a cache that is not full. */
START_TEST(keys_behind_the_position_are_not_read)
{
    const tutti_desc in[4] = {DESC(F32, 4, 1, 1, 1, 2), DESC(F32, 4, 1, 3, 1, 2),
                              DESC(F32, 4, 1, 3, 1, 2), DESC(I32, 1, 1)};
    const tutti_desc out = DESC(F32, 4, 1, 1, 1, 2);
    const double scale = 1.0;
    const void *const data[4] = {F32S(0, 0), F32S(1, 0, 3, 1, NAN, NAN),
                                 F32S(5, 7, 1, 1, NAN, NAN), &(int32_t){_i}};
    static const float want[2][2] = {{5, 7}, {3, 4}};
    static const tutti_status status[4] = {TUTTI_OK, TUTTI_OK, TUTTI_OK, TUTTI_E_RANGE};
    const tutti_op_call c = {sizeof c, 4, 1, 2, in, &out, &scale, NULL, NULL, NULL};
    float y[2] = {0}, *const to = y;
    void *state = NULL, *results[1] = {to};
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(tutti_op_sdpa_cached.cpu->prepare(&c, &state, &bytes, &err), err);
    void *scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
    ck_assert_int_eq(tutti_op_sdpa_cached.cpu->run(state, &c, data, results, scratch),
                     status[_i]);
    for (int k = 0; k < 2 && _i < 2; k++)
        ck_assert(y[k] == want[_i][k]);
    free(scratch);
}
END_TEST

OP_TEST_CASES(sdpa_cached)
OP_TEST_REFUSALS(sdpa_cached)
OP_TEST_PROGRAM(sdpa_cached, OP_ADD_CASES(sdpa_cached); OP_ADD_REFUSALS(sdpa_cached);
                tcase_add_loop_test(t, keys_behind_the_position_are_not_read, 0, 4))
