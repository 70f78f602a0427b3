/* jsonl_test.c - the logger through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, images */
#include "run_check.h"
#include "tutti/stateful.h"

#include <png.h>
#include <stdio.h>
#include <unistd.h>

static stage run;
static subject it;
static char text[4096];

static const tutti_logger_v1 *open_it(const char *filename, int overwrite)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    if (filename)
        test_settings_path(&g, "filename", filename);
    else
        test_settings_null(&g, "filename");
    test_settings_null(&g, "remote_file_name");
    test_settings_bool(&g, "overwrite", overwrite);
    test_settings_int(&g, "flush_interval", 100);
    test_settings_bool(&g, "log_traces", 1);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "jsonl", &g, run.services, &err),
        err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

/* The file with the value of every leading "time" taken out. */
static const char *lines(void)
{
    char *to = text;
    (void)stage_file(&run, "log.jsonl", text, sizeof text);
    for (const char *from = text; *from;) {
        ck_assert_int_eq(strncmp(from, "{\"time\":", 8), 0);
        from = strchr(from, ',');
        ck_assert_ptr_nonnull(from);
        *to++ = '{';
        for (from++; *from && *from != '\n'; from++)
            *to++ = *from;
        *to++ = '\n';
        from += *from == '\n';
    }
    *to = '\0';
    return text;
}

