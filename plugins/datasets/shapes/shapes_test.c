/* shapes_test.c - pictures are a function of seed, split and index, and maps say what is where. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

enum { SIDE = 40, PIXELS = SIDE * SIDE };

typedef struct picture {
    uint8_t pixels[PIXELS * 3];
    uint8_t reserved[PIXELS]; /* all columns have the same room */
    int32_t target[PIXELS];
} picture;

static shelf s;
static picture first, again;

static void open_set(const char *target, int64_t most, double noise, int test)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_int(&g, "samples", 1000);
    test_settings_int(&g, "size", SIDE);
    test_settings_int(&g, "shapes", most);
    test_settings_enum(&g, "target", target, strcmp(target, "labels") == 0);
    test_settings_enum(&g, "split", test ? "test" : "train", test);
    test_settings_int(&g, "seed", 3);
    test_settings_float(&g, "noise", noise);
    ck_assert_ok(shelf_open(&s, "shapes", &g, &err), err);
}

static void draw(int64_t index, picture *p, const char *target)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    void *const data[TUTTI_MAX_COLUMNS] = {p->pixels, p->target};
    ck_assert_ok(shelf_read(&s, index, t, data, sizeof p->target, &err), err);
    shelf_shape(&t[0].desc, "U8 (40, 40, 3)");
    shelf_shape(&t[1].desc, target);
}

/* Without noise a pixel has the colour of its shape or the ground: one colour a class where there is one shape. */
START_TEST(a_map_says_where_the_shape_is)
{
    open_set("classes", 1, 0.0, 0);
    ck_assert_int_eq(s.info.columns[1].classes, 4);
    for (int64_t k = 0; k < 200; k++) {
        const uint8_t *colour[4] = {NULL};
        int kinds = 0;
        draw(k, &first, "I32 (40, 40)");
        for (int p = 0; p < PIXELS; p++) {
            const int32_t c = first.target[p];
            ck_assert(c >= 0 && c < 4);
            if (!colour[c]) {
                colour[c] = first.pixels + p * 3;
                kinds++;
            }
            ck_assert_mem_eq(colour[c], first.pixels + p * 3, 3);
        }
        ck_assert_int_eq(kinds, 2);
        ck_assert_ptr_nonnull(colour[0]);
    }
    subject_close(&s.subject);
}
END_TEST

/* Areas as shares of the circle's square: pi, 2, and 3 sqrt(3) / 4 for a triangle; none is far outside. */
START_TEST(kinds_have_their_areas)
{
    static const double area[4] = {0.0, 3.1416, 2.0, 1.2990};
    double sums[4] = {0}, pictures[4] = {0};
    open_set("classes", 1, 0.0, 0);
    for (int64_t k = 0; k < 1000; k++) {
        int n[4] = {0};
        draw(k, &first, "I32 (40, 40)");
        for (int p = 0; p < PIXELS; p++)
            n[first.target[p]]++;
        const int kind = n[1] ? 1 : n[2] ? 2 : 3;
        sums[kind] += n[kind];
        pictures[kind] += 1.0;
    }
    for (int kind = 1; kind < 4; kind++) {
        ck_assert_close(pictures[kind], 333.0, 60.0); /* four standard deviations */
        /* the mean of the radius's square is 0.0588 of the side's; some hangs over the edge */
        ck_assert_close(sums[kind] / pictures[kind] / (area[kind] * 0.0588 * PIXELS), 0.95,
                        0.1);
    }
    subject_close(&s.subject);
}
END_TEST

START_TEST(labels_say_which_kinds_can_be_seen)
{
    float labels[3];
    for (int64_t k = 0; k < 200; k++) {
        float want[3] = {0.0f, 0.0f, 0.0f};
        open_set("classes", 4, 0.1, 0);
        draw(k, &first, "I32 (40, 40)");
        subject_close(&s.subject);
        open_set("labels", 4, 0.1, 0);
        ck_assert_int_eq(s.info.columns[1].classes, 0);
        draw(k, &again, "F32 (3)");
        subject_close(&s.subject);
        ck_assert_mem_eq(first.pixels, again.pixels, sizeof first.pixels);
        for (int p = 0; p < PIXELS; p++)
            if (first.target[p])
                want[first.target[p] - 1] = 1.0f;
        memcpy(labels, again.target, sizeof labels);
        for (int c = 0; c < 3; c++)
            ck_assert_float_eq(labels[c], want[c]);
    }
}
END_TEST

START_TEST(a_picture_depends_on_seed_split_and_index_alone)
{
    open_set("classes", 3, 0.1, 0);
    draw(5, &first, "I32 (40, 40)");
    draw(6, &again, "I32 (40, 40)");
    ck_assert_mem_ne(first.pixels, again.pixels, sizeof first.pixels);
    draw(5, &again, "I32 (40, 40)");
    ck_assert_mem_eq(first.pixels, again.pixels, sizeof first.pixels);
    ck_assert_mem_eq(first.target, again.target, sizeof first.target);
    subject_close(&s.subject);
    open_set("classes", 3, 0.1, 1);
    draw(5, &again, "I32 (40, 40)");
    ck_assert_mem_ne(first.pixels, again.pixels, sizeof first.pixels);
    subject_close(&s.subject);
}
END_TEST

START_TEST(samples_outside_and_small_room_are_refused)
{
    tutti_error outside = TUTTI_ERROR_INIT, small = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    void *const data[TUTTI_MAX_COLUMNS] = {first.pixels, first.target};
    open_set("classes", 1, 0.1, 0);
    ck_assert_int_eq(shelf_read(&s, 1000, t, data, PIXELS * 4, &outside), TUTTI_E_RANGE);
    ck_assert_error(outside, TUTTI_E_RANGE, "shapes: sample 1000, there are 1000");
    ck_assert_int_eq(shelf_read(&s, 0, t, data, PIXELS * 3, &small), TUTTI_E_RANGE);
    ck_assert_error(small, TUTTI_E_RANGE, "shapes: too little room for a sample");
    subject_close(&s.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes");
    TCase *t = tcase_create("shapes");
    tcase_add_test(t, a_map_says_where_the_shape_is);
    tcase_add_test(t, kinds_have_their_areas);
    tcase_add_test(t, labels_say_which_kinds_can_be_seen);
    tcase_add_test(t, a_picture_depends_on_seed_split_and_index_alone);
    tcase_add_test(t, samples_outside_and_small_room_are_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
