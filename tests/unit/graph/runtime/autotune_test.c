/* autotune_test.c - choosing among the algorithms of an operation, and what the file of choices does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/autotune.h"
#include "toy_model.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* "twice": y = 2 x in four algorithms.  The first takes its time, "wrong" errs, "never" cannot. */
static int runs, runs_of[4];
static bool fails;     /* the first one does not run */
static uint32_t lacks; /* this one has no memory; 0: all have */

static const char *name(const tutti_op_call *c, uint32_t k)
{
    static const char *const names[] = {"slow 1.0", "fast 1.0", "wrong 1.0", "never 1.0", NULL};
    return tutti_numel(&c->in[0]) ? names[k] : k ? NULL : names[0];
}

static tutti_status prepare_algorithm(const tutti_op_call *c, uint32_t k, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    if (lacks && k == lacks)
        return tutti_fail(err, TUTTI_E_NOMEM, "twice: no memory");
    if (k == 3)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "twice: not this algorithm");
    uint32_t *state = malloc(sizeof *state);
    if (!state)
        return tutti_fail(err, TUTTI_E_NOMEM, "twice: no memory");
    *state = k;
    *ret_state = state;
    *ret_scratch = 128;
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
    const uint32_t algorithm = *(const uint32_t *)state;
    const struct timespec pause = {0, 20 * 1000 * 1000};
    const float *x = in[0];
    const uint16_t *half = in[0];
    float *y = out[0];
    runs++;
    runs_of[algorithm]++;
    if (fails && algorithm == 0)
        return TUTTI_E_FAIL;
    memset(scratch, 0, 128);
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        if (c->in[0].dtype == TUTTI_F32)
            y[k] = algorithm == 2 ? 2.001f * x[k] : 2.0f * x[k];
        else /* the next exponent; the right one is a last bit off, the wrong one three */
            ((uint16_t *)out[0])[k] =
                (uint16_t)(half[k] + 128 + (algorithm == 2 ? 3 : algorithm));
    if (algorithm == 0)
        (void)nanosleep(&pause, NULL);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof cpu, 0, prepare, run, free};
static tutti_status prepare_reproducible(const tutti_op_call *c, void **ret_state,
                                         uint64_t *ret_scratch, tutti_error *err)
{
    return prepare_algorithm(c, 1, ret_state, ret_scratch, err);
}
static const tutti_algorithms algorithms = {sizeof algorithms, 0, name, prepare_algorithm,
                                            prepare_reproducible};
static const tutti_op twice = {.struct_size = sizeof twice,
                               .name = "twice",
                               .nin_min = 1,
                               .nin_max = 1,
                               .nout = 1,
                               .cpu = &cpu,
                               .cpu_algorithms = &algorithms};
static const tutti_op promised = {.struct_size = sizeof promised,
                                  .flags = TUTTI_OP_REPRODUCIBLE,
                                  .name = "promised",
                                  .nin_min = 1,
                                  .nin_max = 1,
                                  .nout = 1,
                                  .cpu = &cpu,
                                  .cpu_algorithms = &algorithms};
static const tutti_op simple = {.struct_size = sizeof simple,
                                .name = "simple",
                                .nin_min = 1,
                                .nin_max = 1,
                                .nout = 1,
                                .cpu = &cpu};

static char folder[64], path[128];

static void enter(void)
{
    ck_assert_int_eq(setenv("TUTTI_TUNE", "1", 1), 0); /* other tests run beside this one */
    (void)snprintf(folder, sizeof folder, "/tmp/tutti-tune-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/deep/kernels", folder);
    runs = 0;
    memset(runs_of, 0, sizeof runs_of);
    fails = false;
    lacks = 0;
}

static void leave(void)
{
    char name_[160];
    static const char *const files[] = {"deep/kernels", "deep/kernels.lock", "deep", ""};
    for (int k = 0; k < 4; k++) {
        (void)snprintf(name_, sizeof name_, "%s/%s", folder, files[k]);
        ck_assert(remove(name_) == 0 || k < 3);
    }
}

