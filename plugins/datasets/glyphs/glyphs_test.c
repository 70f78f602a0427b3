/* glyphs_test.c - drawings are a function of seed, split and index, and look like digits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"
#include "tutti/isa.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PIXELS = 28 * 28 };

static shelf s;

static void open_of(const char *sample, int which, int64_t samples, int64_t seed, int test)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_int(&g, "samples", samples);
    test_settings_enum(&g, "split", test ? "test" : "train", test);
    test_settings_int(&g, "seed", seed);
    test_settings_float(&g, "noise", 0.1);
    test_settings_float(&g, "distortion", 1.0);
    test_settings_enum(&g, "sample", sample, which);
    test_settings_int(&g, "length", 4);
    ck_assert_ok(shelf_open(&s, "glyphs", &g, &err), err);
}

static void open_set(int64_t samples, int64_t seed, int test)
{
    open_of("single", 0, samples, seed, test);
}

static int32_t draw(int64_t index, uint8_t pixels[PIXELS])
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t label[PIXELS / 4];
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, label};
    ck_assert_ok(shelf_read(&s, index, t, data, PIXELS, &err), err);
    shelf_shape(&t[0].desc, "U8 (28, 28, 1)");
    shelf_shape(&t[1].desc, "I32 ()");
    return label[0];
}

START_TEST(a_drawing_has_ink_and_a_class)
{
    uint8_t pixels[PIXELS];
    int counts[10] = {0};
    open_set(2000, 0, 0);
    ck_assert_int_eq(s.info.samples, 2000);
    ck_assert_int_eq(s.info.columns[1].classes, 10);
    for (int64_t k = 0; k < 2000; k++) {
        int ink = 0;
        const int32_t label = draw(k, pixels);
        ck_assert(label >= 0 && label < 10);
        counts[label]++;
        for (int p = 0; p < PIXELS; p++)
            ink += pixels[p] > 128;
        ck_assert_int_gt(ink, 15);
        ck_assert_int_lt(ink, PIXELS / 2);
    }
    for (int k = 0; k < 10; k++)
        ck_assert_close(counts[k], 200, 60); /* more than four standard deviations */
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_drawing_depends_on_seed_split_and_index_alone)
{
    uint8_t first[PIXELS], again[PIXELS];
    open_set(10, 3, 0);
    (void)draw(7, first);
    (void)draw(2, again);
    ck_assert_mem_ne(first, again, PIXELS);
    (void)draw(7, again);
    ck_assert_mem_eq(first, again, PIXELS);
    subject_close(&s.subject);
    open_set(10000, 3, 0);
    (void)draw(7, again);
    ck_assert_mem_eq(first, again, PIXELS);
    subject_close(&s.subject);
    open_set(10, 4, 0);
    (void)draw(7, again);
    ck_assert_mem_ne(first, again, PIXELS);
    subject_close(&s.subject);
    open_set(10, 3, 1);
    (void)draw(7, again);
    ck_assert_mem_ne(first, again, PIXELS);
    subject_close(&s.subject);
}
END_TEST

/* Whether SIDE rows of `pixels`, `stride` from each other, have ink. */
static int has_ink(const uint8_t *pixels, int stride)
{
    int ink = 0;
    for (int k = 0; k < PIXELS; k++)
        ink += pixels[k / 28 * stride + k % 28] > 128;
    return ink > 15;
}

static void read_of(int64_t index, uint8_t *pixels, int32_t *target, tutti_tensor *t)
{
    tutti_error err = TUTTI_ERROR_INIT;
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, target};
    ck_assert_ok(shelf_read(&s, index, t, data, 4 * PIXELS, &err), err);
}

