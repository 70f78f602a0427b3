/* webdataset_test.c - tar shards of every kind of header, names with braces, and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* tutti.class_names/1, tutti.stored/1, tutti.sample_groups/1 */
#include "../picture_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static shelf s;
static test_settings g;
static tutti_error err;

/* A tar file under construction. */
typedef struct tar {
    uint8_t data[1 << 17];
    size_t size;
} tar;
static tar t;

enum { POSIX, GNU, OLD };

static void tar_block(const void *data, size_t size)
{
    const size_t padded = (size + 511) / 512 * 512;
    ck_assert_uint_le(t.size + padded, sizeof t.data);
    memset(t.data + t.size, 0, padded);
    if (size)
        memcpy(t.data + t.size, data, size);
    t.size += padded;
}

static void tar_seal(uint8_t *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int k = 0; k < 512; k++)
        sum += header[k];
    (void)snprintf((char *)header + 148, 8, "%06o", sum);
}

static void tar_entry(int kind, char type, const char *prefix, const char *name,
                      const void *data, size_t size)
{
    uint8_t h[512] = {0};
    memcpy(h, name, strnlen(name, 100));
    (void)snprintf((char *)h + 124, 12, "%011o", (unsigned)size);
    h[156] = (uint8_t)type;
    static const char posix[8] = {'u', 's', 't', 'a', 'r', 0, '0', '0'};
    static const char gnu[8] = {'u', 's', 't', 'a', 'r', ' ', ' ', 0};
    if (kind == POSIX || kind == GNU)
        memcpy(h + 257, kind == POSIX ? posix : gnu, sizeof posix);
    if (prefix)
        memcpy(h + 345, prefix, strlen(prefix) + 1);
    tar_seal(h);
    tar_block(h, sizeof h);
    if (type != '5' && type != '2')
        tar_block(data, size);
}

static void tar_text(const char *name, const char *text)
{
    tar_entry(POSIX, '0', NULL, name, text, strlen(text));
}

static void tar_picture(const char *name, int seed)
{
    const picture p = picture_png(6, 5, 3, seed);
    tar_entry(POSIX, '0', NULL, name, p.data, p.size);
}

static void tar_end(const char *name)
{
    static const uint8_t zero[1024];
    tar_block(zero, sizeof zero);
    (void)shelf_file(&s, name, t.data, t.size);
    t.size = 0;
}

static void settings(const char *path, const char *target)
{
    static const char *const inputs[] = {"jpg", "png"};
    test_settings_init(&g);
    test_settings_path(&g, "path", shelf_path(&s, path));
    test_settings_strings(&g, "inputs", inputs, 2);
    test_settings_null(&g, "target");
    if (target)
        test_settings_string(&g, "target", target);
    test_settings_string(&g, "input_key", "value");
    test_settings_null(&g, "unpack_folder");
    test_settings_string(&g, "target_key", "label");
    test_settings_null(&g, "labels");
    test_settings_null(&g, "cache_folder");
    test_settings_int(&g, "classes", 0);
    test_settings_enum(&g, "channels", "rgb", 0);
    test_settings_enum(&g, "sizes", "probe", 0);
    test_settings_null(&g, "shrink");
}

static void start(void)
{
    shelf_start(&s);
    err = (tutti_error)TUTTI_ERROR_INIT;
    t.size = 0;
}

static void erase(void)
{
    folder_remove(s.folder);
}

/* Sample `index` is the picture with this seed and has this class. */
static void expect(int64_t index, int seed, int32_t label)
{
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint8_t pixels[6 * 5 * 3] = {0};
    int32_t got[23] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, got};
    ck_assert_ok(shelf_read(&s, index, columns, data, sizeof pixels, &err), err);
    shelf_shape(&columns[0].desc, "U8 (6, 5, 3)");
    for (int i = 0; i < 30; i++)
        for (int c = 0; c < 3; c++)
            ck_assert_int_eq(pixels[3 * i + c], picture_pixel(i / 5, i % 5, c, seed));
    if (s.info.ncolumns == 2)
        ck_assert_int_eq(got[0], label);
}

