/* upstream_test.c - sets that MosaicML Streaming wrote, in all its formats and compressions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_check.h"
#include "set_check.h"
#include "upstream_sets.h"

#include <openssl/evp.h>

enum { SAMPLES = 5, FILES = sizeof upstream_files / sizeof *upstream_files };

static char folder[FOLDER_SIZE];

static void write_file(const char *name, const char *text)
{
    static unsigned char data[1 << 14];
    char path[160];
    const size_t size = strlen(text);
    ck_assert_uint_le(size, sizeof data);
    const int n = EVP_DecodeBlock(data, (const unsigned char *)text, (int)size);
    ck_assert_int_ge(n, 0);
    const int padding = (text[size - 1] == '=') + (text[size - 2] == '=');
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, (size_t)(n - padding), f), (size_t)(n - padding));
    ck_assert_int_eq(fclose(f), 0);
}

static void write_set(const char *set)
{
    folder_make(folder);
    for (size_t k = 0; k < FILES; k++)
        if (strcmp(upstream_files[k].set, set) == 0)
            write_file(upstream_files[k].file, upstream_files[k].text);
}

static void open_upstream(const char *set, const char *input)
{
    tutti_error err = TUTTI_ERROR_INIT;
    write_set(set);
    ck_assert_ok(open_path(folder, input, 0, 0, &err), err);
    ck_assert_int_eq(info.samples, SAMPLES);
}

static void erase(void)
{
    folder_remove(folder);
    folder[0] = '\0';
}

/* Input and target of a sample; the target is an i32. */
static int32_t read_both(int64_t index, void *data, uint64_t room)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[2];
    int32_t target[2];
    void *const to[2] = {data, target};
    ck_assert_ok(read_into(index, t, to, room, &err), err);
    return target[0];
}

/* Whether this build is without the library of the set's compression: then it says so. */
static int is_left_out(const char *set, const char *input)
{
    static const struct {
        const char *kind, *package;
        int is_here;
    } libraries[] = {{".br", "libbrotli-dev", MDS_HAS_BROTLI},
                     {".bz2", "libbz2-dev", MDS_HAS_BZIP2},
                     {".snappy", "libsnappy-dev", MDS_HAS_SNAPPY}};
    const char *kind = strchr(set, '.');
    for (size_t k = 0; kind && k < sizeof libraries / sizeof *libraries; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        char end[64];
        if (strcmp(kind, libraries[k].kind) != 0 || libraries[k].is_here)
            continue;
        write_set(set);
        ck_assert_int_eq(open_path(folder, input, 0, 0, &err), TUTTI_E_UNSUPPORTED);
        (void)snprintf(end, sizeof end, "(Debian's %s)", libraries[k].package);
        ck_assert_ptr_nonnull(strstr(err.text, end));
        folder_remove(folder);
        return 1;
    }
    return 0;
}

START_TEST(every_compression_of_binary_shards_is_read)
{
    static const char *const sets[] = {"mds",    "mds.br",     "mds.bz2",
                                       "mds.gz", "mds.snappy", "mds.zstd"};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        if (is_left_out(sets[k], NULL))
            continue;
        target_column = "label";
        open_upstream(sets[k], NULL);
        assert_shape(&info.columns[0].desc, "F32 (2, 3)");
        ck_assert_int_eq(info.columns[1].classes, 3);
        for (int64_t n = 0; n < SAMPLES; n++) {
            float x[6];
            ck_assert_int_eq(read_both(n, x, sizeof x), (int)n % 3);
            for (int j = 0; j < 6; j++)
                ck_assert_close(x[j], (double)(j + n), 0.0);
        }
        subject_close(&it);
        erase();
    }
}
END_TEST

