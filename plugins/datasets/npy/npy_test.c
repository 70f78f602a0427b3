/* npy_test.c - NumPy files of every version, order and type, archives of them, and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <zlib.h>

static shelf s;
static test_settings g;
static tutti_error err;

/* Bytes under construction. */
typedef struct bytes {
    uint8_t data[4096];
    size_t size;
} bytes;

static void add(bytes *b, const void *data, size_t size)
{
    ck_assert_uint_le(b->size + size, sizeof b->data);
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void add_number(bytes *b, uint64_t n, int width)
{
    for (int k = 0; k < width; k++) {
        const uint8_t byte = k < 8 ? (uint8_t)(n >> 8 * k) : 0;
        add(b, &byte, 1);
    }
}

/* A .npy file: magic, version, a header with this text, the values. */
static bytes array(int version, const char *text, const void *values, size_t size)
{
    bytes b = {{0}, 0};
    const uint8_t two[2] = {(uint8_t)version, 0};
    add(&b, "\x93NUMPY", 6);
    add(&b, two, 2);
    add_number(&b, strlen(text), version == 1 ? 2 : 4);
    add(&b, text, strlen(text));
    add(&b, values, size);
    return b;
}

static const char *save(const char *name, const bytes *b)
{
    return shelf_file(&s, name, b->data, b->size);
}

static void settings(const char *inputs, const char *inputs_key, const char *targets,
                     const char *targets_key)
{
    test_settings_init(&g);
    test_settings_path(&g, "inputs", inputs);
    test_settings_null(&g, "inputs_key");
    if (inputs_key)
        test_settings_string(&g, "inputs_key", inputs_key);
    test_settings_null(&g, "targets");
    if (targets)
        test_settings_path(&g, "targets", targets);
    test_settings_null(&g, "targets_key");
    if (targets_key)
        test_settings_string(&g, "targets_key", targets_key);
    test_settings_int(&g, "classes", 0);
    test_settings_int(&g, "ignore_index", -100);
    test_settings_null(&g, "target_column");
    test_settings_strings(&g, "column_names", NULL, 0);
    test_settings_strings(&g, "columns", NULL, 0);
    test_settings_strings(&g, "column_keys", NULL, 0);
}

static void settings_of_maps(const char *inputs, const char *targets, int64_t classes,
                             int64_t ignored)
{
    settings(inputs, NULL, targets, NULL);
    test_settings_int(&g, "classes", classes);
    test_settings_int(&g, "ignore_index", ignored);
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

#define PIXELS "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 3), }          \n"
#define LABELS "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n"
static const uint8_t pixels[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const int64_t labels[2] = {7, 2};

/* Two images of 2 x 3 pixels 0 to 11 with labels 7 and 2 come out. */
static void expect_two(void)
{
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    uint8_t x[8] = {0};
    int32_t label[2] = {-1, -1};
    void *const data[TUTTI_MAX_COLUMNS] = {x, label};
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 2);
    ck_assert_uint_eq(s.info.ncolumns, 2);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    ck_assert_str_eq(s.info.columns[1].name, "target");
    ck_assert_int_eq(s.info.columns[1].classes, 8);
    shelf_shape(&s.info.columns[0].desc, "U8 (2, 3, 1)");
    for (int k = 1; k >= 0; k--) {
        ck_assert_ok(shelf_read(&s, k, t, data, sizeof x, &err), err);
        shelf_shape(&t[0].desc, "U8 (2, 3, 1)");
        shelf_shape(&t[1].desc, "I32 ()");
        ck_assert_mem_eq(x, pixels + 6 * k, 6);
        ck_assert_int_eq(label[0], labels[k]);
    }
    ck_assert_int_eq(shelf_read(&s, 2, t, data, sizeof x, &err), TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "npy: sample 2, there are 2");
    subject_close(&s.subject);
}

START_TEST(headers_of_every_version_are_read)
{
    const bytes x = array(_i, PIXELS, pixels, sizeof pixels);
    const bytes y = array(_i, LABELS, labels, sizeof labels);
    settings(save("x.npy", &x), NULL, save("y.npy", &y), NULL);
    expect_two();
}
END_TEST

START_TEST(fortran_order_is_transposed)
{
    /* [k][row][column] at k + 2 (row + 2 column) */
    uint8_t transposed[12];
    for (int k = 0; k < 2; k++)
        for (int row = 0; row < 2; row++)
            for (int column = 0; column < 3; column++)
                transposed[k + 2 * (row + 2 * column)] = pixels[k * 6 + row * 3 + column];
    const bytes x = array(1, "{'shape': (2, 2, 3), 'fortran_order': True, 'descr': '|u1'}",
                          transposed, sizeof transposed);
    const bytes y = array(1, LABELS, labels, sizeof labels);
    settings(save("x.npy", &x), NULL, save("y.npy", &y), NULL);
    expect_two();
}
END_TEST

START_TEST(either_byte_order_is_read)
{
    static const char *const orders[] = {"<f4", ">f4", "=f4"};
    const float want[6] = {1.0f, -2.5f, 3e-20f, 0.0f, 1e20f, -7.0f};
    for (int fortran = 0; fortran < 2; fortran++) {
        uint8_t values[24] = {0};
        char text[96];
        tutti_tensor t[TUTTI_MAX_COLUMNS];
        float got[3];
        void *const data[TUTTI_MAX_COLUMNS] = {got};
        for (int k = 0; k < 6; k++) {
            const int at = fortran ? k / 3 + 2 * (k % 3) : k;
            uint8_t raw[4];
            memcpy(raw, &want[k], sizeof raw);
            for (int i = 0; i < 4; i++)
                values[4 * at + (orders[_i][0] == '>' ? 3 - i : i)] = raw[i];
        }
        (void)snprintf(text, sizeof text,
                       "{\"descr\": \"%s\", \"fortran_order\": %s, \"shape\": (2L, 3L)}",
                       orders[_i], fortran ? "True" : "False");
        const bytes x = array(1, text, values, sizeof values);
        settings(save("x.npy", &x), NULL, NULL, NULL);
        ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
        ck_assert_uint_eq(s.info.ncolumns, 1);
        for (int k = 0; k < 2; k++) {
            ck_assert_ok(shelf_read(&s, k, t, data, sizeof got, &err), err);
            ck_assert_mem_eq(got, want + 3 * k, sizeof got);
        }
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(every_type_has_its_dtype)
{
    static const struct {
        const char *type;
        const char *shape;
    } cases[] = {{"<f2", "F16 (1)"}, {"<f8", "F64 (1)"}, {"|i1", "I8 (1)"},
                 {"<i2", "I16 (1)"}, {"<i4", "I32 (1)"}, {"<i8", "I64 (1)"},
                 {"<u2", "U16 (1)"}, {"<u8", "U64 (1)"}, {"|b1", "BOOL (1)"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[96];
        const uint8_t value[8] = {0};
        (void)snprintf(text, sizeof text,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (1, 1)}",
                       cases[k].type);
        const bytes x = array(1, text, value, (size_t)(cases[k].type[2] - '0'));
        settings(save("x.npy", &x), NULL, NULL, NULL);
        ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
        shelf_shape(&s.info.columns[0].desc, cases[k].shape);
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(unsigned_words_are_upcast)
{
    int64_t got[2];
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    void *const data[TUTTI_MAX_COLUMNS] = {got};
    const bytes x = array(1, "{'descr': '>u4', 'fortran_order': False, 'shape': (1, 2)}",
                          "\xff\xff\xff\xfe\0\0\1\0", 8);
    settings(save("x.npy", &x), NULL, NULL, NULL);
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    ck_assert_ok(shelf_read(&s, 0, t, data, sizeof got, &err), err);
    shelf_shape(&t[0].desc, "I64 (2)");
    ck_assert_int_eq(got[0], 4294967294);
    ck_assert_int_eq(got[1], 256);
    subject_close(&s.subject);
}
END_TEST

START_TEST(whole_numbers_of_every_type_are_classes)
{
    static const struct {
        const char *type;
        uint8_t bytes[8];
        int32_t want;
    } cases[] = {{"|u1", {200}, 200},
                 {"|i1", {100}, 100},
                 {"<i2", {2, 1}, 258},
                 {">i2", {1, 2}, 258},
                 {"<u2", {2, 1}, 258},
                 {"<i4", {3, 0, 1}, 65539},
                 {"<u4", {3, 0, 1}, 65539},
                 {">i8", {0, 0, 0, 0, 0, 1, 0, 3}, 65539},
                 {"<u8", {9}, 9}};
    const bytes x = array(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "x", 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tutti_tensor t[TUTTI_MAX_COLUMNS];
        uint8_t pixel[4];
        int32_t label = -1;
        void *const data[TUTTI_MAX_COLUMNS] = {pixel, &label};
        char text[96];
        (void)snprintf(text, sizeof text,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (1, 1)}",
                       cases[k].type);
        const bytes y = array(1, text, cases[k].bytes, (size_t)(cases[k].type[2] - '0'));
        settings(save("x.npy", &x), NULL, save("y.npy", &y), NULL);
        ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
        ck_assert_int_eq(s.info.columns[1].classes, cases[k].want + 1);
        ck_assert_ok(shelf_read(&s, 0, t, data, sizeof label, &err), err);
        ck_assert_int_eq(label, cases[k].want);
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(other_targets_stay_what_they_are)
{
    const bytes x = array(1, PIXELS, pixels, sizeof pixels);
    const double real[2] = {2.5, -1.0};
    bytes y = array(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", real, 16);
    settings(save("x.npy", &x), NULL, save("y.npy", &y), NULL);
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    shelf_shape(&s.info.columns[1].desc, "F64 ()");
    ck_assert_int_eq(s.info.columns[1].classes, 0);
    subject_close(&s.subject);
    y = array(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}", pixels, 6);
    (void)save("y.npy", &y);
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    shelf_shape(&s.info.columns[1].desc, "U8 (3)");
    subject_close(&s.subject);
}
END_TEST

/* ---- maps of classes ---- */

/* The map of sample `index`, 2 x 3 classes. */
static tutti_status read_map(int64_t index, int32_t map[6])
{
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    uint8_t x[24];
    void *const data[TUTTI_MAX_COLUMNS] = {x, map};
    return shelf_read(&s, index, t, data, sizeof x, &err);
}

START_TEST(whole_numbers_of_any_shape_are_classes_where_their_count_is_told)
{
    const uint8_t masks[12] = {0, 1, 2, 3, 255, 0, 1, 1, 255, 255, 4, 0};
    const int32_t want[12] = {0, 1, 2, 3, -100, 0, 1, 1, -100, -100, 4, 0};
    for (int fortran = 0; fortran < 2; fortran++) {
        uint8_t stored[12];
        int32_t map[6] = {0};
        char text[96];
        (void)snprintf(text, sizeof text,
                       "{'descr': '|u1', 'fortran_order': %s, 'shape': (2, 2, 3)}",
                       fortran ? "True" : "False");
        for (int k = 0; k < 12; k++)
            stored[fortran ? k / 6 + 2 * (k % 6 / 3 + 2 * (k % 3)) : k] = masks[k];
        const bytes x = array(1, PIXELS, pixels, sizeof pixels), y = array(1, text, stored, 12);
        settings_of_maps(save("x.npy", &x), save("y.npy", &y), 5, 255);
        ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
        shelf_shape(&s.info.columns[1].desc, "I32 (2, 3)");
        ck_assert_int_eq(s.info.columns[1].classes, 5);
        for (int64_t k = 0; k < 2; k++) {
            ck_assert_ok(read_map(k, map), err);
            ck_assert_mem_eq(map, want + 6 * k, sizeof map);
        }
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(a_label_that_is_no_class_is_refused_when_it_is_read)
{
    const int16_t masks[12] = {0, 1, 2, 3, -100, 0, 1, 1, 4, 3, 2, 0};
    int32_t map[6] = {0};
    const bytes x = array(1, PIXELS, pixels, sizeof pixels);
    const bytes y = array(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2, 3)}",
                          masks, sizeof masks);
    settings_of_maps(save("x.npy", &x), save("y.npy", &y), 4, -100);
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    ck_assert_ok(read_map(0, map), err);
    ck_assert_int_eq(map[4], -100);
    ck_assert_int_eq(read_map(1, map), TUTTI_E_RANGE);
    shelf_says(&s, &err, TUTTI_E_RANGE, "$/y.npy: sample 1: label 4, want 0 to 3");
    subject_close(&s.subject);
}
END_TEST

/* ---- tables ---- */

static const double rows[6] = {0.5, -1.0, 3.0, 1e9 + 1, 2.0, -7.25};
#define TABLE "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}"

static void settings_of_table(const char *inputs, int64_t column)
{
    settings(inputs, NULL, NULL, NULL);
    test_settings_int(&g, "target_column", column);
}

START_TEST(a_column_of_a_table_is_the_target)
{
    const bytes wide = array(1, TABLE, rows, sizeof rows);
    const bytes whole = array(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3)}",
                              "\x01\x04\xff\x05\x03\x06", 6);
    const float want[3][2][3] = {{{0.5f, -1.0f, 3.0f}, {1e9f, 2.0f, -7.25f}},
                                 {{0.5f, 3.0f, -1.0f}, {1e9f, -7.25f, 2.0f}},
                                 {{1.0f, -1.0f, 3.0f}, {4.0f, 5.0f, 6.0f}}};
    for (int c = 0; c < 3; c++) {
        float x[4] = {0}, y[4] = {0};
        tutti_tensor t[TUTTI_MAX_COLUMNS];
        void *const data[TUTTI_MAX_COLUMNS] = {x, y};
        settings_of_table(save("table.npy", c == 2 ? &whole : &wide), c == 1 ? 1 : -1);
        ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
        ck_assert_int_eq(s.info.samples, 2);
        for (int64_t k = 0; k < 2; k++) {
            ck_assert_ok(shelf_read(&s, k, t, data, sizeof x, &err), err);
            shelf_shape(&t[0].desc, "F32 (2)");
            shelf_shape(&t[1].desc, "F32 ()");
            ck_assert_mem_eq(x, want[c][k], 2 * sizeof *x);
            ck_assert_float_eq(y[0], want[c][k][2]);
        }
        subject_close(&s.subject);
    }
}
END_TEST

/* Two arrays of two samples under these names. */
static void settings_of_columns(const char *first, const char *second)
{
    const bytes mask = array(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2)}",
                             (const int32_t[]){1, 2, 3, 4}, 16);
    const bytes weight = array(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                               (const float[]){0.5f, -7}, 8);
    static const char *names[2];
    names[0] = first;
    names[1] = second;
    test_settings_strings(&g, "column_names", names, 2);
    tutti_param *paths = test_settings_list(&g, "columns", TUTTI_PARAM_PATH, 2);
    paths[0].s = save("mask.npy", &mask);
    paths[1].s = save("weight.npy", &weight);
}

START_TEST(further_columns_stand_behind_the_target)
{
    const bytes wide = array(1, TABLE, rows, sizeof rows);
    float x[4] = {0}, y[4] = {0}, weight[4] = {0};
    int32_t mask[4] = {0};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    void *const data[TUTTI_MAX_COLUMNS] = {x, y, mask, weight};
    settings_of_table(save("table.npy", &wide), -1);
    settings_of_columns("attention_mask", "weight");
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    ck_assert_uint_eq(s.info.ncolumns, 4);
    ck_assert_str_eq(s.info.columns[2].name, "attention_mask");
    ck_assert_str_eq(s.info.columns[3].name, "weight");
    ck_assert_ok(shelf_read(&s, 1, t, data, sizeof x, &err), err);
    shelf_shape(&t[2].desc, "I32 (2)");
    shelf_shape(&t[3].desc, "F32 ()");
    ck_assert_int_eq(mask[0], 3);
    ck_assert_int_eq(mask[1], 4);
    ck_assert_float_eq(weight[0], -7);
    ck_assert_float_eq(y[0], -7.25f);
    subject_close(&s.subject);
}
END_TEST

START_TEST(columns_that_do_not_fit_are_refused)
{
    const bytes wide = array(1, TABLE, rows, sizeof rows);
    const bytes three =
        array(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", "\1\2\3", 3);
    settings_of_table(save("table.npy", &wide), -1);
    settings_of_columns("target", "weight");
    shelf_refused(&s, "npy", &g, TUTTI_E_ARG, "npy: there are two columns \"target\"");
    settings_of_table(save("table.npy", &wide), -1);
    settings_of_columns("mask", "My weight");
    shelf_refused(
        &s, "npy", &g, TUTTI_E_ARG,
        "npy: column_names has \"My weight\", want a name of at most 31 small letters, "
        "digits and _");
    settings_of_table(save("table.npy", &wide), -1);
    settings_of_columns("mask", "weight");
    test_settings_strings(&g, "column_names", (const char *const[]){"mask"}, 1);
    shelf_refused(
        &s, "npy", &g, TUTTI_E_ARG,
        "npy: columns has 2 files, column_names 1 names and column_keys 0, want as many "
        "of each, or no keys");
    settings_of_table(save("table.npy", &wide), -1);
    settings_of_columns("mask", "weight");
    (void)save("weight.npy", &three);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT,
                  "$/weight.npy: has 3 samples, $/table.npy has 2");
}
END_TEST

START_TEST(what_is_no_table_is_refused)
{
    const bytes table = array(1, TABLE, rows, sizeof rows);
    const bytes pictures = array(1, PIXELS, pixels, sizeof pixels);
    settings_of_table(save("t.npy", &table), 3);
    shelf_refused(&s, "npy", &g, TUTTI_E_RANGE,
                  "$/t.npy: target_column is 3, rows have 3 numbers");
    settings_of_table(save("t.npy", &table), -4);
    shelf_refused(&s, "npy", &g, TUTTI_E_RANGE,
                  "$/t.npy: target_column is -4, rows have 3 numbers");
    settings_of_table(save("p.npy", &pictures), -1);
    shelf_refused(
        &s, "npy", &g, TUTTI_E_SHAPE,
        "$/p.npy: samples are U8 (2, 3), want rows of two or more numbers, of 32 bits "
        "or 64 if they are floats");
    settings_of_table(save("t.npy", &table), -1);
    test_settings_path(&g, "targets", "y.npy");
    shelf_refused(&s, "npy", &g, TUTTI_E_ARG,
                  "npy: targets come from target_column, or from another array");
}
END_TEST

/* ---- archives ---- */

typedef struct packed {
    const char *name;
    bytes data; /* as in the archive */
    uint32_t crc;
    uint32_t size;
    int method;
    uint32_t at;
} packed;

static packed pack(const char *name, const bytes *b, int deflated)
{
    packed p = {.name = name,
                .data = *b,
                .crc = (uint32_t)crc32(0, b->data, (uInt)b->size),
                .size = (uint32_t)b->size,
                .method = deflated ? 8 : 0};
    if (deflated) {
        z_stream z = {.next_in = (Bytef *)(uintptr_t)b->data,
                      .avail_in = (uInt)b->size,
                      .next_out = p.data.data,
                      .avail_out = sizeof p.data.data};
        ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                         Z_OK);
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        p.data.size = z.total_out;
        ck_assert_int_eq(deflateEnd(&z), Z_OK);
    }
    return p;
}

/* As np.savez writes it; `wide`: with 64-bit numbers in extra fields, and a 64-bit end. */
static bytes archive(packed *members, int count, int wide)
{
    bytes b = {{0}, 0};
    for (int k = 0; k < count; k++) {
        packed *m = &members[k];
        m->at = (uint32_t)b.size;
        add(&b, "PK\3\4", 4);
        add_number(&b, (uint64_t)m->method << 32 | 45, 8);
        add_number(&b, 0, 2);
        add_number(&b, m->crc, 4);
        add_number(&b, m->data.size, 4);
        add_number(&b, m->size, 4);
        add_number(&b, strlen(m->name), 2);
        add_number(&b, 0, 2);
        add(&b, m->name, strlen(m->name));
        add(&b, m->data.data, m->data.size);
    }
    const size_t directory = b.size;
    for (int k = 0; k < count; k++) {
        const packed *m = &members[k];
        add(&b, "PK\1\2", 4);
        add_number(&b, 45 | 45 << 16, 6);
        add_number(&b, (uint64_t)m->method, 2);
        add_number(&b, 0, 4);
        add_number(&b, m->crc, 4);
        add_number(&b, wide ? UINT32_MAX : m->data.size, 4);
        add_number(&b, wide ? UINT32_MAX : m->size, 4);
        add_number(&b, strlen(m->name), 2);
        add_number(&b, wide ? 4 + 24 : 0, 2);
        add_number(&b, 0, 10);
        add_number(&b, wide ? UINT32_MAX : m->at, 4);
        add(&b, m->name, strlen(m->name));
        if (wide) {
            add_number(&b, 1 | 24 << 16, 4);
            add_number(&b, m->size, 8);
            add_number(&b, m->data.size, 8);
            add_number(&b, m->at, 8);
        }
    }
    const size_t end = b.size;
    if (wide) {
        add(&b, "PK\6\6", 4);
        add_number(&b, 44, 8);
        add_number(&b, 0, 12);
        add_number(&b, (uint64_t)count, 8);
        add_number(&b, (uint64_t)count, 8);
        add_number(&b, end - directory, 8);
        add_number(&b, directory, 8);
        add(&b, "PK\6\7", 4);
        add_number(&b, 0, 4);
        add_number(&b, end, 8);
        add_number(&b, 1, 4);
    }
    add(&b, "PK\5\6", 4);
    add_number(&b, 0, 4);
    add_number(&b, (uint64_t)count, 2);
    add_number(&b, (uint64_t)count, 2);
    add_number(&b, end - directory, 4);
    add_number(&b, wide ? UINT32_MAX : directory, 4);
    add_number(&b, 0, 2);
    return b;
}

/* x_train and y_train of the two images in one file. */
static bytes both(int deflated, int wide)
{
    const bytes x = array(1, PIXELS, pixels, sizeof pixels);
    const bytes y = array(1, LABELS, labels, sizeof labels);
    packed members[] = {pack("x_train.npy", &x, deflated), pack("y_train.npy", &y, deflated)};
    return archive(members, 2, wide);
}

START_TEST(members_of_archives_are_read)
{
    const bytes b = both(_i & 1, _i >> 1);
    settings(save("set.npz", &b), "x_train", NULL, "y_train");
    expect_two();
}
END_TEST

START_TEST(an_only_member_needs_no_name)
{
    const bytes x = array(1, PIXELS, pixels, sizeof pixels);
    const bytes y = array(1, LABELS, labels, sizeof labels);
    packed one = pack("arr_0.npy", &x, 0);
    const bytes b = archive(&one, 1, 0);
    settings(save("x.npz", &b), NULL, save("y.npy", &y), NULL);
    expect_two();
}
END_TEST

/* Each further column from a file of its own: an archive of several arrays, one of a single array, and no archive. */
START_TEST(further_columns_come_from_archives)
{
    const bytes wide = array(1, TABLE, rows, sizeof rows);
    const bytes mask = array(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2)}",
                             (const int32_t[]){1, 2, 3, 4}, 16);
    const bytes weight = array(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                               (const float[]){0.5f, -7}, 8);
    packed members[] = {pack("first.npy", &weight, _i), pack("second.npy", &mask, _i)};
    packed one = pack("arr_0.npy", &weight, _i);
    const bytes several = archive(members, 2, 0), single = archive(&one, 1, 0);
    static const char *const names[] = {"attention_mask", "weight"};
    static const char *const keys[] = {"second", ""}, *const wrong[] = {"third", ""};
    float x[4] = {0}, y[4] = {0}, got_weight[4] = {0};
    int32_t got_mask[4] = {0};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    void *const data[TUTTI_MAX_COLUMNS] = {x, y, got_mask, got_weight};
    settings_of_table(save("table.npy", &wide), -1);
    test_settings_strings(&g, "column_names", names, 2);
    tutti_param *paths = test_settings_list(&g, "columns", TUTTI_PARAM_PATH, 2);
    paths[0].s = save("several.npz", &several);
    paths[1].s = save("single.npz", &single);
    test_settings_strings(&g, "column_keys", keys, 2);
    ck_assert_ok(shelf_open(&s, "npy", &g, &err), err);
    ck_assert_uint_eq(s.info.ncolumns, 4);
    ck_assert_ok(shelf_read(&s, 1, t, data, sizeof x, &err), err);
    shelf_shape(&t[2].desc, "I32 (2)");
    shelf_shape(&t[3].desc, "F32 ()");
    ck_assert_int_eq(got_mask[0], 3);
    ck_assert_int_eq(got_mask[1], 4);
    ck_assert_float_eq(got_weight[0], -7);
    subject_close(&s.subject);
    test_settings_strings(&g, "column_keys", wrong, 2);
    shelf_refused(&s, "npy", &g, TUTTI_E_NOTFOUND,
                  "$/several.npz: has no array third, it has first, second");
    test_settings_strings(&g, "column_keys", NULL, 0);
    shelf_refused(&s, "npy", &g, TUTTI_E_ARG,
                  "$/several.npz: has the arrays first, second; name one as column_keys");
}
END_TEST

START_TEST(broken_archives_are_refused)
{
    const bytes b = both(0, 0), deflated = both(1, 0);
    settings(save("set.npz", &b), "x_test", NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_NOTFOUND,
                  "$/set.npz: has no array x_test, it has x_train, y_train");
    settings(save("set.npz", &b), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_ARG,
                  "$/set.npz: has the arrays x_train, y_train; name one as inputs_key");
    settings(save("set.npz", &b), "x_train", save("more.npz", &b), NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_ARG,
                  "$/more.npz: has the arrays x_train, y_train; name one as targets_key");
    bytes bad = b;
    bad.size -= 23;
    settings(save("set.npz", &bad), "x_train", NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT,
                  "$/set.npz: is a broken zip archive: it has no directory at its end");
    bad = b;
    bad.data[0x1a] = 0xff; /* the first member's name gets longer than the file */
    bad.data[0x1b] = 0xff;
    settings(save("set.npz", &bad), "x_train", NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT,
                  "$/set.npz: is a broken zip archive: a member is shorter than its directory "
                  "says");
    bad = b;
    bad.data[0] = 'Q';
    settings(save("set.npz", &bad), "x_train", NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT,
                  "$/set.npz: is neither a NumPy array nor an .npz file");
    bad = deflated;
    bad.data[60] ^= 0x10; /* within the packed values */
    settings(save("set.npz", &bad), "x_train", NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT,
                  "$/set.npz[x_train]: is packed wrongly or damaged");
    packed bomb = pack("x.npy", &deflated, 1);
    bomb.size = 1u << 30;
    bad = archive(&bomb, 1, 0);
    settings(save("set.npz", &bad), NULL, NULL, NULL);
    shelf_refused(
        &s, "npy", &g, TUTTI_E_FORMAT,
        "$/set.npz: is a broken zip archive: a member is longer than what it is packed "
        "into can hold");
    packed strange = pack("x.npy", &b, 0);
    strange.method = 12;
    bad = archive(&strange, 1, 0);
    settings(save("set.npz", &bad), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_UNSUPPORTED,
                  "$/set.npz: x is packed in another way; want it stored or deflated");
    packed text = pack("readme.txt", &b, 0);
    bad = archive(&text, 1, 0);
    settings(save("set.npz", &bad), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_NOTFOUND, "$/set.npz: holds no arrays");
}
END_TEST

START_TEST(every_cut_archive_is_refused_or_read)
{
    const bytes whole = both(_i, 1);
    for (size_t size = 1; size < whole.size; size++) {
        bytes b = whole;
        b.size = size;
        settings(save("set.npz", &b), "x_train", NULL, "y_train");
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_int_ne(shelf_open(&s, "npy", &g, &err), TUTTI_OK);
    }
    for (size_t at = 0; at < whole.size; at++) {
        bytes b = whole;
        b.data[at] ^= 0xff;
        settings(save("set.npz", &b), "x_train", NULL, "y_train");
        err = (tutti_error)TUTTI_ERROR_INIT;
        if (shelf_open(&s, "npy", &g, &err) == TUTTI_OK)
            subject_close(&s.subject);
    }
}
END_TEST

/* ---- broken arrays ---- */

static void refused(int version, const char *text, size_t size, tutti_status status,
                    const char *sentence)
{
    const bytes x = array(version, text, pixels, size);
    settings(save("x", &x), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, status, sentence);
}

START_TEST(broken_files_are_refused)
{
    const char *no_header =
        "$/x: the header is no dictionary of descr, fortran_order and shape";
    settings(shelf_path(&s, "nowhere"), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_IO, "$/nowhere: No such file or directory");
    settings(shelf_file(&s, "x", "", 0), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT, "$/x: is empty or no regular file");
    settings(shelf_file(&s, "x", "\x89PNG\r\n\x1a\n", 8), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT,
                  "$/x: is neither a NumPy array nor an .npz file");
    settings(shelf_file(&s, "x", "\x93NUMPY\1\0\x76\0{", 11), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT, "$/x: ends within its header");
    refused(4, PIXELS, 12, TUTTI_E_VERSION, "$/x: is of version 4.0, want 1 to 3");
    refused(1, PIXELS, 11, TUTTI_E_FORMAT, "$/x: ends after 1 samples, its header says 2");
    const bytes longer = array(1, LABELS, labels, 16);
    bytes x = longer;
    add(&x, "more", 4);
    settings(save("x", &x), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT, "$/x: is longer than its header says");
    refused(1, "", 0, TUTTI_E_FORMAT, no_header);
    refused(1, "{'descr': '|u1', 'shape': (2,)}", 2, TUTTI_E_FORMAT, no_header);
    refused(1, "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (2,)}", 2, TUTTI_E_FORMAT,
            no_header);
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}", 2, TUTTI_E_FORMAT,
            no_header);
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999999999999, 4)}", 2,
            TUTTI_E_FORMAT, no_header);
    ck_assert_int_eq(mkfifo(shelf_path(&s, "pipe"), 0600), 0);
    settings(shelf_path(&s, "pipe"), NULL, NULL, NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT, "$/pipe: is empty or no regular file");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2 2)}", 2, TUTTI_E_FORMAT,
            no_header);
    refused(1, "{'descr': '|u1', 'descr': '|u1', 'shape': (2,)}", 2, TUTTI_E_FORMAT, no_header);
}
END_TEST