/* The name of the algorithm that is taken for `rows` rows; `t` may be NULL. */
static const char *taken_of(autotuner *t, const tutti_op *op, int32_t dtype, int64_t rows)
{
    const tutti_desc d = toy_desc(dtype, 2, rows, 8, 0, 0);
    const tutti_op_call c = {sizeof c, 1, 1, 2, &d, &d, NULL, &toy_step, NULL, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    void *state = NULL;
    uint64_t scratch = 0;
    const char *algorithm = NULL;
    ck_assert_ok(autotune_prepare(t, op, &c, &state, &scratch, &algorithm, &err), err);
    ck_assert_ptr_nonnull(state);
    ck_assert_uint_eq(scratch, 128);
    ck_assert_str_eq(algorithm ? algorithm : "slow 1.0", name(&c, *(const uint32_t *)state));
    free(state);
    return algorithm;
}

static const char *taken(autotuner *t, const tutti_op *op, int64_t rows)
{
    return taken_of(t, op, TUTTI_F32, rows);
}

static const char *taken_alone(int64_t rows)
{
    autotuner *t = autotuner_create(path);
    ck_assert_ptr_nonnull(t);
    const char *algorithm = taken(t, &twice, rows);
    ck_assert_ptr_null(autotuner_complaint(t));
    autotuner_destroy(t);
    return algorithm;
}

/* Whole text of the file; static. */
static const char *file_text(void)
{
    static char text[1024];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* In the file, `from` becomes `to`, as long. */
static void edit_file(const char *from, const char *to)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", file_text());
    char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    memcpy(at, to, strlen(to));
    write_file(text);
}

START_TEST(a_choice_is_measured_once_and_kept)
{
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    const int measured = runs;
    ck_assert_int_gt(measured, 3);
    ck_assert_ptr_nonnull(strstr(file_text(), ", 2 threads, algorithms "));
    ck_assert_ptr_nonnull(strstr(file_text(), ": twice F32 (4, 8)\tfast 1.0\n"));
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    ck_assert_int_eq(runs, measured);
    ck_assert_str_eq(taken_alone(5), "fast 1.0"); /* another shape */
    ck_assert_int_gt(runs, measured);
    ck_assert_ptr_nonnull(strstr(file_text(), "twice F32 (4, 8)\tfast 1.0\n"));
}
END_TEST

START_TEST(what_is_far_behind_gets_one_round)
{
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    ck_assert_int_eq(runs_of[0], 2); /* its trial and a round */
    ck_assert_int_eq(runs_of[1], 2); /* nothing is left to beat */
}
END_TEST

/* Another run, with what the first one lacked, finds the fastest. */
START_TEST(a_measurement_that_failed_is_not_kept)
{
    fails = true;
    ck_assert_str_eq(taken_alone(4), "slow 1.0");
    ck_assert_int_ne(access(path, F_OK), 0);
    fails = false;
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    ck_assert_ptr_nonnull(strstr(file_text(), "twice F32 (4, 8)\tfast 1.0\n"));
}
END_TEST

START_TEST(nor_one_that_an_algorithm_had_no_memory_for)
{
    lacks = 1;
    ck_assert_str_eq(taken_alone(4), "slow 1.0");
    ck_assert_int_ne(access(path, F_OK), 0);
    lacks = 0;
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
}
END_TEST

/* Within a run, whose bits are promised, it stays with what it took. */
START_TEST(a_run_takes_the_same_after_a_measurement_that_failed)
{
    autotuner *t = autotuner_create(path);
    ck_assert_ptr_nonnull(t);
    fails = true;
    ck_assert_str_eq(taken(t, &twice, 4), "slow 1.0");
    fails = false;
    ck_assert_str_eq(taken(t, &twice, 4), "slow 1.0");
    char *choices = autotuner_choices(t);
    ck_assert_ptr_nonnull(choices);
    ck_assert_ptr_nonnull(strstr(choices, "twice F32 (4, 8)\tslow 1.0\n"));
    free(choices);
    autotuner_destroy(t);
}
END_TEST

/* Numbers that round to other neighbours agree; all zeros would agree with everything. */
START_TEST(algorithms_of_bf16_are_measured_too)
{
    autotuner *t = autotuner_create(path);
    ck_assert_ptr_nonnull(t);
    ck_assert_str_eq(taken_of(t, &twice, TUTTI_BF16, 4), "fast 1.0");
    autotuner_destroy(t);
}
END_TEST

START_TEST(the_file_decides)
{
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    edit_file("fast", "slow");
    ck_assert_str_eq(taken_alone(4), "slow 1.0");
}
END_TEST

/* What a run chose stays, whatever the file says by then. */
START_TEST(fixed_choices_go_before_the_file)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char kept[200];
    autotuner *then = autotuner_create(path);
    ck_assert_str_eq(taken(then, &twice, 4), "fast 1.0");
    ck_assert_uint_eq(autotuner_missing(then), 0);
    char *choices = autotuner_choices(then);
    ck_assert_ptr_nonnull(choices);
    ck_assert_ptr_nonnull(strstr(choices, ": twice F32 (4, 8)\tfast 1.0\n"));
    (void)snprintf(kept, sizeof kept, "%s/deep/kept", folder);
    ck_assert_ok(autotuner_keep(then, kept, &err), err);
    ck_assert_str_eq(taken(then, &twice, 5), "fast 1.0"); /* later, and beside the text */
    autotuner_destroy(then);
    edit_file("(4, 8)\tfast", "(4, 8)\tslow");
    edit_file("(5, 8)\tfast", "(5, 8)\tslow");
    const int before = runs;
    for (int measures = 0; measures < 2; measures++) {
        autotuner *t = autotuner_create(measures ? path : NULL);
        ck_assert_ok(autotuner_fix(t, choices, &err), err);
        ck_assert_ok(autotuner_fix_file(t, kept, &err), err);
        ck_assert_str_eq(taken(t, &twice, 4), "fast 1.0");
        ck_assert_str_eq(taken(t, &twice, 5), "fast 1.0");
        ck_assert_uint_eq(autotuner_missing(t), 0);
        ck_assert_str_eq(taken(t, &twice, 6), measures ? "fast 1.0" : "slow 1.0");
        ck_assert_uint_eq(autotuner_missing(t), 1);
        ck_assert_ptr_null(autotuner_complaint(t));
        ck_assert(measures || runs == before);
        autotuner_destroy(t);
    }
    free(choices);
    ck_assert_int_eq(unlink(kept), 0);
}
END_TEST

