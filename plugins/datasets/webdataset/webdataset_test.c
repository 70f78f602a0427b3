/* webdataset_test.c - tar shards of every kind of header, names with braces, and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_check.h"

#include <stdio.h>

static shelf s;
static given g;
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
    given_init(&g);
    given_path(&g, "path", shelf_path(&s, path));
    given_strings(&g, "inputs", inputs, 2);
    given_null(&g, "target");
    if (target)
        given_string(&g, "target", target);
    given_string(&g, "target_key", "label");
    given_int(&g, "classes", 0);
    given_enum(&g, "channels", "rgb", 0);
    given_enum(&g, "sizes", "probe", 0);
    given_null(&g, "shrink");
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
    given_int(&g, "classes", 5);
    shelf_refused(&s, "webdataset", &g, status, sentence);
}

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

START_TEST(broken_archives_are_refused)
{
    settings("x.tar", "cls");
    (void)shelf_file(&s, "x.tar", "", 0);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_FORMAT, "$/x.tar: is empty or no regular file");
    (void)shelf_file(&s, "x.tar", "\x1f\x8b\x08", 3);
    shelf_refused(&s, "webdataset", &g, TUTTI_E_UNSUPPORTED,
                  "$/x.tar: is gzipped, want it unpacked");
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
    tcase_add_test(c, bad_targets_are_refused);
    tcase_add_test(c, samples_that_lack_or_repeat_a_file_are_refused);
    tcase_add_test(c, broken_archives_are_refused);
    tcase_add_test(c, broken_images_are_named);
    tcase_add_test(c, every_damaged_byte_is_refused_or_read);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