START_TEST(pairs_are_alike_or_not_and_triples_both)
{
    static uint8_t pixels[4 * PIXELS];
    static int32_t target[PIXELS];
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int alike = 0;
    open_of("pair", 1, 400, 0, 0);
    ck_assert_int_eq(s.info.columns[1].classes, 0);
    for (int64_t k = 0; k < 400; k++) {
        read_of(k, pixels, target, t);
        ck_assert(target[0] == 1 || target[0] == -1);
        alike += target[0] == 1;
        ck_assert(has_ink(pixels, 28) && has_ink(pixels + PIXELS, 28));
    }
    shelf_shape(&t[0].desc, "U8 (56, 28, 1)");
    shelf_shape(&t[1].desc, "I32 ()");
    ck_assert_close(alike, 200, 45);
    subject_close(&s.subject);
    open_of("triple", 2, 10, 0, 0);
    read_of(0, pixels, target, t);
    shelf_shape(&t[0].desc, "U8 (84, 28, 1)");
    for (int k = 0; k < 3; k++)
        ck_assert(has_ink(pixels + k * PIXELS, 28));
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_line_has_digits_from_the_left_and_their_classes)
{
    static uint8_t pixels[4 * PIXELS];
    static int32_t target[PIXELS];
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int lengths[5] = {0};
    open_of("line", 3, 200, 0, 0);
    ck_assert_int_eq(s.info.columns[1].classes, 10);
    for (int64_t k = 0; k < 200; k++) {
        int n = 0;
        read_of(k, pixels, target, t);
        while (n < 4 && target[n] >= 0)
            n++;
        lengths[n]++;
        for (int j = 0; j < 4; j++) {
            ck_assert(j < n ? target[j] < 10 : target[j] == -100);
            ck_assert_int_eq(has_ink(pixels + j * 28, 4 * 28), j < n);
        }
    }
    shelf_shape(&t[0].desc, "U8 (28, 112, 1)");
    shelf_shape(&t[1].desc, "I32 (4)");
    ck_assert_int_eq(lengths[0], 0);
    for (int n = 1; n <= 4; n++)
        ck_assert_int_gt(lengths[n], 20);
    subject_close(&s.subject);
}
END_TEST

START_TEST(what_is_not_there_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    uint8_t pixels[PIXELS];
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, pixels};
    open_set(10, 0, 0);
    ck_assert_int_eq(shelf_read(&s, 10, t, data, PIXELS, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "glyphs: sample 10, there are 10");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(shelf_read(&s, 0, t, data, 100, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "glyphs: too little room for a sample");
    subject_close(&s.subject);
}
END_TEST

enum { DRAWN = 40 };

/* What a process with kernels of that level draws; the level is chosen once a process. */
static void draw_by(const char *level, uint8_t all[DRAWN][PIXELS])
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        uint8_t pixels[PIXELS];
        (void)setenv("TUTTI_ISA", level, 1);
        open_set(DRAWN, 7, 0);
        for (int64_t k = 0; k < DRAWN; k++) {
            (void)draw(k, pixels);
            if (write(ends[1], pixels, sizeof pixels) != sizeof pixels)
                _exit(1);
        }
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    (void)close(ends[1]);
    size_t got = 0;
    ssize_t n = 1;
    for (; n > 0 && got<(size_t)DRAWN * PIXELS; got += n> 0 ? (size_t)n : 0)
        n = read(ends[0], &all[0][0] + got, (size_t)DRAWN * PIXELS - got);
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_uint_eq(got, (size_t)DRAWN * PIXELS);
}

/* Levels that this CPU lacks are its best one. */
START_TEST(each_instruction_set_draws_the_same)
{
    static const char *const levels[] = TUTTI_ISA_NAMES;
    static uint8_t base[DRAWN][PIXELS], other[DRAWN][PIXELS];
    draw_by("base", base);
    for (size_t k = 1; k < sizeof levels / sizeof *levels; k++) {
        draw_by(levels[k], other);
        ck_assert_mem_eq(base, other, sizeof base);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("glyphs");
    TCase *c = tcase_create("glyphs");
    tcase_add_test(c, a_drawing_has_ink_and_a_class);
    tcase_add_test(c, a_drawing_depends_on_seed_split_and_index_alone);
    tcase_add_test(c, each_instruction_set_draws_the_same);
    tcase_add_test(c, pairs_are_alike_or_not_and_triples_both);
    tcase_add_test(c, a_line_has_digits_from_the_left_and_their_classes);
    tcase_add_test(c, what_is_not_there_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