START_TEST(lines_that_are_no_choices_are_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    autotuner *t = autotuner_create(NULL);
    ck_assert_int_eq(autotuner_fix(t, "a\tb\nno tab\n", &err), TUTTI_E_FORMAT);
    ck_assert_str_eq(err.text, "\"no tab\" is no choice of a kernel");
    autotuner_destroy(t);
}
END_TEST

START_TEST(the_first_of_two_processes_decides_for_both)
{
    autotuner *late = autotuner_create(path);
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    edit_file("fast", "slow");
    ck_assert_str_eq(taken(late, &twice, 4), "slow 1.0");
    ck_assert_ptr_null(autotuner_complaint(late));
    autotuner_destroy(late);
}
END_TEST

START_TEST(the_algorithms_of_another_version_are_measured_again)
{
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    edit_file("fast 1.0", "fast 0.9");
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    ck_assert_ptr_nonnull(strstr(file_text(), "(4, 8)\tfast 1.0\n"));
    ck_assert_ptr_null(strstr(file_text(), "0.9"));
}
END_TEST

static const struct {
    const char *text, *why;
} broken[] = {
    {"", "it is empty; the file is left aside"},
    {"{}\n", "line 1 is no choice of a kernel; the file is left aside"},
    {"tutti kernel choices 1\na\tb\nno tab\n",
     "line 3 is no choice of a kernel; the file is left aside"},
    {"tutti kernel choices 1\nkey\t\n",
     "line 2 is no choice of a kernel; the file is left aside"},
    {"tutti kernel choices 1\nkey\tcut o",
     "line 2 is no choice of a kernel; the file is left aside"},
};

START_TEST(a_broken_file_is_told_once_and_replaced)
{
    char want[256];
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    write_file(broken[_i].text);
    autotuner *t = autotuner_create(path);
    (void)snprintf(want, sizeof want, "%s: %s", path, broken[_i].why);
    ck_assert_str_eq(autotuner_complaint(t), want);
    ck_assert_ptr_null(autotuner_complaint(t));
    ck_assert_str_eq(taken(t, &twice, 4), "fast 1.0");
    ck_assert_ptr_null(autotuner_complaint(t));
    autotuner_destroy(t);
    ck_assert_ptr_nonnull(strstr(file_text(), "tutti kernel choices 1\n"));
    ck_assert_ptr_nonnull(strstr(file_text(), "(4, 8)\tfast 1.0\n"));
}
END_TEST

