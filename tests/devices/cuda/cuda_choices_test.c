/* cuda_choices_test.c - products and convolutions take what was measured to be the fastest, and keep it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_check.h"
#include "op_table.h"
#include "tutti/op.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

/* The stand-in for cuBLASLt names three algorithms; of these the second is the fastest by far, and the
 * one that it names first when it is asked for one alone.  That for cuDNN has engines with three tiles, of
 * which the second is the fastest. */

static char cache[] = "/tmp/tutti_choices_XXXXXX";
static char path[64];
static const char *settings = "leaks=1"; /* of the stand-in */
static char last[512];                   /* convolution of the latest plan */

static int drop(const char *file, const struct stat *s, int flag, struct FTW *f)
{
    (void)s, (void)flag, (void)f;
    return remove(file);
}

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(cache));
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", cache, 1), 0);
    ck_assert_int_eq(setenv("TUTTI_TUNE", "1", 1), 0);
    (void)snprintf(path, sizeof path, "%s/tutti/kernels", cache);
}

static void end(void)
{
    (void)nftw(cache, drop, 8, FTW_DEPTH | FTW_PHYS);
    (void)strcpy(cache, "/tmp/tutti_choices_XXXXXX");
}

static const tutti_op *find_op(const char *name)
{
    const tutti_op *const *op = tutti_op_table;
    while (*op && strcmp((*op)->name, name) != 0)
        op++;
    ck_assert_ptr_nonnull(*op);
    return *op;
}

static void read_last_convolution(void)
{
    char line[sizeof last];
    FILE *f = fopen(trace_path, "re");
    ck_assert_ptr_nonnull(f);
    *last = 0;
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "cudnnBackendExecute", 19) == 0)
            (void)strcpy(last, line);
    (void)fclose(f);
}

/* A plan's node of two inputs is prepared on a new device, and run once; how many calls of `library` were
 * made. */
static int calls_of_a_plan(const tutti_op *op, const void *attr, const tutti_desc in[2],
                           const tutti_desc *out, const char *library)
{
    tutti_device d = open_cuda(settings);
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_op_call c = {sizeof c, 2, 1, 1, in, out, attr, NULL, d.table->cuda(d.device),
                             NULL};
    void *state = NULL;
    uint64_t scratch = 0;
    ck_assert_ok(op->cuda->prepare(&c, &state, &scratch, &err), err);
    void *a = take(&d, tutti_nbytes(&in[0])), *b = take(&d, tutti_nbytes(&in[1]));
    void *y = take(&d, tutti_nbytes(out)), *room = take(&d, scratch);
    const void *const ins[] = {a, b};
    void *const outs[] = {y};
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = op->name,
                            .run = op->cuda->run,
                            .state = state,
                            .call = &c,
                            .in = ins,
                            .out = outs,
                            .scratch = room};
    ck_assert_ok(d.table->launch(d.device, NULL, &l, &err), err);
    wait_for(&d);
    op->cuda->destroy(state);
    d.table->release(d.device, a);
    d.table->release(d.device, b);
    d.table->release(d.device, y);
    d.table->release(d.device, room);
    const int n = traced(library);
    read_last_convolution();
    close_cuda(&d);
    return n;
}

static int products_of_a_plan(int64_t rows)
{
    const int64_t attr[8] = {0};
    const tutti_op *op = find_op("matmul");
    const tutti_desc in[2] = {{{rows, 8}, 2, TUTTI_F32}, {{8, 16}, 2, TUTTI_F32}};
    const tutti_desc out = {{rows, 16}, 2, TUTTI_F32};
    ck_assert_uint_le(op->attr_size, sizeof attr);
    return calls_of_a_plan(op, attr, in, &out, "cublasLtMatmul");
}

/* Those by an engine with a tile, "2.1", or by any, "". */
static int convolutions_of_a_plan(int64_t images, const char *by)
{
    char call[64] = "cudnnBackendExecute 1 operations of type 10 by ";
    int64_t attr[32] = {0};
    const tutti_op *op = find_op("conv2d");
    const tutti_desc in[2] = {{{images, 5, 5, 8}, 4, TUTTI_F32}, {{8, 3, 3, 8}, 4, TUTTI_F32}};
    const tutti_desc out = {{images, 3, 3, 8}, 4, TUTTI_F32};
    ck_assert_uint_le(op->attr_size, sizeof attr);
    for (uint64_t k = 0; k < op->nfields; k++)
        if (strcmp(op->fields[k].name, "groups") == 0)
            attr[op->fields[k].offset / sizeof *attr] = 1;
    return calls_of_a_plan(op, attr, in, &out, strcat(call, by));
}

