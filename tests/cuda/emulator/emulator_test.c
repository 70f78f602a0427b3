/* emulator_test.c - kernels under the emulator: right ones are, and each fault has its sentence. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator.h"
#include "tutti_check.h"

#include <stdio.h>
#include <time.h>

/* ret_text "" when all went well. */
static void run(const char *name, emulator_shape shape, void *const *args, char ret_text[512])
{
    const emulator_kernel *k = emulator_find("test", name);
    ck_assert_msg(k != NULL, "there is no %s", name);
    *ret_text = 0;
    ck_assert_int_eq(emulator_run(k, &shape, args, ret_text, 512), *ret_text ? -1 : 0);
}

static void run_well(const char *name, emulator_shape shape, void *const *args)
{
    char text[512];
    run(name, shape, args, text);
    ck_assert_str_eq(text, "");
}

START_TEST(blocks_add_up_with_shuffles_and_shared_memory)
{
    enum { N = 1000, BLOCK = 256 };
    float x[N], sums[4];
    int n = N;
    float *px = x, *psums = sums;
    for (int k = 0; k < N; k++)
        x[k] = (float)k;
    emulator_seed((uint64_t)_i);
    run_well("block_sums", (emulator_shape){{4, 1, 1}, {BLOCK, 1, 1}, 0},
             (void *[]){&px, &psums, &n});
    for (int b = 0; b < 4; b++) {
        float want = 0.0f;
        for (int k = b * BLOCK; k < N && k < (b + 1) * BLOCK; k++)
            want += x[k];
        ck_assert_close(sums[b], want, 0.01);
    }
}
END_TEST

START_TEST(every_thread_of_every_block_runs_once)
{
    enum { BLOCKS = 3 * 2 * 2, THREADS = 5 * 3 * 2 };
    int counts[BLOCKS * THREADS] = {0}, *p = counts;
    emulator_seed((uint64_t)_i);
    run_well("count_all", (emulator_shape){{3, 2, 2}, {5, 3, 2}, 0}, (void *[]){&p});
    for (int k = 0; k < BLOCKS * THREADS; k++)
        ck_assert_int_eq(counts[k], 1);
}
END_TEST

START_TEST(lanes_see_each_other_as_the_language_says)
{
    uint32_t seen[64][8], *p = &seen[0][0];
    emulator_seed((uint64_t)_i);
    run_well("lanes", (emulator_shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&p});
    for (uint32_t t = 0; t < 64; t++) {
        const uint32_t warp = t / 32 * 32, lane = t % 32;
        uint32_t thirds = 0;
        for (uint32_t k = 0; k < 32; k++)
            thirds |= (warp + k) % 3 == 0 ? 1u << k : 0;
        ck_assert_uint_eq(seen[t][0], warp + 5);
        ck_assert_uint_eq(seen[t][1], lane < 2 ? t : t - 2);
        ck_assert_uint_eq(seen[t][2], lane % 8 < 5 ? t + 3 : t);
        ck_assert_uint_eq(seen[t][3], t ^ 1);
        ck_assert_uint_eq(seen[t][4], thirds);
        ck_assert_uint_eq(seen[t][5], warp ? 1 : 2);
        ck_assert_uint_eq(seen[t][6], 0x00010001u << t % 16);
        ck_assert_uint_eq(seen[t][7], warp + 31 + 10);
    }
}
END_TEST

START_TEST(parts_of_a_warp_go_their_own_ways)
{
    float sums[64], *p = sums;
    emulator_seed((uint64_t)_i);
    run_well("half_warps", (emulator_shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&p});
    for (int t = 0; t < 64; t++)
        ck_assert_close(sums[t], t / 16 * 16 * 16 + 120, 0);
}
END_TEST

START_TEST(shared_memory_is_poison_in_every_block)
{
    uint32_t seen[64], *p = seen;
    run_well("poison", (emulator_shape){{3, 1, 1}, {64, 1, 1}, 256}, (void *[]){&p});
    for (int t = 0; t < 64; t++)
        ck_assert_uint_eq(seen[t], 0xFFFFFFFFu);
}
END_TEST

