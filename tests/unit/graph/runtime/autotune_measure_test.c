/* autotune_measure_test.c - how long algorithms are timed, and what happens where others have the processors meanwhile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "graph/runtime/autotune.h"
#include "graph/runtime/autotune_measure.h"
#include "toy_model.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* "copied": y = x in two algorithms, which take so many seconds: by sleeping, or by computing. */
static double takes[2];
static double more; /* seconds of the second one's first run beyond these */
static bool computes;
static int runs_of[2];

static const char *name(const tutti_op_call *c, uint32_t k)
{
    static const char *const names[] = {"slow", "fast", NULL};
    (void)c;
    return names[k];
}

static tutti_status prepare_algorithm(const tutti_op_call *c, uint32_t k, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    (void)c;
    *ret_scratch = 8;
    uint32_t *state = malloc(sizeof *state);
    if (!state)
        return tutti_fail(err, TUTTI_E_NOMEM, "copied: no memory");
    *state = k;
    *ret_state = state;
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    return prepare_algorithm(c, 0, ret_state, ret_scratch, err);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const uint32_t k = *(const uint32_t *)state;
    const double seconds = takes[k] + (k && !runs_of[k] ? more : 0.0);
    const struct timespec pause = {0, (long)(seconds * 1e9)};
    const double until = monotonic_s() + seconds;
    (void)scratch;
    runs_of[k]++;
    memcpy(out[0], in[0], tutti_nbytes(&c->in[0]));
    while (computes && monotonic_s() < until)
        continue;
    if (!computes)
        (void)nanosleep(&pause, NULL);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof cpu, 0, prepare, run, free};
static const tutti_algorithms algorithms = {sizeof algorithms, 0, name, prepare_algorithm,
                                            NULL};
static const tutti_op copied = {.struct_size = sizeof copied,
                                .name = "copied",
                                .nin_min = 1,
                                .nin_max = 1,
                                .nout = 1,
                                .cpu = &cpu,
                                .cpu_algorithms = &algorithms};

static autotune_result measure(double *left)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 8, 0, 0);
    const tutti_op_call c = {sizeof c, 1, 1, 1, &d, &d, NULL, &toy_step, NULL, NULL};
    memset(runs_of, 0, sizeof runs_of);
    return autotune_measure(&copied, &c, left);
}

/* Their trials tell as much as rounds. */
START_TEST(long_runs_get_few_rounds_and_one_when_the_time_is_over)
{
    double left = 1.0;
    takes[0] = 0.09; /* others that wait do not turn the two round */
    takes[1] = 0.05;
    autotune_result r = measure(&left);
    ck_assert(r.complete);
    ck_assert_uint_eq(r.algorithm, 1);
    ck_assert_int_le(runs_of[0], 3);
    ck_assert_double_lt(left, 1.0 - 0.13);
    left = 0.0;
    r = measure(&left);
    ck_assert_uint_eq(r.algorithm, 1);
    ck_assert_int_eq(runs_of[0], 2);
    ck_assert_int_eq(runs_of[1], 2);
    ck_assert_double_eq(left, 0.0);
}
END_TEST

START_TEST(of_runs_that_are_longer_still_one_is_enough_for_what_is_not_ahead)
{
    double left = 1.0;
    takes[0] = 0.06;
    takes[1] = 0.15;
    ck_assert_uint_eq(measure(&left).algorithm, 0);
    ck_assert_int_eq(runs_of[0], 1);
    ck_assert_int_eq(runs_of[1], 1);
    takes[0] = 0.15;
    takes[1] = 0.06;
    ck_assert_uint_eq(measure(&left).algorithm, 1);
    ck_assert_int_eq(runs_of[1], 2);
}
END_TEST

/* Of two rounds one would decide, and the time is over after them. */
START_TEST(one_run_that_was_disturbed_does_not_lose_what_is_ahead)
{
    double left = 0.0;
    takes[0] = 0.016;
    takes[1] = 0.008;
    more = 0.03;
    const autotune_result r = measure(&left);
    more = 0.0;
    ck_assert_uint_eq(r.algorithm, 1);
    ck_assert_int_eq(runs_of[1], 4);
}
END_TEST