START_TEST(every_format_of_text_is_read)
{
    static const char *const sets[] = {"json.gz", "csv", "tsv.zstd", "xsv.snappy"};
    static const int32_t names[SAMPLES] = {0, 1, 0, 2, 1};
    target_column = "name";
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        if (is_left_out(sets[k], "value"))
            continue;
        open_upstream(sets[k], "value");
        assert_shape(&info.columns[0].desc, "F32 ()");
        ck_assert_int_eq(info.columns[1].classes, 3);
        for (int64_t n = 0; n < SAMPLES; n++) {
            float value;
            ck_assert_int_eq(read_both(n, &value, sizeof value), names[n]);
            ck_assert_close(value, (double)n / 4 - 0.5, 0.0);
        }
        subject_close(&it);
        open_upstream(sets[k], "name");
        assert_shape(&info.columns[0].desc, "U8 (3)");
        char name[8];
        (void)read_both(3, name, sizeof name);
        ck_assert_mem_eq(name, "cat", 3);
        subject_close(&it);
        erase();
    }
}
END_TEST

START_TEST(ragged_columns_are_read)
{
    static const char *const inputs[] = {"x", "raw", "doc"};
    static const char *const shapes[] = {"I16 (-1)", "U8 (-1)", "U8 (8)"};
    for (int k = 0; k < 3; k++) {
        target_column = "label";
        open_upstream("ragged", inputs[k]);
        assert_shape(&info.columns[0].desc, shapes[k]);
        for (int64_t n = 0; n < SAMPLES; n++) {
            uint8_t raw[16];
            int16_t x[8];
            ck_assert_int_eq(read_both(n, raw, sizeof raw), (int)n);
            memcpy(x, raw, sizeof raw);
            for (int j = 0; k == 0 && j <= n; j++)
                ck_assert_int_eq(x[j], j);
            for (int j = 0; k == 1 && j < n; j++)
                ck_assert_int_eq(raw[j], j);
            if (k == 2)
                ck_assert_int_eq(raw[6], '0' + (int)n);
        }
        subject_close(&it);
        erase();
    }
}
END_TEST

START_TEST(tokens_are_language_model_data)
{
    static const char *const sets[] = {"tokens16", "tokens32.gz", "tokensb"};
    for (int k = 0; k < 3; k++) {
        open_upstream(sets[k], NULL);
        ck_assert_uint_eq(info.ncolumns, 2);
        for (int c = 0; c < 2; c++) {
            ck_assert_str_eq(info.columns[c].name, c ? "target" : "input");
            ck_assert_int_eq(info.columns[c].classes, 41);
            assert_shape(&info.columns[c].desc, "I32 (8)");
        }
        for (int64_t n = 0; n < SAMPLES; n++) {
            tutti_error err = TUTTI_ERROR_INIT;
            tutti_tensor t[2];
            int32_t input[8], target[8];
            void *const to[2] = {input, target};
            ck_assert_ok(read_into(n, t, to, sizeof input, &err), err);
            for (int j = 0; j < 8; j++) {
                ck_assert_int_eq(input[j], j * ((int)n + 1));
                ck_assert_int_eq(target[j], (j + 1) * ((int)n + 1));
            }
        }
        subject_close(&it);
        erase();
    }
}
END_TEST

START_TEST(tokens_are_cut_and_checked)
{
    tutti_error err = TUTTI_ERROR_INIT;
    length = 4;
    open_upstream("tokens16", NULL);
    assert_shape(&info.columns[0].desc, "I32 (4)");
    ck_assert_int_eq(info.columns[0].classes, 41);
    subject_close(&it);
    length = 9;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(folder, NULL, 0, 0, &err), err);
    tutti_tensor t[2];
    int32_t input[9], target[9];
    void *const to[2] = {input, target};
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(read_into(1, t, to, sizeof input, &err), TUTTI_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(
        err.text, "/shard.00000.mds: sample 1: column tokens: has 9 tokens, want at least 10"));
    subject_close(&it);
    length = 0;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(folder, NULL, 40, 0, &err), err);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(read_into(4, t, to, sizeof input, &err), TUTTI_E_RANGE);
    ck_assert_ptr_nonnull(
        strstr(err.text, "sample 4: column tokens: token 8 is 40, want 0 to 39"));
    subject_close(&it);
    erase();
    token_type = "uint16";
    write_set("tokensb");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(folder, NULL, 0, 0, &err), err);
    assert_shape(&info.columns[0].desc, "I32 (35)");
    subject_close(&it);
}
END_TEST