START_TEST(vectors_load_and_store)
{
    _Alignas(16) float x[40], y[40];
    float *px = x, *py = y;
    int n = 10;
    for (int k = 0; k < 40; k++)
        x[k] = (float)k;
    run_well("vectors", (emulator_shape){{1, 1, 1}, {32, 1, 1}, 0}, (void *[]){&px, &py, &n});
    for (int k = 0; k < 40; k++)
        ck_assert_close(y[k], k / 4 * 4 + 3 - k % 4, 0);
}
END_TEST

START_TEST(the_last_block_finds_what_the_others_left)
{
    int parts[100], sum = 0, *pparts = parts, *psum = &sum;
    uint32_t ticket = 0, *pticket = &ticket;
    emulator_seed((uint64_t)_i);
    run_well("last_block", (emulator_shape){{100, 1, 1}, {64, 1, 1}, 0},
             (void *[]){&pparts, &pticket, &psum});
    ck_assert_int_eq(sum, 4950);
}
END_TEST

START_TEST(a_race_shows_under_some_order)
{
    int x[64], *p = x, wrong = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        emulator_seed(seed);
        run_well("race", (emulator_shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&p});
        for (int t = 1; t < 64; t++)
            wrong += x[t] != t - 1;
        ck_assert_msg((seed == 0) == (wrong == 0), "seed %d: %d wrong", (int)seed, wrong);
    }
}
END_TEST

START_TEST(copies_are_there_when_they_were_waited_for)
{
    _Alignas(16) uint16_t x[64 * 8], y[64];
    uint16_t *px = x, *py = y;
    int waits = 1, wrong = 0;
    for (int k = 0; k < 64 * 8; k++)
        x[k] = (uint16_t)(k + 1);
    for (uint64_t seed = 1; seed < 5; seed++) {
        emulator_seed(seed);
        run_well("copies", (emulator_shape){{1, 1, 1}, {64, 1, 1}, 0},
                 (void *[]){&px, &py, &waits});
        for (int t = 0; t < 64; t++)
            ck_assert_uint_eq(y[t], (t + 1) % 4 == 3 ? 0 : x[(t + 1) % 64 * 8]);
    }
    waits = 0;
    run_well("copies", (emulator_shape){{1, 1, 1}, {64, 1, 1}, 0},
             (void *[]){&px, &py, &waits});
    for (int t = 0; t < 64; t++)
        wrong += y[t] == 0xFFFF; /* poison */
    ck_assert_int_gt(wrong, 10);
}
END_TEST

START_TEST(matrices_come_by_rows_and_transposed)
{
    uint16_t x[8 * 64], *px = x;
    uint32_t y[32][8], *py = &y[0][0];
    int askew = _i;
    for (int k = 0; k < 8 * 64; k++)
        x[k] = (uint16_t)(k * 3);
    emulator_seed(1);
    const emulator_banks before = emulator_count_banks();
    run_well("matrices", (emulator_shape){{1, 1, 1}, {32, 1, 1}, 0},
             (void *[]){&px, &py, &askew});
    const emulator_banks after = emulator_count_banks();
    for (int lane = 0; lane < 32; lane++)
        for (int m = 0; m < 4; m++) {
            const uint16_t *row = x + lane / 4 * 64 + m * 8 + lane % 4 * 2;
            const uint16_t *column = x + lane % 4 * 2 * 64 + m * 8 + lane / 4;
            ck_assert_uint_eq(y[lane][m], row[0] | (uint32_t)row[1] << 16);
            ck_assert_uint_eq(y[lane][4 + m], column[0] | (uint32_t)column[64] << 16);
        }
    /* Rows below each other are all in the same four banks. */
    ck_assert_uint_eq(after.turns - before.turns, 8);
    ck_assert_uint_eq(after.conflicts - before.conflicts, askew ? 0 : 8 * 7);
}
END_TEST