START_TEST(samples_of_all_shards_come_in_order)
{
    for (int k = 0; k < 3; k++) {
        char name[32];
        tar_entry(POSIX, '5', NULL, "dir/", "", 0);
        for (int i = 0; i < 2; i++) {
            char cls[16];
            (void)snprintf(cls, sizeof cls, " %d\n", 10 * k + i);
            (void)snprintf(name, sizeof name, "dir/%03d.cls", i);
            tar_text(name, cls);
            (void)snprintf(name, sizeof name, "dir/%03d.png", i);
            tar_picture(name, 2 * k + i);
            (void)snprintf(name, sizeof name, "dir/%03d.txt", i);
            tar_text(name, "a picture");
        }
        (void)snprintf(name, sizeof name, "s-%02d.tar", k + 9);
        tar_end(name);
    }
    settings("s-{09..11}.tar", "cls");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 6);
    ck_assert_uint_eq(s.info.ncolumns, 2);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    ck_assert_str_eq(s.info.columns[1].name, "target");
    ck_assert_int_eq(s.info.columns[1].classes, 22);
    shelf_shape(&s.info.columns[0].desc, "U8 (6, 5, 3)");
    for (int k = 5; k >= 0; k--)
        expect(k, k, 10 * (k / 2) + k % 2);
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint8_t pixels[90];
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, pixels};
    ck_assert_int_eq(shelf_read(&s, 6, columns, data, 90, &err), TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "webdataset: sample 6, there are 6");
    shelf_groups(&s, (const int64_t[]){0, 2, 4}, 3);
    subject_close(&s.subject);
}
END_TEST

START_TEST(targets_may_be_json_or_none)
{
    tar_picture("a.png", 1);
    tar_text("a.json", "{\"text\": \"cat\", \"label\": 4}");
    tar_picture("b.png", 2);
    tar_text("b.json", "{\"label\": 0}");
    tar_end("x.tar");
    settings("x.tar", "json");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.columns[1].classes, 5);
    expect(0, 1, 4);
    expect(1, 2, 0);
    subject_close(&s.subject);
    settings("x.tar", NULL);
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_uint_eq(s.info.ncolumns, 1);
    expect(1, 2, 0);
    subject_close(&s.subject);
}
END_TEST

START_TEST(the_first_ending_that_a_sample_has_counts)
{
    const picture p = picture_png(6, 5, 3, 7);
    tar_picture("a.png", 1);
    tar_entry(POSIX, '0', NULL, "a.JPG", p.data, p.size); /* its bytes tell that it is a PNG */
    tar_text("a.Cls", "1");
    tar_picture("b.png", 2);
    tar_text("b.cls", "0");
    tar_text("._b.png", "junk");
    tar_text("__meta__.cls", "junk");
    tar_text("LICENSE", "junk");
    tar_end("x.tar");
    settings("x.tar", "cls");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 2);
    expect(0, 7, 1);
    expect(1, 2, 0);
    subject_close(&s.subject);
}
END_TEST