START_TEST(a_named_pipe_is_told_and_stays)
{
    char want[256];
    struct stat st;
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    autotuner *t = autotuner_create(path); /* which does not wait for a writer */
    (void)snprintf(want, sizeof want, "%s: is a named pipe, want a regular file", path);
    ck_assert_str_eq(autotuner_complaint(t), want);
    ck_assert_str_eq(taken(t, &twice, 5), "slow 1.0");
    autotuner_destroy(t);
    ck_assert(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}
END_TEST

START_TEST(a_link_to_the_file_stays)
{
    char there[160];
    struct stat st;
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    (void)snprintf(there, sizeof there, "%s/elsewhere", folder);
    ck_assert_int_eq(rename(path, there), 0);
    ck_assert_int_eq(symlink("../elsewhere", path), 0);
    ck_assert_str_eq(taken_alone(5), "fast 1.0");
    ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    ck_assert_ptr_nonnull(strstr(file_text(), "(5, 8)\tfast 1.0\n"));
    ck_assert_int_eq(unlink(there), 0);
}
END_TEST

START_TEST(what_cannot_be_kept_is_not_chosen)
{
    char want[256];
    ck_assert_str_eq(taken_alone(4), "fast 1.0");
    (void)snprintf(path, sizeof path, "%s/deep/kernels/below/kernels", folder);
    autotuner *t = autotuner_create(path);
    (void)autotuner_complaint(t);
    autotuner_destroy(t);
    t = autotuner_create(path);
    ck_assert_str_eq(taken(t, &twice, 5), "slow 1.0");
    (void)snprintf(want, sizeof want, "%s: Not a directory", path);
    ck_assert_str_eq(autotuner_complaint(t), want);
    autotuner_destroy(t);
}
END_TEST

START_TEST(where_bits_are_to_be_equal_anywhere_that_way_is_taken_or_the_operation_refused)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 8, 0, 0);
    const tutti_op_call c = {sizeof c, 1, 1, 2, &d, &d, NULL, &toy_step, NULL, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    void *state = NULL;
    uint64_t scratch = 0;
    const char *algorithm = NULL;
    autotuner *t = autotuner_create(path);
    ck_assert_ok(autotuner_admit(t, &twice, &err), err);
    autotuner_reproduce(t);
    ck_assert_ok(autotuner_admit(t, &promised, &err), err);
    ck_assert_ok(autotune_prepare(t, &promised, &c, &state, &scratch, &algorithm, &err), err);
    ck_assert_str_eq(algorithm, "reproducible");
    ck_assert_uint_eq(*(const uint32_t *)state, 1);
    ck_assert_int_eq(runs, 0);
    free(state);
    ck_assert_int_eq(autotuner_admit(t, &twice, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "twice: its kernel promises no equal bits on other CPUs, which "
                    "\"deterministic\": \"anywhere\" wants; \"machine\" does without");
    autotuner_destroy(t);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(where_there_is_nothing_to_choose_nothing_is_measured)
{
    autotuner *t = autotuner_create(path);
    ck_assert_str_eq(taken(NULL, &twice, 4), "slow 1.0");
    ck_assert_ptr_null(taken(t, &simple, 4));
    ck_assert_str_eq(taken(t, &twice, 0), "slow 1.0");
    ck_assert_int_eq(runs, 0);
    ck_assert_ptr_null(autotuner_complaint(t));
    autotuner_destroy(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, enter, leave);
    tcase_add_test(all, a_choice_is_measured_once_and_kept);
    tcase_add_test(all, what_is_far_behind_gets_one_round);
    tcase_add_test(all, a_measurement_that_failed_is_not_kept);
    tcase_add_test(all, nor_one_that_an_algorithm_had_no_memory_for);
    tcase_add_test(all, a_run_takes_the_same_after_a_measurement_that_failed);
    tcase_add_test(all, algorithms_of_bf16_are_measured_too);
    tcase_add_test(all, the_file_decides);
    tcase_add_test(all, fixed_choices_go_before_the_file);
    tcase_add_test(all, lines_that_are_no_choices_are_refused);
    tcase_add_test(all, the_first_of_two_processes_decides_for_both);
    tcase_add_test(all, the_algorithms_of_another_version_are_measured_again);
    tcase_add_loop_test(all, a_broken_file_is_told_once_and_replaced, 0,
                        sizeof broken / sizeof *broken);
    tcase_add_test(all, a_named_pipe_is_told_and_stays);
    tcase_add_test(all, a_link_to_the_file_stays);
    tcase_add_test(all, what_cannot_be_kept_is_not_chosen);
    tcase_add_test(
        all, where_bits_are_to_be_equal_anywhere_that_way_is_taken_or_the_operation_refused);
    tcase_add_test(all, where_there_is_nothing_to_choose_nothing_is_measured);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