static const struct fault {
    const char *kernel;
    uint32_t threads, shared;
    const char *text;
} faults[] = {
    {"some_leave", 64, 0,
     "some_leave, block (0, 0, 0): thread (41, 0, 0) leaves the kernel while thread (0, 0, 0) "
     "waits in __syncthreads at good_and_bad.cu:100"},
    {"two_barriers", 64, 0,
     "two_barriers, block (0, 0, 0): thread (32, 0, 0) waits in __syncthreads at "
     "good_and_bad.cu:110, but thread (0, 0, 0) waits in __syncthreads at good_and_bad.cu:108"},
    {"missing_partner", 32, 0,
     "missing_partner, block (0, 0, 0): thread (0, 0, 0) asks in __shfl_xor_sync for lane 16, "
     "which takes no part"},
    {"not_in_mask", 32, 0,
     "not_in_mask, block (0, 0, 0): thread (16, 0, 0) calls __shfl_xor_sync with the mask "
     "0x0000ffff, which leaves it out"},
    {"waits_for_ever", 32, 0,
     "waits_for_ever, block (0, 0, 0): thread (0, 0, 0) waits in __shfl_xor_sync at "
     "device.cuh:0 for thread (3, 0, 0), which waits in __syncthreads at good_and_bad.cu:131"},
    {"too_much_shared", 32, 0,
     "too_much_shared, block (0, 0, 0): it wants more than 48 KiB of static shared memory"},
    {"past_the_end", 32, 128,
     "past_the_end, block (0, 0, 0): it wrote past the end of its shared memory"},
    {"past_an_array", 32, 0,
     "past_an_array, block (0, 0, 0): it wrote past the end of its shared memory"},
    {"copy_askew", 32, 0,
     "copy_askew, block (0, 0, 0): thread (0, 0, 0): it copies from or to an address that is "
     "no "
     "multiple of the size"},
    {"matrices_from_afar", 32, 0,
     "matrices_from_afar, block (0, 0, 0): thread (0, 0, 0): it takes matrices from outside of "
     "shared memory"},
    {"race", 1025, 0, "race: a block has 1 to 1024 threads, at most 64 of them along z"},
    {"race", 32, 240000, "race: a block has at most 227 KiB of shared memory"},
};

/* Lines of headers may move. */
static void forget_line(char *text, const char *file)
{
    char *at = strstr(text, file);
    if (!at)
        return;
    at += strlen(file);
    char *end = at;
    (void)strtol(at, &end, 10);
    char rest[256];
    (void)snprintf(rest, sizeof rest, "0%s", end);
    memcpy(at, rest, strlen(rest) + 1);
}

START_TEST(each_fault_has_its_sentence)
{
    const struct fault *f = &faults[_i];
    _Alignas(16) float x[1100] = {0};
    float *p = x;
    char text[512];
    emulator_seed(0);
    run(f->kernel, (emulator_shape){{2, 1, 1}, {f->threads, 1, 1}, f->shared}, (void *[]){&p},
        text);
    forget_line(text, "device.cuh:");
    ck_assert_str_eq(text, f->text);
    /* and the next kernel runs */
    int counts[64] = {0}, *pcounts = counts;
    run_well("count_all", (emulator_shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&pcounts});
}
END_TEST

/* A million threads with a barrier each; where a switch is slow, every test of a kernel is. */
START_TEST(a_million_threads_take_seconds_at_most)
{
    static float x[1 << 20], sums[4096];
    float *px = x, *psums = sums;
    int n = 1 << 20;
    struct timespec from, to;
    emulator_seed(1);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    run_well("block_sums", (emulator_shape){{4096, 1, 1}, {256, 1, 1}, 0},
             (void *[]){&px, &psums, &n});
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    const double seconds =
        (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    printf("%.2f s\n", seconds);
    ck_assert_double_lt(seconds, 30.0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emulator");
    TCase *t = tcase_create("kernels");
    tcase_add_loop_test(t, blocks_add_up_with_shuffles_and_shared_memory, 0, 4);
    tcase_add_loop_test(t, every_thread_of_every_block_runs_once, 0, 4);
    tcase_add_loop_test(t, lanes_see_each_other_as_the_language_says, 0, 4);
    tcase_add_loop_test(t, parts_of_a_warp_go_their_own_ways, 0, 4);
    tcase_add_test(t, shared_memory_is_poison_in_every_block);
    tcase_add_test(t, vectors_load_and_store);
    tcase_add_loop_test(t, the_last_block_finds_what_the_others_left, 0, 4);
    tcase_add_test(t, a_race_shows_under_some_order);
    tcase_add_test(t, copies_are_there_when_they_were_waited_for);
    tcase_add_loop_test(t, matrices_come_by_rows_and_transposed, 0, 2);
    tcase_add_loop_test(t, each_fault_has_its_sentence, 0,
                        (int)(sizeof faults / sizeof *faults));
    tcase_add_test(t, a_million_threads_take_seconds_at_most);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