START_TEST(headers_of_every_kind_are_read)
{
    char deep[300], record[400];
    const picture p = picture_png(6, 5, 3, 3);
    memset(deep, 'd', sizeof deep);
    deep[150] = '/';
    memcpy(deep + 290, "/k.png", 7);
    tar_entry(OLD, '\0', NULL, "old.png", p.data, p.size);
    tar_entry(OLD, '\0', NULL, "old.cls", "0", 1);
    tar_entry(POSIX, '0', "some/prefix", "k.png", p.data, p.size);
    tar_entry(POSIX, '0', "some/prefix", "k.cls", "1", 1);
    tar_entry(GNU, 'L', NULL, "././@LongLink", deep, strlen(deep) + 1);
    tar_entry(GNU, '0', NULL, "ddd", p.data, p.size);
    memcpy(deep + 290, "/k.cls", 7);
    tar_entry(GNU, 'K', NULL, "././@LongLink", "elsewhere", 10);
    tar_entry(GNU, 'L', NULL, "././@LongLink", deep, strlen(deep) + 1);
    tar_entry(GNU, '0', NULL, "ddd", "2", 1);
    tar_entry(POSIX, 'g', NULL, "pax_global_header", "17 comment=hello\n", 17);
    (void)snprintf(record, sizeof record, "20 ctime=1234567890\n%zu path=p%s\n",
                   strlen(deep) + 10, deep + 1);
    tar_entry(POSIX, 'x', NULL, "PaxHeaders/x", record, strlen(record));
    tar_entry(POSIX, '0', NULL, "short.cls", "3", 1);
    (void)snprintf(record, sizeof record, "12 size=%03zu\n%zu path=p%.289s/k.png\n", p.size,
                   strlen(deep) + 10, deep + 1);
    tar_entry(POSIX, 'x', NULL, "PaxHeaders/x", record, strlen(record));
    const size_t at = t.size;
    tar_entry(POSIX, '0', NULL, "short.png", p.data, p.size);
    memset(t.data + at + 124, '0', 11); /* the size is in the pax header */
    tar_seal(t.data + at);
    const size_t wide = t.size;
    tar_entry(GNU, '0', NULL, "wide.png", p.data, p.size);
    memset(t.data + wide + 124, 0, 12); /* base 256 */
    t.data[wide + 124] = 0x80;
    t.data[wide + 134] = (uint8_t)(p.size >> 8);
    t.data[wide + 135] = (uint8_t)p.size;
    tar_seal(t.data + wide);
    tar_entry(GNU, '0', NULL, "wide.cls", "4", 1);
    tar_entry(GNU, '2', NULL, "link.png", NULL, 0);
    tar_end("x.tar");
    settings("x.tar", "cls");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 5);
    for (int k = 0; k < 5; k++)
        expect(k, 3, k);
    subject_close(&s.subject);
}
END_TEST

START_TEST(an_archive_may_end_without_its_last_blocks)
{
    tar_picture("a.png", 1);
    tar_text("a.cls", "1");
    (void)shelf_file(&s, "x.tar", t.data, t.size);
    settings("x.tar", "cls");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    expect(0, 1, 1);
    subject_close(&s.subject);
}
END_TEST

/* ---- names with braces ---- */

START_TEST(braces_stand_for_many_names)
{
    static const char *const cases[][8] = {
        {"{8..10}.tar", "8.tar", "9.tar", "10.tar"},
        {"{2..0}.tar", "2.tar", "1.tar", "0.tar"},
        {"{a,b,}x{1..2}.tar", "ax1.tar", "ax2.tar", "bx1.tar", "bx2.tar", "x1.tar", "x2.tar"},
        {"{p{01..02},q}.tar", "p01.tar", "p02.tar", "q.tar"},
        {"{x}{.tar", "{x}{.tar"},
    };
    int count = 0;
    for (; count < 7 && cases[_i][count + 1]; count++) {
        tar_picture("a.png", count);
        tar_text("a.cls", "0");
        tar_end(cases[_i][count + 1]);
    }
    settings(cases[_i][0], "cls");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.samples, count);
    for (int k = 0; k < count; k++)
        expect(k, k, 0);
    subject_close(&s.subject);
}
END_TEST

START_TEST(names_that_lead_nowhere_are_refused)
{
    tar_picture("a.png", 1);
    tar_text("a.cls", "0");
    tar_end("7.tar");
    settings("{7..9}.tar", "cls");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_IO, "$/8.tar: No such file or directory");
    settings("{0..9999999}.tar", "cls");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_RANGE,
                  "the braces stand for more than 1048576 names");
}
END_TEST

/* ---- broken shards ---- */

/* A shard with one sample, whose class is `text` in a file with this ending. */
static void target_refused(const char *ending, const char *text, tutti_status status,
                           const char *sentence)
{
    char name[16];
    tar_picture("a.png", 1);
    (void)snprintf(name, sizeof name, "a.%s", ending);
    tar_text(name, text);
    tar_end("x.tar");
    settings("x.tar", ending);
    test_settings_int(&g, "classes", 5);
    shelf_refused(&s, "webdataset", &g, status, sentence);
}

