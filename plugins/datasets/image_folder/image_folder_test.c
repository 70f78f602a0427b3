/* image_folder_test.c - classes, order and forms of images in folders, and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1 */
#include "../picture_check.h"

#include <stdio.h>
#include <sys/stat.h>

static shelf s;
static test_settings g;
static tutti_error err;

static void settings(int grey, int vary)
{
    test_settings_init(&g);
    test_settings_path(&g, "path", s.folder);
    test_settings_enum(&g, "labels", "folders", 0);
    test_settings_null(&g, "class_file");
    test_settings_enum(&g, "channels", grey ? "grey" : "rgb", grey);
    test_settings_enum(&g, "sizes", vary ? "vary" : "probe", vary);
    test_settings_null(&g, "shrink");
}

static void save(const char *name, const picture *p)
{
    (void)shelf_file(&s, name, p->data, p->size);
}

static void folder(const char *name)
{
    ck_assert_int_eq(mkdir(shelf_path(&s, name), 0755), 0);
}

static void start(void)
{
    shelf_start(&s);
    err = (tutti_error)TUTTI_ERROR_INIT;
}

static void erase(void)
{
    folder_remove(s.folder);
}

/* Reads a sample; returns its class, -1 after an error. */
static int32_t sample(int64_t index, uint8_t *pixels, uint64_t capacity, tutti_desc *ret)
{
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t label = -1;
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, &label};
    err = (tutti_error)TUTTI_ERROR_INIT;
    if (shelf_read(&s, index, t, data, capacity, &err))
        return -1;
    *ret = t[0].desc;
    return label;
}

START_TEST(classes_and_samples_come_in_order)
{
    static const struct {
        const char *name;
        int32_t label;
        int seed;
    } files[] = {{"cat/a.png", 0, 1},
                 {"cat/b.JPG", 0, 2},
                 {"cat/more/c.jpeg", 0, 3},
                 {"dog/0.png", 1, 4},
                 {"dog/00.png", 1, 5}};
    uint8_t pixels[8 * 8 * 3];
    tutti_desc d;
    folder("dog");
    folder("cat");
    folder("cat/more");
    folder(".hidden");
    for (int k = 4; k >= 0; k--) {
        const picture p = strstr(files[k].name, "png") ? picture_png(8, 8, 3, files[k].seed)
                                                       : picture_jpeg(8, 8, 3, files[k].seed);
        save(files[k].name, &p);
    }
    (void)shelf_file(&s, "cat/notes.txt", "no image", 8);
    (void)shelf_file(&s, "cat/._a.png", "no image", 8);
    (void)shelf_file(&s, "readme.md", "no class", 8);
    settings(0, 0);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 5);
    ck_assert_uint_eq(s.info.ncolumns, 2);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    ck_assert_str_eq(s.info.columns[1].name, "target");
    ck_assert_int_eq(s.info.columns[1].classes, 2);
    shelf_shape(&s.info.columns[0].desc, "U8 (8, 8, 3)");
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_str_eq(names->name(s.subject.self, NULL, 0), "cat");
    ck_assert_str_eq(names->name(s.subject.self, "target", 1), "dog");
    ck_assert_ptr_null(names->name(s.subject.self, NULL, 2));
    ck_assert_ptr_null(names->name(s.subject.self, "input", 0));
    for (int64_t k = 0; k < 5; k++) {
        ck_assert_int_eq(sample(k, pixels, 8 * 8 * 3, &d), files[k].label);
        shelf_shape(&d, "U8 (8, 8, 3)");
        for (int i = 0; i < 64; i++)
            for (int c = 0; c < 3; c++)
                ck_assert_close(pixels[3 * i + c],
                                picture_pixel(i / 8, i % 8, c, files[k].seed),
                                strstr(files[k].name, "png") ? 0 : 4);
    }
    ck_assert_int_eq(sample(5, pixels, 8 * 8 * 3, &d), -1);
    ck_assert_error(err, TUTTI_E_RANGE, "image_folder: sample 5, there are 5");
    subject_close(&s.subject);
}
END_TEST