START_TEST(labels_come_in_the_order_of_a_file)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char path[128];
    float value;
    target_column = "name";
    write_set("csv");
    (void)snprintf(path, sizeof path, "%s/labels.txt", folder);
    labels = path;
    write_file("labels.txt", "Y2F0CmJlZQphbnQKZG9nCg=="); /* cat bee ant dog */
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(folder, "value", 0, 0, &err), err);
    ck_assert_int_eq(info.columns[1].classes, 4);
    ck_assert_int_eq(read_both(0, &value, sizeof value), 2);
    ck_assert_int_eq(read_both(3, &value, sizeof value), 0);
    const tutti_class_names_v1 *names = subject_query(&it, TUTTI_CLASS_NAMES_V1);
    ck_assert_ptr_nonnull(names);
    ck_assert_str_eq(names->name(it.self, NULL, 2), "ant");
    ck_assert_str_eq(names->name(it.self, "target", 0), "cat");
    ck_assert_ptr_null(names->name(it.self, "input", 0));
    ck_assert_ptr_null(names->name(it.self, NULL, 4));
    subject_close(&it);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(folder, "value", 3, 0, &err), TUTTI_E_ARG);
    ck_assert_ptr_nonnull(
        strstr(err.text, "/labels.txt: column name has 4 labels, classes says 3"));
    write_file("labels.txt", "Y2F0CmJlZQpjYXQK"); /* cat bee cat */
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(folder, "value", 0, 0, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/labels.txt: the label cat stands there twice"));
    write_file("labels.txt", "Y2F0Cg=="); /* cat */
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(folder, "value", 0, 0, &err), err);
    tutti_tensor t[2];
    int32_t target;
    void *const to[2] = {&value, &target};
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(read_into(1, t, to, sizeof value, &err), TUTTI_E_RANGE);
    ck_assert_ptr_nonnull(strstr(err.text, "sample 1: column name: there is no label \"bee\""));
    subject_close(&it);
}
END_TEST

/* Puts `text` for the first `old` in a file. */
static void change_file(const char *name, const char *old, const char *text)
{
    static char data[1 << 14];
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    const size_t n = fread(data, 1, sizeof data - 1, f);
    data[n] = '\0';
    char *at = strstr(data, old);
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(fseek(f, at - data, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(text, 1, strlen(text), f), strlen(text));
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(faults_of_lines_are_told)
{
    static const struct {
        const char *old, *text, *sentence;
    } cases[] = {
        {"bee,-0.25", "b,e,-0.25", "sample 1: its line has more than 3 columns"},
        {",bee", ".bee", "sample 1: its line has fewer than 3 columns"},
        {"-0.25\n", "-0.255", "sample 1: its line does not end where the next one begins"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        write_set("csv");
        verify = 0;
        change_file("shard.00000.csv", cases[k].old, cases[k].text);
        ck_assert_int_eq(open_path(folder, "value", 0, 0, &err), TUTTI_E_FORMAT);
        ck_assert_msg(strstr(err.text, cases[k].sentence) != NULL, "%s", err.text);
        verify = 1;
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_int_eq(open_path(folder, "value", 0, 0, &err), TUTTI_E_FORMAT);
        ck_assert_msg(strstr(err.text, "/shard.00000.csv: its sha1 is ") != NULL, "%s",
                      err.text);
        erase();
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mds_upstream");
    TCase *c = tcase_create("mds_upstream");
    tcase_add_checked_fixture(c, NULL, erase);
    tcase_add_test(c, every_compression_of_binary_shards_is_read);
    tcase_add_test(c, every_format_of_text_is_read);
    tcase_add_test(c, ragged_columns_are_read);
    tcase_add_test(c, tokens_are_language_model_data);
    tcase_add_test(c, tokens_are_cut_and_checked);
    tcase_add_test(c, labels_come_in_the_order_of_a_file);
    tcase_add_test(c, faults_of_lines_are_told);
    suite_add_tcase(s, c);
    return tutti_run(s);
}