START_TEST(a_file_may_say_what_classes_are_called)
{
    static const char labels[] = "dog\ncat\n";
    static const char *const texts[] = {"cat\n", "0", " dog", "1"};
    static const int32_t classes[] = {1, 0, 0, 1};
    for (int k = 0; k < 4; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d.png", k);
        tar_picture(name, k);
        (void)snprintf(name, sizeof name, "%d.cls", k);
        tar_text(name, texts[k]);
    }
    tar_end("x.tar");
    (void)shelf_file(&s, "labels.txt", labels, sizeof labels - 1);
    settings("x.tar", "cls");
    test_settings_path(&g, "labels", shelf_path(&s, "labels.txt"));
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.columns[1].classes, 2);
    for (int k = 0; k < 4; k++)
        expect(k, k, classes[k]);
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_str_eq(names->name(s.subject.self, "target", 1), "cat");
    ck_assert_ptr_null(names->name(s.subject.self, "target", 2));
    ck_assert_ptr_null(names->name(s.subject.self, "input", 0));
    subject_close(&s.subject);
    test_settings_int(&g, "classes", 3);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_ARG,
                  "$/labels.txt: has 2 labels, classes says 3");
    tar_picture("a.png", 1);
    tar_text("a.json", "{\"label\": \"cat\"}");
    tar_picture("b.png", 1);
    tar_text("b.json", "{\"label\": \"eel\"}");
    tar_end("y.tar");
    settings("y.tar", "json");
    test_settings_path(&g, "labels", shelf_path(&s, "labels.txt"));
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/y.tar: sample b: json holds \"eel\", which is no label");
}
END_TEST

START_TEST(pictures_are_given_as_they_are_stored)
{
    uint8_t file[4096], small[4];
    uint64_t size = 0;
    const picture p = picture_png(6, 5, 3, 1), grey = picture_png(6, 5, 1, 1);
    tar_entry(POSIX, '0', NULL, "a.png", p.data, p.size);
    tar_entry(POSIX, '0', NULL, "b.png", grey.data, grey.size);
    tar_end("x.tar");
    settings("x.tar", NULL);
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    const tutti_stored_v1 *stored = subject_query(&s.subject, TUTTI_STORED_V1);
    void *self = s.subject.self;
    ck_assert_ok(stored->file(self, 0, 0, small, sizeof small, &size, &err), err);
    ck_assert_uint_eq(size, p.size);
    ck_assert_ok(stored->file(self, 0, 0, file, sizeof file, &size, &err), err);
    ck_assert_uint_eq(size, p.size);
    ck_assert_mem_eq(file, p.data, p.size);
    ck_assert_ok(stored->file(self, 1, 0, file, sizeof file, &size, &err), err);
    ck_assert_uint_eq(size, 0); /* read as colour */
    ck_assert_ok(stored->file(self, 0, 1, file, sizeof file, &size, &err), err);
    ck_assert_uint_eq(size, 0); /* no picture */
    subject_close(&s.subject);
}
END_TEST

START_TEST(bad_targets_are_refused)
{
    target_refused("cls", "cat", TUTTI_E_FORMAT,
                   "$/x.tar: sample a: cls holds no whole number");
    target_refused("cls", "", TUTTI_E_FORMAT, "$/x.tar: sample a: cls holds no whole number");
    target_refused("cls", "1 2", TUTTI_E_FORMAT,
                   "$/x.tar: sample a: cls holds no whole number");
    target_refused("cls", "111111111111111111111", TUTTI_E_FORMAT,
                   "$/x.tar: sample a: cls holds no whole number");
    target_refused("cls", "5", TUTTI_E_RANGE, "$/x.tar: sample a: label 5, want 0 to 4");
    target_refused("cls", "-1", TUTTI_E_RANGE, "$/x.tar: sample a: label -1, want 0 to 4");
    target_refused("json", "{", TUTTI_E_FORMAT, "$/x.tar: sample a: json is not JSON");
    target_refused("json", "{\"class\": 1}", TUTTI_E_FORMAT,
                   "$/x.tar: sample a: json has no whole number called label");
    target_refused("json", "[1]", TUTTI_E_FORMAT,
                   "$/x.tar: sample a: json has no whole number called label");
}
END_TEST