START_TEST(arrays_that_are_no_samples_are_refused)
{
    refused(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 2, TUTTI_E_UNSUPPORTED,
            "$/x: holds values of type |O, want floats, integers or booleans");
    refused(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 2,
            TUTTI_E_UNSUPPORTED,
            "$/x: holds values of type record, want floats, integers or booleans");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 1, TUTTI_E_SHAPE,
            "$/x: has 0 dimensions, want 1 to 6, the first for the samples");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1)}", 1,
            TUTTI_E_SHAPE, "$/x: has 7 dimensions, want 1 to 6, the first for the samples");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 3)}", 0, TUTTI_E_FORMAT,
            "$/x: the set is empty");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 0)}", 0, TUTTI_E_SHAPE,
            "$/x: has a dimension of 0");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 99999999999999)}", 0,
            TUTTI_E_SHAPE, "$/x: has a dimension of 99999999999999");
}
END_TEST

START_TEST(targets_that_do_not_fit_are_refused)
{
    const bytes x = array(1, PIXELS, pixels, sizeof pixels);
    bytes y = array(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", pixels, 3);
    settings(save("x", &x), NULL, save("y", &y), NULL);
    shelf_refused(&s, "npy", &g, TUTTI_E_FORMAT, "$/y: has 3 targets, $/x has 2 samples");
    y = array(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}", "\1\xff", 2);
    (void)save("y", &y);
    shelf_refused(&s, "npy", &g, TUTTI_E_RANGE, "$/y: sample 1: label -1, want 0 to 16777216");
    test_settings_int(&g, "classes", 7);
    y = array(1, LABELS, labels, sizeof labels);
    (void)save("y", &y);
    shelf_refused(&s, "npy", &g, TUTTI_E_RANGE, "$/y: sample 0: label 7, want 0 to 6");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("npy");
    TCase *c = tcase_create("npy");
    tcase_add_checked_fixture(c, start, erase);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, headers_of_every_version_are_read, 1, 4);
    tcase_add_test(c, fortran_order_is_transposed);
    tcase_add_loop_test(c, either_byte_order_is_read, 0, 3);
    tcase_add_test(c, every_type_has_its_dtype);
    tcase_add_test(c, unsigned_words_are_upcast);
    tcase_add_test(c, whole_numbers_of_every_type_are_classes);
    tcase_add_test(c, other_targets_stay_what_they_are);
    tcase_add_test(c, whole_numbers_of_any_shape_are_classes_where_their_count_is_told);
    tcase_add_test(c, a_column_of_a_table_is_the_target);
    tcase_add_test(c, further_columns_stand_behind_the_target);
    tcase_add_test(c, columns_that_do_not_fit_are_refused);
    tcase_add_test(c, what_is_no_table_is_refused);
    tcase_add_test(c, a_label_that_is_no_class_is_refused_when_it_is_read);
    tcase_add_loop_test(c, members_of_archives_are_read, 0, 4);
    tcase_add_test(c, an_only_member_needs_no_name);
    tcase_add_loop_test(c, further_columns_come_from_archives, 0, 2);
    tcase_add_test(c, broken_archives_are_refused);
    tcase_add_loop_test(c, every_cut_archive_is_refused_or_read, 0, 2);
    tcase_add_test(c, broken_files_are_refused);
    tcase_add_test(c, arrays_that_are_no_samples_are_refused);
    tcase_add_test(c, targets_that_do_not_fit_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