START_TEST(all_images_become_colour_or_grey)
{
    uint8_t pixels[6 * 5 * 3];
    tutti_desc d;
    folder("x");
    for (int k = 1; k <= 4; k++) {
        char name[16];
        const picture p = picture_png(6, 5, k, 0);
        (void)snprintf(name, sizeof name, "x/%d.png", k);
        save(name, &p);
    }
    for (int grey = 0; grey < 2; grey++) {
        settings(grey, 0);
        ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
        shelf_shape(&s.info.columns[0].desc, grey ? "U8 (6, 5, 1)" : "U8 (6, 5, 3)");
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(sample(k, pixels, 6 * 5 * 3, &d), 0);
            for (int i = 0; i < 30; i++) {
                const uint8_t r = picture_pixel(i / 5, i % 5, 0, 0);
                /* colours lie 30 and 60 above red: 0.587 * 30 + 0.114 * 60 in grey */
                if (grey)
                    ck_assert_close(pixels[i], k < 2 ? r : r + 24.45, k < 2 ? 0 : 0.5);
                for (int c = 0; c < 3 && !grey; c++)
                    ck_assert_int_eq(pixels[3 * i + c], k < 2 ? r : r + 30 * c);
            }
        }
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(inks_become_colours)
{
    uint8_t pixels[8 * 8 * 3];
    tutti_desc d;
    const picture p = picture_jpeg(8, 8, 4, 0);
    folder("x");
    save("x/inks.jpg", &p);
    settings(0, 0);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    ck_assert_int_eq(sample(0, pixels, 8 * 8 * 3, &d), 0);
    for (int i = 0; i < 64; i++)
        for (int c = 0; c < 3; c++) /* inverted: ink times black */
            ck_assert_close(pixels[3 * i + c],
                            picture_pixel(i / 8, i % 8, c, 0) *
                                picture_pixel(i / 8, i % 8, 3, 0) / 255.0,
                            4);
    subject_close(&s.subject);
}
END_TEST

START_TEST(large_jpegs_may_shrink)
{
    static const int64_t cases[][3] = {{26, 33, 25}, {13, 17, 26 / 2}, {7, 9, 7}, {4, 5, 1}};
    uint8_t pixels[26 * 33 * 3];
    tutti_desc d;
    const picture p = picture_jpeg(26, 33, 3, 0);
    folder("x");
    save("x/a.jpg", &p);
    for (size_t k = 0; k < 4; k++) {
        const int64_t *c = cases[k], by = 1 << k;
        settings(0, 0);
        test_settings_int(&g, "shrink", c[2]);
        ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
        ck_assert_int_eq(sample(0, pixels, sizeof pixels, &d), 0);
        ck_assert(tutti_same_shape(&d, &s.info.columns[0].desc));
        ck_assert_int_eq(d.dim[0], c[0]);
        ck_assert_int_eq(d.dim[1], c[1]);
        /* a pixel is the mean of the square that it stands for */
        ck_assert_close(pixels[0], picture_pixel(0, 0, 0, 0) + 4.0 * (double)(by - 1), 5);
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(sizes_may_differ)
{
    uint8_t pixels[10 * 10 * 3];
    tutti_desc d;
    const picture a = picture_png(6, 5, 3, 0), b = picture_png(6, 9, 3, 0);
    folder("x");
    save("x/a.png", &a);
    save("x/b.png", &b);
    settings(0, 0);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    shelf_shape(&s.info.columns[0].desc, "U8 (6, -1, 3)");
    ck_assert_int_eq(sample(1, pixels, 300, &d), 0);
    shelf_shape(&d, "U8 (6, 9, 3)");
    ck_assert_int_eq(sample(1, pixels, 160, &d), -1);
    ck_assert_ptr_nonnull(
        strstr(err.text, "/x/b.png: U8 (6, 9, 3) does not fit into 160 bytes"));
    subject_close(&s.subject);
    settings(0, 1);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    shelf_shape(&s.info.columns[0].desc, "U8 (-1, -1, 3)");
    subject_close(&s.subject);
}
END_TEST

/* Reading sample `index` fails with this sentence, where "$" stands for the folder. */
static void sample_refused(int64_t index, tutti_status status, const char *sentence)
{
    uint8_t pixels[1024];
    char want[256];
    tutti_desc d;
    ck_assert_int_eq(sample(index, pixels, 1024, &d), -1);
    (void)snprintf(want, sizeof want, "%s%s", s.folder, sentence + 1);
    ck_assert_error(err, status, want);
}

START_TEST(an_image_unlike_those_probed_is_refused)
{
    const picture a = picture_png(6, 5, 3, 0), b = picture_png(7, 5, 3, 0);
    folder("x");
    for (int k = 0; k < 32; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x/%02d.png", k);
        save(name, k == 3 ? &b : &a); /* every second is probed */
    }
    settings(0, 0);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    sample_refused(3, TUTTI_E_SHAPE,
                   "$/x/03.png: is U8 (7, 5, 3), others are U8 (6, 5, 3); set sizes to vary");
    subject_close(&s.subject);
}
END_TEST

START_TEST(broken_images_are_named)
{
    const picture a = picture_png(6, 5, 3, 0), b = picture_jpeg(8, 8, 3, 0);
    folder("x");
    for (int k = 0; k < 64; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x/%02d.png", k);
        save(name, &a);
    }
    (void)shelf_file(&s, "x/01.png", "GIF89a", 6);
    (void)shelf_file(&s, "x/02.png", "", 0);
    (void)shelf_file(&s, "x/03.png", a.data, a.size - 20);
    (void)shelf_file(&s, "x/05.png", b.data, b.size - 20);
    (void)shelf_file(&s, "x/07.png", "\xff\xd8\xff\xd9", 4);
    settings(0, 1);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    sample_refused(1, TUTTI_E_FORMAT, "$/x/01.png: is neither a JPEG nor a PNG");
    sample_refused(2, TUTTI_E_FORMAT, "$/x/02.png: is empty or no regular file");
    sample_refused(3, TUTTI_E_FORMAT, "$/x/03.png: the PNG is cut off: its end is missing");
    sample_refused(5, TUTTI_E_FORMAT, "$/x/05.png: Premature end of JPEG file");
    sample_refused(7, TUTTI_E_FORMAT, "$/x/07.png: has tables and no image");
    ck_assert_int_eq(remove(shelf_path(&s, "x/06.png")), 0);
    sample_refused(6, TUTTI_E_IO, "$/x/06.png: No such file or directory");
    subject_close(&s.subject);
}
END_TEST

START_TEST(folders_that_are_no_set_are_refused)
{
    settings(0, 0);
    shelf_refused(&s, "image_folder", &g, TUTTI_E_FORMAT,
                  "$: holds no folders, want one for each class");
    folder("cat");
    shelf_refused(&s, "image_folder", &g, TUTTI_E_FORMAT,
                  "$/cat: holds no .jpg, .jpeg or .png files");
    (void)shelf_file(&s, "cat/a.png", "GIF89a", 6);
    shelf_refused(&s, "image_folder", &g, TUTTI_E_FORMAT,
                  "$/cat/a.png: is neither a JPEG nor a PNG");
    test_settings_path(&g, "path", shelf_path(&s, "nowhere"));
    shelf_refused(&s, "image_folder", &g, TUTTI_E_IO, "$/nowhere: No such file or directory");
}
END_TEST

START_TEST(images_without_classes_come_in_order_of_their_paths)
{
    static const char *const names[] = {"a.png", "b/0.png", "c.png"};
    uint8_t pixels[8 * 8 * 3];
    tutti_desc d;
    settings(0, 0);
    test_settings_enum(&g, "labels", "none", 1);
    shelf_refused(&s, "image_folder", &g, TUTTI_E_FORMAT,
                  "$: holds no .jpg, .jpeg or .png files");
    folder("b");
    for (int k = 2; k >= 0; k--) {
        const picture p = picture_png(8, 8, 3, k);
        save(names[k], &p);
    }
    (void)shelf_file(&s, "notes.txt", "no image", 8);
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 3);
    ck_assert_int_eq(s.info.columns[1].classes, 0);
    for (int64_t k = 0; k < 3; k++) {
        ck_assert_int_eq(sample(k, pixels, sizeof pixels, &d), -100);
        ck_assert_int_eq(pixels[0], picture_pixel(0, 0, 0, (int)k));
    }
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_file_may_say_the_classes)
{
    static const int32_t labels[] = {2, 0};
    uint8_t pixels[8 * 8 * 3];
    tutti_desc d;
    const picture p = picture_png(8, 8, 3, 0);
    folder("cat");
    folder("dog");
    save("cat/a.png", &p);
    save("dog/a.png", &p);
    (void)shelf_file(&s, "classes.txt", "dog\r\nbee\ncat\n", 13);
    settings(0, 0);
    test_settings_path(&g, "class_file", shelf_path(&s, "classes.txt"));
    ck_assert_ok(shelf_open(&s, "image_folder", &g, &err), err);
    ck_assert_int_eq(s.info.columns[1].classes, 3);
    for (int64_t k = 0; k < 2; k++)
        ck_assert_int_eq(sample(k, pixels, sizeof pixels, &d), labels[k]);
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_str_eq(names->name(s.subject.self, "target", 0), "dog");
    ck_assert_str_eq(names->name(s.subject.self, "target", 1), "bee");
    ck_assert_ptr_null(names->name(s.subject.self, "target", 3));
    subject_close(&s.subject);
    folder("eel");
    save("eel/a.png", &p);
    ck_assert_int_eq(shelf_open(&s, "image_folder", &g, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/eel: is no class of "));
    ck_assert_ptr_nonnull(strstr(err.text, "/classes.txt"));
    test_settings_enum(&g, "labels", "none", 1);
    shelf_refused(&s, "image_folder", &g, TUTTI_E_ARG,
                  "image_folder: class_file is given and labels is none, want one of them");
}
END_TEST

START_TEST(a_loop_of_links_is_refused)
{
    folder("cat");
    ck_assert_int_eq(symlink(".", shelf_path(&s, "cat/again")), 0);
    settings(0, 0);
    ck_assert_int_eq(shelf_open(&s, "image_folder", &g, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/again: lies more than 32 folders deep"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image_folder");
    TCase *c = tcase_create("image_folder");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, classes_and_samples_come_in_order);
    tcase_add_test(c, all_images_become_colour_or_grey);
    tcase_add_test(c, inks_become_colours);
    tcase_add_test(c, large_jpegs_may_shrink);
    tcase_add_test(c, sizes_may_differ);
    tcase_add_test(c, an_image_unlike_those_probed_is_refused);
    tcase_add_test(c, broken_images_are_named);
    tcase_add_test(c, folders_that_are_no_set_are_refused);
    tcase_add_test(c, images_without_classes_come_in_order_of_their_paths);
    tcase_add_test(c, a_file_may_say_the_classes);
    tcase_add_test(c, a_loop_of_links_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