START_TEST(samples_that_lack_or_repeat_a_file_are_refused)
{
    tar_picture("dir/a.png", 1);
    tar_text("dir/b.cls", "1");
    tar_end("x.tar");
    settings("x.tar", "cls");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: sample dir/a has no cls");
    tar_text("b.cls", "1");
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: sample b has no jpg");
    tar_picture("a.png", 1);
    tar_picture("a.png", 1);
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: sample a has two files png");
    tar_text("a.cls", "1");
    tar_text("a.cls", "1");
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: sample a has two files cls");
    tar_text("notes.txt", "nothing for us");
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: holds no samples");
}
END_TEST

/* As a file of gzip, or of zstd, in two parts one after the other. */
static void tar_packed_end(const char *name, int zstd)
{
    static uint8_t packed[sizeof t.data + 4096];
    const size_t half = t.size / 2;
    size_t size = 0;
    memset(t.data + t.size, 0, 1024);
    for (int k = 0; k < 2; k++) {
        const uint8_t *from = t.data + (k ? half : 0);
        const size_t bytes = k ? t.size + 1024 - half : half;
        if (zstd) {
            size += ZSTD_compress(packed + size, sizeof packed - size, from, bytes, 3);
            continue;
        }
        z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                      .avail_in = (uInt)bytes,
                      .next_out = packed + size,
                      .avail_out = (uInt)(sizeof packed - size)};
        ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY),
                         Z_OK);
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        size += z.total_out;
        (void)deflateEnd(&z);
    }
    (void)shelf_file(&s, name, packed, size);
    t.size = 0;
}

START_TEST(compressed_shards_are_unpacked)
{
    static const char *const names[] = {"s-0.tar.gz", "s-1.tar.zst"};
    settings("s-{0.tar.gz,1.tar.zst}", "cls");
    for (int k = 0; k < 2; k++) {
        tar_picture("a.png", k);
        tar_text("a.cls", k ? "7" : "3");
        tar_packed_end(names[k], k);
    }
    test_settings_path(&g, "unpack_folder", s.folder);
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 2);
    expect(0, 0, 3);
    expect(1, 1, 7);
    subject_close(&s.subject);
    for (int k = 0; k < 2; k++) { /* cut off in the second part */
        const char *path = shelf_path(&s, names[k]);
        FILE *f = fopen(path, "rb");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
        const long size = ftell(f);
        (void)fclose(f);
        ck_assert_int_eq(truncate(path, size - 3), 0);
        char sentence[128];
        (void)snprintf(sentence, sizeof sentence,
                       "$/%s: is damaged or cut off: it cannot be unpacked", names[k]);
        settings(names[k], "cls");
        shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, sentence);
    }
    tar_picture("a.png", 1);
    tar_packed_end("x.tar.gz", 0);
    settings("x.tar.gz", NULL);
    test_settings_path(&g, "unpack_folder", "/nowhere");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_IO,
                  "$/x.tar.gz: cannot be unpacked in /nowhere: No such file or directory");
}
END_TEST

