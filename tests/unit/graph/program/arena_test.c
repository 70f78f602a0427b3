/* arena_test.c - packing: nothing alive shares memory, and dead memory is used again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/arena.h"
#include "tutti/rng.h"
#include "tutti_check.h"

START_TEST(a_group_needs_two_places)
{
    arena_interval v[6];
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t bytes;
    for (uint32_t k = 0; k < 6; k++)
        v[k] = (arena_interval){1000, 0, k, k + 1};
    ck_assert_ok(arena_pack(v, 6, &bytes, &err), err);
    ck_assert_uint_eq(bytes, 2 * 1024);
}
END_TEST

START_TEST(the_checker_sees_an_overlap)
{
    const arena_interval v[2] = {{100, 0, 0, 3}, {100, 64, 3, 5}};
    uint32_t a, b;
    ck_assert(arena_overlap(v, 2, &a, &b));
    ck_assert_uint_eq(a, 0);
    ck_assert_uint_eq(b, 1);
}
END_TEST

START_TEST(random_lives_never_overlap)
{
    enum { N = 200 };
    arena_interval v[N];
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_stream r = tutti_stream_at((uint64_t)_i, TUTTI_RNG_DATASET, 0, 0);
    uint64_t bytes, sum = 0;
    uint32_t a = 0, b = 0;
    for (int k = 0; k < N; k++) {
        const uint32_t first = tutti_stream_below(&r, 100);
        v[k] = (arena_interval){1 + tutti_stream_below(&r, 10000), 0, first,
                                first + tutti_stream_below(&r, 20)};
        sum += v[k].bytes;
    }
    ck_assert_ok(arena_pack(v, N, &bytes, &err), err);
    ck_assert_msg(!arena_overlap(v, N, &a, &b), "%u and %u overlap", a, b);
    for (int k = 0; k < N; k++)
        ck_assert(v[k].offset % 64 == 0 && v[k].offset + v[k].bytes <= bytes);
    ck_assert_uint_lt(bytes, sum / 2);
}
END_TEST

START_TEST(nothing_needs_nothing)
{
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t bytes = 1;
    ck_assert_ok(arena_pack(NULL, 0, &bytes, &err), err);
    ck_assert_uint_eq(bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_group_needs_two_places);
    tcase_add_test(all, the_checker_sees_an_overlap);
    tcase_add_loop_test(all, random_lives_never_overlap, 0, 20);
    tcase_add_test(all, nothing_needs_nothing);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