/* Of the kept choice. */
static void read_line(char *line, int size)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, size, file));
    ck_assert_str_eq(line, "tutti kernel choices 1\n");
    ck_assert_ptr_nonnull(fgets(line, size, file));
    (void)fclose(file);
}

static void write_line(const char *line)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(fprintf(file, "tutti kernel choices 1\n%s", line), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(the_fastest_of_the_first_algorithms_is_kept_for_later_runs)
{
    char line[1024];
    begin();
    ck_assert_int_gt(products_of_a_plan(4), 3); /* some to measure, one to run */
    read_line(line, sizeof line);
    ck_assert_ptr_nonnull(strstr(line, "Stand-in GPU: cublasLt 130000 product 4 x 16 x 8, "));
    ck_assert_int_eq(products_of_a_plan(4), 1);
    ck_assert_int_gt(products_of_a_plan(5), 3); /* another shape */
    end();
}
END_TEST

/* There is memory for the product, and none to measure it with. */
START_TEST(what_could_not_be_measured_is_not_kept)
{
    begin();
    settings = "leaks=1,memory=131072";
    ck_assert_int_eq(products_of_a_plan(4), 1);
    ck_assert_int_eq(convolutions_of_a_plan(4, ""), 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    end();
}
END_TEST

START_TEST(a_cudnn_for_another_cuda_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    void *symbol = NULL;
    ck_assert_int_eq(setenv("TUTTI_CUDA_CUDNN", "12080", 1), 0);
    tutti_device d = open_cuda("leaks=1");
    const tutti_cuda_v1 *cuda = d.table->cuda(d.device);
    ck_assert_int_eq(cuda->symbol(cuda->ctx, "cudnn", "cudnnCreate", &symbol, &err),
                     TUTTI_E_VERSION);
    ck_assert_str_eq(err.text, "libcudnn.so.9 is made for CUDA 12, the runtime is of CUDA 13");
    close_cuda(&d);
}
END_TEST

/* Byte 24 of an algorithm of the stand-in is its number. */
START_TEST(the_file_decides_also_against_the_clock)
{
    char line[1024];
    begin();
    (void)products_of_a_plan(4);
    read_line(line, sizeof line);
    char *number = strchr(line, '\t');
    ck_assert_ptr_nonnull(number);
    number += 1 + (ptrdiff_t)2 * 24;
    ck_assert_mem_eq(number, "01", 2);
    memcpy(number, "02", 2);
    write_line(line);
    ck_assert_int_eq(products_of_a_plan(4), 1);
    read_line(line, sizeof line);
    ck_assert_mem_eq(strchr(line, '\t') + 1 + (ptrdiff_t)2 * 24, "02", 2);
    end();
}
END_TEST

START_TEST(a_choice_that_the_library_does_not_know_is_left_aside)
{
    char line[1024];
    begin();
    (void)products_of_a_plan(4);
    read_line(line, sizeof line);
    char *choice = strchr(line, '\t');
    ck_assert_ptr_nonnull(choice);
    choice[1] = choice[1] == '7' ? '8' : '7';
    write_line(line);
    ck_assert_int_eq(products_of_a_plan(4), 1);
    end();
}
END_TEST

START_TEST(nothing_is_measured_where_nothing_is_to_be)
{
    begin();
    ck_assert_int_eq(setenv("TUTTI_TUNE", "0", 1), 0);
    ck_assert_int_eq(products_of_a_plan(4), 1);
    ck_assert_ptr_null(fopen(path, "r"));
    end();
}
END_TEST

START_TEST(the_fastest_engine_is_kept_for_later_runs)
{
    char line[1024];
    begin();
    ck_assert_int_gt(convolutions_of_a_plan(2, ""), 3);
    read_line(line, sizeof line);
    ck_assert_str_eq(line,
                     "Stand-in GPU: cuDNN 91900 convolution forward 2 x 5 x 5 x 8, 8 of 3 x 3, "
                     "groups 1, stride 1 1, padding 0 0, dilation 1 1, F32\t2 2=1\n");
    ck_assert_int_eq(convolutions_of_a_plan(2, ""), 1);
    ck_assert_int_eq(convolutions_of_a_plan(2, "2.1"), 1);
    ck_assert_int_gt(convolutions_of_a_plan(3, ""), 3); /* another shape */
    end();
}
END_TEST

/* What stands in the file, and how often it is what runs: one run, without measuring. */
static const struct {
    const char *choice, *by;
} kept[] = {
    {"2 2=2", "2.2"},  {"2", "2.0"},        /* slower ones too; without knobs */
    {"1 2=1", "2.0"},  {"0 2=1", "2.0"},    /* what rounds or is unsteady is refused */
    {"3 2=1", "2.0"},  {"2 3=1", "2.0"},    /* there is no such engine, no such knob */
    {"2 2=", "2.0"},   {"engine 2", "2.0"}, /* no names at all */
    {"2 2=1x", "2.0"}, {"2 2=99999", "2.0"},
};

START_TEST(the_file_decides_on_engines_where_they_are_allowed)
{
    char line[1024];
    begin();
    (void)convolutions_of_a_plan(2, "");
    read_line(line, sizeof line);
    char *choice = strchr(line, '\t');
    ck_assert_ptr_nonnull(choice);
    (void)snprintf(choice + 1, 64, "%s\n", kept[_i].choice);
    write_line(line);
    ck_assert_int_eq(convolutions_of_a_plan(2, ""), 1);
    ck_assert_int_eq(convolutions_of_a_plan(2, kept[_i].by), 1);
    end();
}
END_TEST

START_TEST(no_engine_is_measured_where_nothing_is_to_be)
{
    begin();
    ck_assert_int_eq(setenv("TUTTI_TUNE", "0", 1), 0);
    ck_assert_int_eq(convolutions_of_a_plan(2, "2.0"), 1);
    ck_assert_int_eq(convolutions_of_a_plan(2, ""), 1);
    ck_assert_ptr_null(fopen(path, "r"));
    end();
}
END_TEST

/* A later run would measure anew, and could find another.  A file is where the folder of choices would be. */
static void block_choices(void)
{
    char in_the_way[64];
    (void)snprintf(in_the_way, sizeof in_the_way, "%s/tutti", cache);
    FILE *file = fopen(in_the_way, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
}

/* The library's first is "2.0", the fastest "2.1". */
START_TEST(what_cannot_be_kept_is_not_taken)
{
    begin();
    (void)convolutions_of_a_plan(2, "");
    ck_assert_ptr_nonnull(strstr(last, " by 2.1"));
    end();
    begin();
    block_choices();
    ck_assert_int_gt(convolutions_of_a_plan(2, ""), 3); /* measured */
    ck_assert_ptr_nonnull(strstr(last, " by 2.0"));
    end();
}
END_TEST

int main(void)
{
    if (on_a_gpu()) {
        (void)puts("skipped: it is about what the stand-ins of cuBLASLt and cuDNN have");
        return 77;
    }
    Suite *s = suite_create("cuda choices");
    TCase *t = tcase_create("cublasLt");
    tcase_add_test(t, the_fastest_of_the_first_algorithms_is_kept_for_later_runs);
    tcase_add_test(t, what_could_not_be_measured_is_not_kept);
    tcase_add_test(t, a_cudnn_for_another_cuda_is_refused);
    tcase_add_test(t, the_file_decides_also_against_the_clock);
    tcase_add_test(t, a_choice_that_the_library_does_not_know_is_left_aside);
    tcase_add_test(t, nothing_is_measured_where_nothing_is_to_be);
    suite_add_tcase(s, t);
    t = tcase_create("cudnn");
    tcase_add_test(t, the_fastest_engine_is_kept_for_later_runs);
    tcase_add_loop_test(t, the_file_decides_on_engines_where_they_are_allowed, 0,
                        (int)(sizeof kept / sizeof *kept));
    tcase_add_test(t, no_engine_is_measured_where_nothing_is_to_be);
    tcase_add_test(t, what_cannot_be_kept_is_not_taken);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