/* A NumPy array, version 1.0. */
static void tar_array(const char *name, const char *type, const char *shape, const void *data,
                      size_t size)
{
    uint8_t file[512] = "\x93NUMPY\x01";
    const int n =
        snprintf((char *)file + 10, 200,
                 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", type, shape);
    file[8] = (uint8_t)n;
    memcpy(file + 10 + n, data, size);
    tar_entry(POSIX, '0', NULL, name, file, 10 + (size_t)n + size);
}

static void only_input(const char *ending)
{
    const char *const inputs[] = {ending};
    test_settings_strings(&g, "inputs", inputs, 1);
}

/* Sample `index` is this. */
static void expect_value(int64_t index, const char *shape, const void *want, size_t size)
{
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint8_t value[64];
    int32_t label[16];
    void *const data[TUTTI_MAX_COLUMNS] = {value, label};
    ck_assert_ok(shelf_read(&s, index, columns, data, sizeof value, &err), err);
    shelf_shape(&columns[0].desc, shape);
    ck_assert_mem_eq(value, want, size);
    if (s.info.ncolumns == 2)
        ck_assert_int_eq(label[0], (int)index + 2);
}

START_TEST(arrays_texts_and_members_are_inputs)
{
    static const float x[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, one = 0.5F;
    static const int64_t labels[2] = {2, 3};
    static const uint16_t halves[2] = {0x3c00, 0xc000};
    for (int k = 0; k < 2; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d.npy", k);
        tar_array(name, "<f4", "(2, 2)", x[k], sizeof x[k]);
        (void)snprintf(name, sizeof name, "%d.y.npy", k);
        tar_array(name, "<i8", "()", &labels[k], sizeof labels[k]);
        (void)snprintf(name, sizeof name, "%d.txt", k);
        tar_text(name, k ? "later" : "now");
        (void)snprintf(name, sizeof name, "%d.json", k);
        tar_text(name, k ? "{\"value\": 0.5, \"t\": \"z\", \"l\": [5, 6, 7, 8], \"label\": 3}"
                         : "{\"value\": 1, \"t\": \"ab\", \"l\": [1, 2, 3, 4], \"label\": 2}");
        (void)snprintf(name, sizeof name, "%d.h.npy", k);
        tar_array(name, "<f2", "(2,)", halves, sizeof halves);
    }
    tar_end("x.tar");
    static const struct {
        const char *input, *key, *target, *column, *shape;
        const void *want;
        size_t size;
    } cases[] = {
        {"npy", "", "json", "F32 (2, 2)", "F32 (2, 2)", x[1], sizeof x[1]},
        {"txt", "", "json", "U8 (-1)", "U8 (5)", "later", 5},
        {"json", "value", "json", "F32 ()", "F32 ()", &one, sizeof one},
        {"json", "t", "json", "U8 (-1)", "U8 (1)", "z", 1},
        {"json", "l", NULL, "F32 (4)", "F32 (4)", x[1], sizeof x[1]},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        settings("x.tar", cases[k].target);
        only_input(cases[k].input);
        test_settings_string(&g, "input_key", cases[k].key);
        ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
        shelf_shape(&s.info.columns[0].desc, cases[k].column);
        expect_value(1, cases[k].shape, cases[k].want, cases[k].size);
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(faults_of_values_are_told)
{
    static const float x[4] = {1, 2, 3, 4};
    static const int32_t label = 3;
    static const uint16_t halves[2] = {0x3c00, 0xc000};
    tar_array("a.npy", "<f2", "(2,)", halves, sizeof halves);
    tar_text("a.json", "{\"l\": [1, \"x\"]}");
    tar_array("a.cls", "<f4", "(1,)", x, 4);
    tar_end("x.tar");
    settings("x.tar", NULL);
    only_input("npy");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    expect_value(0, "F16 (2)", halves, sizeof halves);
    subject_close(&s.subject);
    only_input("json");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: input at byte 1536: has no number, list of numbers or text called "
                  "value");
    test_settings_string(&g, "input_key", "l");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: input at byte 1536: the list l holds more than numbers");
    tar_array("a.npy", "<i4", "()", &label, sizeof label);
    tar_text("a.txt", "a");
    tar_text("b.txt", "b");
    tar_array("b.npy", "<f4", "(4,)", x, sizeof x);
    tar_end("x.tar");
    settings("x.tar", "npy");
    only_input("txt");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: sample b: npy is no array of one whole number");
    tar_text("a.npy", "no array");
    tar_end("x.tar");
    settings("x.tar", NULL);
    only_input("npy");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: input at byte 512: is neither a NumPy array nor an .npz file");
    tar_text("a.txt", "a");
    tar_picture("b.png", 1);
    tar_end("x.tar");
    static const char *const both[] = {"txt", "png"};
    test_settings_strings(&g, "inputs", both, 2);
    shelf_refused(
        &s, "webdataset", &g, TUTTI_E_FORMAT,
        "$/x.tar: sample b has the input png, which is of another kind than those before "
        "it");
}
END_TEST

START_TEST(broken_archives_are_refused)
{
    settings("x.tar", "cls");
    (void)shelf_file(&s, "x.tar", "", 0);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: is empty or no regular file");
    (void)shelf_file(&s, "x.tar", "\x1f\x8b\x08", 3);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: is damaged or cut off: it cannot be unpacked");
    (void)shelf_file(&s, "x.tar", "some text", 9);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: ends within a header at byte 0");
    tar_text("a.txt", "first");
    const size_t second = t.size;
    tar_picture("a.png", 1);
    (void)shelf_file(&s, "x.tar", t.data, t.size - 500);
    ck_assert_uint_eq(second, 1024);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: ends within a file, whose header stands at byte 1024");
    t.data[second + 3] ^= 1;
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: has no tar header at byte 1024");
    tar_entry(GNU, 'S', NULL, "a.png", "x", 1);
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_UNSUPPORTED,
                  "$/x.tar: holds a sparse file at byte 0");
    tar_entry(POSIX, 'x', NULL, "PaxHeaders/x", "99 path=short\n", 14);
    tar_end("x.tar");
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT,
                  "$/x.tar: has a broken long header at byte 0");
}
END_TEST

START_TEST(broken_images_are_named)
{
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint8_t pixels[90];
    int32_t label[23];
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, label};
    char want[160];
    for (int k = 0; k < 32; k++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%02d.png", k);
        k == 1 ? tar_text(name, "GIF89a") : tar_picture(name, 1);
        (void)snprintf(name, sizeof name, "%02d.cls", k);
        tar_text(name, "0");
    }
    tar_end("x.tar");
    settings("x.tar", "cls");
    ck_assert_ok(shelf_open(&s, "webdataset", &g, &err), err);
    ck_assert_int_eq(shelf_read(&s, 1, columns, data, 90, &err), TUTTI_E_FORMAT);
    (void)snprintf(want, sizeof want,
                   "%s/x.tar: input at byte 2560: is neither a JPEG nor a PNG", s.folder);
    ck_assert_str_eq(err.text, want);
    subject_close(&s.subject);
}
END_TEST