/* ---- another one on this processor ---- */

/* A process that computes until it is killed, or this one has ended. */
static pid_t start_other(void)
{
    const pid_t parent = getpid(), child = fork();
    ck_assert_int_ge(child, 0);
    if (child)
        return child;
    while (getppid() == parent)
        continue;
    _exit(0);
}

static void end_other(pid_t child)
{
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

/* All threads of this process on the one processor where it is now. */
static void stay_here(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

/* How many lines the file of choices has then, and whether the tuner says that it has been disturbed. */
static int count_kept(const char *path, const char *tune, bool *ret_says)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 8, 0, 0);
    const tutti_op_call c = {sizeof c, 1, 1, 1, &d, &d, NULL, &toy_step, NULL, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    void *state;
    uint64_t scratch;
    const char *algorithm;
    int lines = 0;
    ck_assert_int_eq(tune ? setenv("TUTTI_TUNE", tune, 1) : unsetenv("TUTTI_TUNE"), 0);
    autotuner *t = autotuner_create(path);
    ck_assert_ptr_nonnull(t);
    memset(runs_of, 0, sizeof runs_of);
    for (int k = 0; k < 2; k++) {
        const int before = runs_of[0];
        ck_assert_ok(autotune_prepare(t, &copied, &c, &state, &scratch, &algorithm, &err), err);
        ck_assert_str_eq(algorithm, "fast");
        ck_assert(k == 0 || runs_of[0] == before); /* known to the run */
        free(state);
    }
    const char *says = autotuner_complaint(t);
    *ret_says = says && strstr(says, "other processes had the processors");
    ck_assert(!says || *ret_says);
    autotuner_destroy(t);
    FILE *file = fopen(path, "r");
    for (int byte; file && (byte = fgetc(file)) != EOF;)
        lines += byte == '\n';
    if (file)
        (void)fclose(file);
    return lines;
}

START_TEST(what_others_disturbed_is_used_and_not_kept)
{
    char folder[] = "/tmp/tutti-measure-XXXXXX", path[64], lock[80];
    bool says;
    double left = 1.0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/kernels", folder);
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    takes[0] = 0.1;
    takes[1] = 0.01;
    computes = true;
    stay_here();
    const pid_t other = start_other();
    ck_assert(measure(&left).disturbed);
    ck_assert_int_eq(count_kept(path, NULL, &says), 0);
    ck_assert(says);
    ck_assert_int_eq(count_kept(path, "1", &says), 2); /* a title and it */
    ck_assert(!says);
    end_other(other);
    ck_assert_int_eq(unlink(path) | unlink(lock) | rmdir(folder), 0);
}
END_TEST

/* Two processors in one second. */
START_TEST(threads_of_its_own_disturb_nobody)
{
    ck_assert(!autotune_disturbed(1.0, 0.0, 2.0, 2));
    ck_assert(!autotune_disturbed(1.0, 0.1, 1.6, 2)); /* others for a moment */
    ck_assert(!autotune_disturbed(1.0, 1.0, 2.0, 2)); /* three threads, one that loads data */
    ck_assert(autotune_disturbed(1.0, 0.7, 1.3, 2));  /* two, and another process */
    ck_assert(autotune_disturbed(1.0, 0.5, 0.5, 1));
    ck_assert(!autotune_disturbed(1.0, 0.1, 8.0, 16)); /* half of them for others */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("autotune_measure");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, long_runs_get_few_rounds_and_one_when_the_time_is_over);
    tcase_add_test(all, of_runs_that_are_longer_still_one_is_enough_for_what_is_not_ahead);
    tcase_add_test(all, one_run_that_was_disturbed_does_not_lose_what_is_ahead);
    tcase_add_test(all, what_others_disturbed_is_used_and_not_kept);
    tcase_add_test(all, threads_of_its_own_disturb_nobody);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