START_TEST(each_item_is_an_object_on_a_line)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v[] = {{"loss/train/total", 0.1},
                                   {"a", 1.0 / 3.0},
                                   {"b", NAN},
                                   {"c", -INFINITY},
                                   {"d", 1e300}};
    const tutti_named_text h[] = {{"seed", "17"}, {"name", "\"x\""}};
    const tutti_trace trace = {.struct_size = sizeof trace,
                               .name = "mixup",
                               .event_name = "before_loss",
                               .step = 3,
                               .exit_code = TUTTI_EXIT_NONE,
                               .order = -1,
                               .duration_ns = 5};
    stage_init(&run);
    run.time.epoch = 2;
    const tutti_logger_v1 *table = open_it(NULL, 0);
    ck_assert_ok(table->hyperparameters(it.self, h, 2, &err), err);
    ck_assert_ok(table->metrics(it.self, v, 5, 7, &err), err);
    ck_assert_ok(table->trace(it.self, &trace, &err), err);
    ck_assert_ptr_nonnull(strstr(table->location(it.self), run.run_folder));
    ck_assert_ptr_nonnull(strstr(table->location(it.self), "/log.jsonl"));
    ck_assert_ok(table->message(it.self, TUTTI_LOG_ERROR, "train", "a \"b\"\\\n\001", &err),
                 err);
    const tutti_table answers = stage_a_table("answers");
    ck_assert_ok(table->table(it.self, &answers, 7, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert_str_eq(
        lines(),
        "{\"kind\":\"hyperparameters\",\"values\":{\"seed\":17,\"name\":\"x\"}}\n"
        "{\"kind\":\"metrics\",\"batch\":7,\"epoch\":2,\"values\":{\"loss/train/total\":0.1,"
        "\"a\":0.3333333333333333,\"b\":\"NaN\",\"c\":\"-Infinity\",\"d\":1e+300}}\n"
        "{\"kind\":\"trace\",\"key\":\"algorithm_traces/mixup/"
        "Event.BEFORE_LOSS\",\"batch\":3,\"algorithm\":\"mixup\",\"event\":\"before_loss\","
        "\"ran\":false,\"order\":-1,\"exit_code\":null,\"duration_ns\":5}\n"
        "{\"kind\":\"message\",\"level\":\"error\",\"component\":\"train\",\"text\":"
        "\"a \\\"b\\\"\\\\\\u000a\\u0001\"}\n"
        "{\"kind\":\"table\",\"batch\":7,\"name\":\"answers\",\"columns\":[\"sample\","
        "\"said\"],\"data\":[[0,\"a \\\"b\\\"\"],[1,[1,2.5]]]}\n");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* The bytes of the k-th text of base64 behind `key`; their number. */
static size_t base64_bytes(const char *line, const char *key, int k, unsigned char *ret)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strstr(line, key);
    size_t n = 0;
    unsigned bits = 0;
    ck_assert_ptr_nonnull(at);
    at += strlen(key);
    for (; k > 0; k--)
        at = strchr(at, ',') + 1;
    ck_assert_int_eq(*at++, '"');
    for (int have = 0; *at != '"'; at++) {
        const char *digit = strchr(digits, *at);
        if (*at == '=')
            continue;
        ck_assert_ptr_nonnull(digit);
        bits = bits << 6 | (unsigned)(digit - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            ret[n++] = (unsigned char)(bits >> have);
        }
    }
    return n;
}

/* That the PNG file has these pixels. */
static void png_is(const unsigned char *png, size_t size, unsigned format,
                   const unsigned char *want, size_t bytes)
{
    unsigned char pixels[64];
    png_image image = {.version = PNG_IMAGE_VERSION};
    ck_assert_int_ne(png_image_begin_read_from_memory(&image, png, size), 0);
    ck_assert_uint_eq(image.width, 2);
    ck_assert_uint_eq(image.height, 1);
    image.format = format;
    ck_assert_uint_eq(PNG_IMAGE_SIZE(image), bytes);
    ck_assert_int_ne(png_image_finish_read(&image, NULL, pixels, 0, NULL), 0);
    ck_assert_mem_eq(pixels, want, bytes);
}

START_TEST(images_are_png_files_with_their_classes)
{
    static float pixels[] = {0, 1, 0.5f, 2};
    static const int32_t map[] = {0, 1, 2, 0}, predicted[] = {1, 0}, expected[] = {1, -1};
    static const char *const names[] = {"a \"cat\"", "dog"};
    static const unsigned char grey[][2] = {{0, 255}, {127, 255}};
    static const unsigned char colours[] = {0, 128, 0, 0, 0, 0}; /* of classes 2 and 0 */
    unsigned char png[1024];
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_tensor t = {pixels, {{2, 1, 2, 1}, 4, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_image_mask mask = {"prediction", map};
    const tutti_images images = {.struct_size = sizeof images,
                                 .nmasks = 1,
                                 .name = "Images/Eval",
                                 .pixels = &t,
                                 .masks = &mask,
                                 .class_labels = names,
                                 .nlabels = 2,
                                 .predicted = predicted,
                                 .expected = expected};
    stage_init(&run);
    const tutti_logger_v1 *table = open_it(NULL, 0);
    ck_assert_ok(table->images(it.self, &images, 7, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    static const char begin[] =
        "{\"kind\":\"images\",\"batch\":7,\"name\":\"Images/Eval\",\"height\":1,\"width\":2,"
        "\"classes\":[\"a \\\"cat\\\"\",\"dog\"],\"predicted\":[1,0],\"expected\":[1,-1],"
        "\"images\":[\"iVBOR";
    const char *line = lines();
    ck_assert_int_eq(strncmp(line, begin, sizeof begin - 1), 0);
    for (int k = 0; k < 2; k++)
        png_is(png, base64_bytes(line, "\"images\":[", k, png), PNG_FORMAT_GRAY, grey[k], 2);
    png_is(png, base64_bytes(line, "\"masks\":{\"prediction\":[", 1, png), PNG_FORMAT_RGB,
           colours, 6);
    ck_assert_str_eq(line + strlen(line) - 5, "\"]}}\n");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(overwrite_starts_an_empty_file)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {"a", 1.0};
    stage_init(&run);
    for (int k = 0; k < 3; k++) {
        const tutti_logger_v1 *table = open_it(NULL, k == 1);
        ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
        ck_assert_ok(table->metrics(it.self, &v, 1, (uint64_t)k, &err), err);
        subject_close(&it);
    }
    ck_assert_str_eq(lines(),
                     "{\"kind\":\"metrics\",\"batch\":1,\"epoch\":0,\"values\":{\"a\":1}}\n"
                     "{\"kind\":\"metrics\",\"batch\":2,\"epoch\":0,\"values\":{\"a\":1}}\n");
    stage_fini(&run);
}
END_TEST

static void log_batches(uint64_t first, uint64_t end)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {"a", 1.0};
    const tutti_logger_v1 *table = subject_query(&it, TUTTI_LOGGER_V1);
    for (uint64_t k = first; k < end; k++)
        ck_assert_ok(table->metrics(it.self, &v, 1, k, &err), err);
    ck_assert_ok(table->sync(it.self, &err), err);
}

/* Its one item, as a checkpoint keeps it. */
static tutti_state_item mark(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_state_item item;
    uint32_t n = 0;
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    ck_assert_ok(table->items(it.self, NULL, 0, &n, &err), err);
    ck_assert_uint_eq(n, 1);
    ck_assert_ok(table->items(it.self, &item, 1, &n, &err), err);
    ck_assert_uint_eq(tutti_nbytes(&item.tensor.desc), 16);
    return item;
}

/* The batches of all lines in `name`. */
static const char *batches(const char *name)
{
    static char list[128], whole[4096];
    size_t n = 0;
    list[0] = '\0';
    (void)stage_file(&run, name, whole, sizeof whole);
    for (const char *at = whole; (at = strstr(at, "\"batch\":")); at++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%lld ", strtoll(at + 8, NULL, 10));
    return list;
}

START_TEST(a_resumed_run_goes_on_where_its_checkpoint_was)
{
    tutti_error err = TUTTI_ERROR_INIT;
    unsigned char saved[16];
    stage_init(&run);
    (void)open_it(NULL, 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_batches(0, 3);
    memcpy(saved, mark().tensor.data, sizeof saved);
    log_batches(3, 5); /* lost */
    subject_close(&it);
    (void)open_it(NULL, _i);
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    memcpy(mark().tensor.data, saved, sizeof saved);
    ck_assert_ok(table->restored(it.self, &err), err);
    ck_assert_str_eq(batches("log.jsonl"), "0 1 2 3 4 "); /* an evaluation cuts nothing */
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_batches(3, 6);
    subject_close(&it);
    ck_assert_str_eq(batches("log.jsonl"), "0 1 2 3 4 5 ");
    ck_assert_str_eq(batches("log.jsonl.undone"), "3 4 ");
    stage_fini(&run);
}
END_TEST

START_TEST(half_a_line_goes_where_nothing_is_left_to_train)
{
    tutti_error err = TUTTI_ERROR_INIT;
    unsigned char saved[16];
    char path[400];
    stage_init(&run);
    (void)open_it(NULL, 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_batches(0, 3);
    memcpy(saved, mark().tensor.data, sizeof saved);
    log_batches(3, 5); /* which have happened */
    subject_close(&it);
    (void)snprintf(path, sizeof path, "%s/log.jsonl", run.run_folder);
    FILE *f = fopen(path, "a");
    ck_assert_ptr_nonnull(f);
    static const char half[] = "{\0\0\"batch\":77}\n{\"batch\":78";
    ck_assert_uint_eq(fwrite(half, 1, sizeof half - 1, f), sizeof half - 1);
    (void)fclose(f);
    (void)open_it(NULL, 0);
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    memcpy(mark().tensor.data, saved, sizeof saved);
    ck_assert_ok(table->restored(it.self, &err), err);
    log_batches(5, 6);
    subject_close(&it);
    ck_assert_str_eq(batches("log.jsonl"), "0 1 2 3 4 5 ");
    stage_fini(&run);
}
END_TEST

START_TEST(a_log_that_the_checkpoint_does_not_know_is_not_cut)
{
    tutti_error err = TUTTI_ERROR_INIT;
    unsigned char saved[16];
    stage_init(&run);
    (void)open_it(NULL, 0);
    log_batches(0, 1);
    memcpy(saved, mark().tensor.data, sizeof saved);
    subject_close(&it);
    char path[400];
    (void)snprintf(path, sizeof path, "%s/log.jsonl", run.run_folder);
    ck_assert_int_eq(unlink(path), 0);
    (void)open_it(NULL, 0);
    log_batches(10, 15); /* of another run */
    subject_close(&it);
    (void)open_it(NULL, 0);
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    memcpy(mark().tensor.data, saved, sizeof saved);
    ck_assert_ok(table->restored(it.self, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_ptr_nonnull(strstr(run.noted, "is not the log that the checkpoint knows"));
    log_batches(1, 2);
    subject_close(&it);
    ck_assert_str_eq(batches("log.jsonl"), "10 11 12 13 14 1 ");
    stage_fini(&run);
}
END_TEST

START_TEST(a_full_disk_is_told_once)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {"a", 1.0};
    stage_init(&run);
    const tutti_logger_v1 *table = open_it("/dev/full", 0);
    ck_assert_ok(table->metrics(it.self, &v, 1, 1, &err), err);
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_EVAL_START, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO,
                    "jsonl: cannot write /dev/full: No space left on device; nothing more is "
                    "logged there");
    ck_assert_ok(table->metrics(it.self, &v, 1, 1, &err), err);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jsonl");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, each_item_is_an_object_on_a_line);
    tcase_add_test(tc, images_are_png_files_with_their_classes);
    tcase_add_loop_test(tc, a_resumed_run_goes_on_where_its_checkpoint_was, 0, 2);
    tcase_add_test(tc, half_a_line_goes_where_nothing_is_left_to_train);
    tcase_add_test(tc, a_log_that_the_checkpoint_does_not_know_is_not_cut);
    tcase_add_test(tc, overwrite_starts_an_empty_file);
    tcase_add_test(tc, a_full_disk_is_told_once);
    return tutti_run(suite);
}