START_TEST(every_damaged_byte_is_refused_or_read)
{
    tar_entry(GNU, 'L', NULL, "././@LongLink", "long/name.png", 14);
    tar_picture("short", 1);
    tar_entry(POSIX, 'x', NULL, "PaxHeaders/x", "23 path=long/name.cls\n", 22);
    tar_text("short", "1");
    const size_t size = t.size;
    static uint8_t whole[sizeof t.data];
    memcpy(whole, t.data, size);
    settings("x.tar", "cls");
    for (size_t at = 0; at < size; at += 3) {
        memcpy(t.data, whole, size);
        t.data[at] ^= 0xff;
        if (at < 512 || (at >= 1536 && at < 2048)) /* a header that lies */
            tar_seal(t.data + at / 512 * 512);
        (void)shelf_file(&s, "x.tar", t.data, at % 2 ? size : size - at);
        err = (tutti_error)TUTTI_ERROR_INIT;
        if (shelf_open(&s, "webdataset", &g, &err) == TUTTI_OK)
            subject_close(&s.subject);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("webdataset");
    TCase *c = tcase_create("webdataset");
    tcase_add_checked_fixture(c, start, erase);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, samples_of_all_shards_come_in_order);
    tcase_add_test(c, targets_may_be_json_or_none);
    tcase_add_test(c, the_first_ending_that_a_sample_has_counts);
    tcase_add_test(c, headers_of_every_kind_are_read);
    tcase_add_test(c, an_archive_may_end_without_its_last_blocks);
    tcase_add_loop_test(c, braces_stand_for_many_names, 0, 5);
    tcase_add_test(c, names_that_lead_nowhere_are_refused);
    tcase_add_test(c, a_file_may_say_what_classes_are_called);
    tcase_add_test(c, pictures_are_given_as_they_are_stored);
    tcase_add_test(c, bad_targets_are_refused);
    tcase_add_test(c, samples_that_lack_or_repeat_a_file_are_refused);
    tcase_add_test(c, broken_archives_are_refused);
    tcase_add_test(c, compressed_shards_are_unpacked);
    tcase_add_test(c, arrays_texts_and_members_are_inputs);
    tcase_add_test(c, faults_of_values_are_told);
    tcase_add_test(c, broken_images_are_named);
    tcase_add_test(c, every_damaged_byte_is_refused_or_read);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
