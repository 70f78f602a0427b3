/* mds_test.c - the dataset through its entry function, on sets that the tests write. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "set_check.h"
#include "set_writer.h"

#include <pthread.h>
#include <stdio.h>

static writer w;

static void open_set(const char *input)
{
    tutti_error err = TUTTI_ERROR_INIT;
    writer_finish(&w);
    ck_assert_ok(open_path(w.folder, input, 0, 0, &err), err);
}

/* An error on opening the set or reading its samples; "$" in the sentence is its folder. */
static void assert_says(int64_t classes, const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char want[512] = "", *to = want;
    tutti_status s = open_path(w.folder, NULL, classes, 0, &err);
    if (s == TUTTI_OK) {
        tutti_tensor t[2];
        uint8_t image[12288];
        int64_t target[2];
        void *const data[2] = {image, target};
        for (int64_t k = 0; s == TUTTI_OK && k < info.samples; k++)
            s = read_into(k, t, data, sizeof image, &err);
        subject_close(&it);
    }
    for (const char *c = sentence; *c; c++)
        to += snprintf(to, 64, "%.*s", *c == '$' ? 64 : 1, *c == '$' ? w.folder : c);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_ne(s, TUTTI_OK);
}

#define FIELD(...)                                                                             \
    (bytes)                                                                                    \
    {                                                                                          \
        (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})                 \
    }

static bytes text(const char *t)
{
    return (bytes){t, strlen(t)};
}

START_TEST(every_number_is_read)
{
    static const struct {
        const char *encoding, *digits;
        int size, whole;
        uint64_t bits;
        int64_t i;
        float f;
    } cases[] = {
        {"int", NULL, 8, 1, (uint64_t)-5, -5, 0},
        {"int8", NULL, 1, 1, 0xfe, -2, 0},
        {"int16", NULL, 2, 1, 0x8000, -32768, 0},
        {"int32", NULL, 4, 1, 0xffffffff, -1, 0},
        {"int64", NULL, 8, 1, 1ULL << 40, 1LL << 40, 0},
        {"uint8", NULL, 1, 1, 0xfe, 254, 0},
        {"uint16", NULL, 2, 1, 0x8000, 32768, 0},
        {"uint32", NULL, 4, 1, 0xffffffff, 4294967295, 0},
        {"uint64", NULL, 8, 1, 7, 7, 0},
        {"float16", NULL, 2, 0, 0xc100, 0, -2.5f},
        {"float16", NULL, 2, 0, 0x0001, 0, 5.9604645e-8f},
        {"float32", NULL, 4, 0, 0x40200000, 0, 2.5f},
        {"float64", NULL, 8, 0, 0x4004000000000000, 0, 2.5f},
        {"str_int", "-123", -1, 1, 0, -123, 0},
        {"str_float", "1e-3", -1, 0, 0, 0, 1e-3f},
        {"str_decimal", "12.50", -1, 0, 0, 0, 12.5f},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bytes bits = {&cases[k].bits, (size_t)(cases[k].size > 0 ? cases[k].size : 0)};
        const bytes field = cases[k].digits ? text(cases[k].digits) : bits;
        int64_t i;
        float f;
        uint8_t value[8];
        writer_start(&w);
        writer_column(&w, "x", cases[k].encoding, cases[k].size);
        writer_sample(&w, &field);
        open_set("x");
        ck_assert_uint_eq(info.ncolumns, 1);
        const tutti_tensor t = read_one(0, value, sizeof value);
        assert_shape(&t.desc, cases[k].whole ? "I64 ()" : "F32 ()");
        memcpy(&i, value, sizeof i);
        memcpy(&f, value, sizeof f);
        if (cases[k].whole)
            ck_assert_int_eq(i, cases[k].i);
        else
            ck_assert_close(f, cases[k].f, 0.0);
        subject_close(&it);
    }
}
END_TEST

START_TEST(arrays_are_read_in_all_forms)
{
    static const struct {
        const char *encoding;
        int size;
    } forms[] = {{"ndarray", -1}, {"ndarray:int16", -1}, {"ndarray:int16:2,3", 12}};
    const bytes fields[] = {
        FIELD(17, 2 << 2, 2, 3, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0xff, 0xff),
        FIELD(2 << 2 | 1, 2, 0, 3, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0xff, 0xff),
        FIELD(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0xff, 0xff),
    };
    static const int16_t want[6] = {1, 2, 3, 4, 5, -1};
    for (int k = 0; k < 3; k++) {
        int16_t values[6];
        writer_start(&w);
        writer_column(&w, "x", forms[k].encoding, forms[k].size);
        writer_sample(&w, &fields[k]);
        open_set(NULL);
        const tutti_tensor t = read_one(0, values, sizeof values);
        assert_shape(&t.desc, "I16 (2, 3)");
        ck_assert_mem_eq(values, want, sizeof want);
        subject_close(&it);
    }
}
END_TEST

START_TEST(unsigned_words_are_upcast)
{
    int64_t values[2];
    const bytes field = FIELD(0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0);
    writer_start(&w);
    writer_column(&w, "x", "ndarray:uint32:2", 8);
    writer_sample(&w, &field);
    open_set(NULL);
    const tutti_tensor t = read_one(0, values, sizeof values);
    assert_shape(&t.desc, "I64 (2)");
    ck_assert_int_eq(values[0], 4294967295);
    ck_assert_int_eq(values[1], 1);
    subject_close(&it);
}
END_TEST

START_TEST(texts_are_their_bytes)
{
    static const char *const encodings[] = {"str", "bytes", "json"};
    for (int k = 0; k < 3; k++) {
        char value[16];
        const bytes a = text("{\"a\": 1}"), b = text("[]");
        writer_start(&w);
        writer_column(&w, "x", encodings[k], -1);
        writer_sample(&w, &a);
        writer_sample(&w, &b);
        open_set("x");
        assert_shape(&info.columns[0].desc, "U8 (-1)");
        const tutti_tensor t = read_one(0, value, sizeof value);
        assert_shape(&t.desc, "U8 (8)");
        ck_assert_mem_eq(value, "{\"a\": 1}", 8);
        subject_close(&it);
    }
}
END_TEST

START_TEST(images_are_decoded)
{
    uint8_t pixels[32 * 32 * 3];
    static const struct {
        const char *kind, *shape;
        int channels;
    } cases[] = {{"png", "U8 (5, 7, 3)", 3},
                 {"png", "U8 (5, 7, 1)", 1},
                 {"jpeg", "U8 (5, 7, 3)", 3},
                 {"jpeg", "U8 (5, 7, 1)", 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bytes fields[] = {set_picture(cases[k].kind, 7, 5, cases[k].channels, 100),
                                FIELD(3, 0, 0, 0, 0, 0, 0, 0)};
        writer_start(&w);
        writer_column(&w, "a", cases[k].kind, -1);
        writer_column(&w, "b", "int", 8);
        writer_sample(&w, fields);
        open_set(NULL);
        ck_assert_uint_eq(info.ncolumns, 2);
        ck_assert_int_eq(info.columns[1].classes, 4);
        for (int turn = 0; turn < 2; turn++) {
            const tutti_tensor t = read_one(0, pixels, sizeof pixels);
            assert_shape(&t.desc, cases[k].shape);
            for (int p = 0; p < 35 * cases[k].channels; p++)
                ck_assert_close(pixels[p], 100 + 20 * (p % cases[k].channels),
                                strcmp(cases[k].kind, "png") == 0 ? 0 : 3);
        }
        subject_close(&it);
    }
}
END_TEST

START_TEST(raw_images_of_pillow_are_read)
{
    uint8_t pixels[6];
    const bytes field =
        FIELD(2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'R', 'G', 'B', 1, 2, 3, 4, 5, 6);
    writer_start(&w);
    writer_column(&w, "x", "pil", -1);
    writer_sample(&w, &field);
    open_set(NULL);
    const tutti_tensor t = read_one(0, pixels, sizeof pixels);
    assert_shape(&t.desc, "U8 (1, 2, 3)");
    for (int k = 0; k < 6; k++)
        ck_assert_int_eq(pixels[k], k + 1);
    subject_close(&it);
}
END_TEST

START_TEST(lists_of_images_are_stacked)
{
    static const struct {
        const char *encoding, *kind;
        int skip;
    } cases[] = {{"list[png]", "png", 4}, {"list[jpeg]", "jpeg", 4}, {"jpeg_array", "jpeg", 0}};
    for (size_t k = 0; k < 3; k++) {
        uint8_t field[8192] = {0}, pixels[2 * 4 * 4 * 3];
        const bytes one = set_picture(cases[k].kind, 4, 4, 3, 10);
        const bytes two = set_picture(cases[k].kind, 4, 4, 3, 150);
        const uint32_t header[3] = {2, (uint32_t)one.size, (uint32_t)two.size};
        uint8_t *to = field + cases[k].skip;
        memcpy(to, header, sizeof header);
        memcpy(to + 12, one.data, one.size);
        memcpy(to + 12 + one.size, two.data, two.size);
        const bytes whole = {field, (size_t)cases[k].skip + 12 + one.size + two.size};
        writer_start(&w);
        writer_column(&w, "x", cases[k].encoding, -1);
        writer_sample(&w, &whole);
        open_set(NULL);
        const tutti_tensor t = read_one(0, pixels, sizeof pixels);
        assert_shape(&t.desc, "U8 (2, 4, 4, 3)");
        ck_assert_close(pixels[0], 10, 3);
        ck_assert_close(pixels[48], 150, 3);
        subject_close(&it);
    }
}
END_TEST

/* A set of `n` pictures and labels 0, 1, 2, ... */
static void pictures(int n, const char *label_encoding, int label_size)
{
    writer_start(&w);
    writer_column(&w, "image", "jpeg", -1);
    writer_column(&w, "label", label_encoding, label_size);
    for (int k = 0; k < n; k++) {
        const int64_t label = k;
        const bytes fields[] = {set_picture("jpeg", 8, 8, 3, 5 * k), {&label, 8}};
        writer_sample(&w, fields);
    }
}

START_TEST(compressed_shards_are_inflated_and_verified)
{
    uint8_t pixels[192];
    pictures(4, "int", 8);
    w.zip = 1;
    open_set(NULL);
    ck_assert_int_eq(info.samples, 4);
    (void)read_one(3, pixels, sizeof pixels);
    ck_assert_close(pixels[0], 15, 3);
    subject_close(&it);
    w.hash = "00";
    writer_finish(&w);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(w.folder, NULL, 0, 0, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/shard.0.mds.zstd: its sha1 is "));
}
END_TEST

START_TEST(faults_of_an_index_are_told)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path("/nowhere", NULL, 0, 0, &err), TUTTI_E_IO);
    ck_assert_str_eq(err.text, "/nowhere/index.json: No such file or directory");
    char pipe[512];
    pictures(1, "int", 8);
    (void)snprintf(pipe, sizeof pipe, "%s/index.json", w.folder);
    (void)unlink(pipe);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(w.folder, NULL, 0, 0, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/index.json: is no regular file"));
    (void)unlink(pipe);
    pictures(0, "int", 8);
    writer_finish(&w);
    assert_says(0, "$/index.json: the set is empty");
    err = (tutti_error)TUTTI_ERROR_INIT;
    pictures(1, "pkl", -1);
    writer_finish(&w);
    ck_assert_int_eq(open_path(w.folder, "label", 0, 0, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(strstr(err.text, "/index"),
                     "/index.json: column label is pickled, which runs code when read and is "
                     "refused");
    err = (tutti_error)TUTTI_ERROR_INIT;
    pictures(1, "complex", -1);
    writer_finish(&w);
    ck_assert_int_eq(open_path(w.folder, "label", 0, 0, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(strstr(err.text, "/index"),
                     "/index.json: column label has the encoding complex, which is not known "
                     "here");
    pictures(1, "int32", 8);
    writer_finish(&w);
    assert_says(0, "$/index.json: column label of encoding int32 has the size 8, want 4");
    pictures(1, "int", 8);
    w.claim = 4294967296;
    writer_finish(&w);
    assert_says(0, "$/index.json: a shard's number of samples is not from 0 to 4294967295");
    w.claim = 4294967295;
    writer_finish(&w);
    assert_says(0, "$/shard.0.mds: its number of samples is not the index's 4294967295");
    w.claim = -1;
    w.hash_kind = "crc99";
    writer_finish(&w);
    assert_says(0,
                "$/index.json: shard.0.mds has only the hash crc99, which is not known here; "
                "verify false reads it unverified");
}
END_TEST

START_TEST(a_named_pipe_is_no_shard)
{
    char shard[512];
    pictures(2, "int", 8);
    writer_finish(&w);
    (void)snprintf(shard, sizeof shard, "%s/shard.0.mds", w.folder);
    ck_assert_int_eq(unlink(shard), 0);
    ck_assert_int_eq(mkfifo(shard, 0600), 0); /* whose other end nobody opens */
    assert_says(0, "$/shard.0.mds: is no regular file");
    ck_assert_int_eq(unlink(shard), 0);
}
END_TEST

START_TEST(faults_of_a_shard_are_told)
{
    char sentence[512];
    pictures(2, "int", 8);
    w.cut = 3;
    writer_finish(&w);
    const unsigned size = 16 + w.used;
    (void)snprintf(sentence, sizeof sentence, "$/shard.0.mds: has %u bytes, the index says %u",
                   size - 3, size);
    assert_says(0, sentence);
    w.cut = 0;
    w.hash = "0123";
    writer_finish(&w);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(w.folder, NULL, 0, 0, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/shard.0.mds: its sha1 is "));
    ck_assert_ptr_nonnull(strstr(err.text, ", the index says 0123"));
    w.hash = NULL;
    w.ends[1] = 1 << 20;
    writer_finish(&w);
    assert_says(0, "$/shard.0.mds: sample 0 lies outside the file");
    pictures(2, "int", 8);
    w.data[0] ^= 1; /* the length of sample 0's image */
    writer_finish(&w);
    assert_says(0, "$/shard.0.mds: the columns of sample 0 do not fill it");
}
END_TEST

START_TEST(faults_of_a_sample_are_told)
{
    pictures(3, "int", 8);
    writer_finish(&w);
    assert_says(2, "$/shard.0.mds: sample 2: column label: label 2, want 0 to 1");
    w.data[4 + 2] = 0; /* within the first picture's markers */
    writer_finish(&w);
    assert_says(0, "$/shard.0.mds: sample 0: column image: is neither a JPEG nor a PNG");
    pictures(40, "int", 8);
    for (uint32_t k = w.ends[7] - 14; k < w.ends[7] - 8; k++)
        w.data[k] = 0xff; /* sample 6 is not one of the probes; markers where its pixels are */
    writer_finish(&w);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(w.folder, NULL, 0, 0, &err), err);
    tutti_tensor t[2];
    uint8_t pixels[192];
    int64_t target;
    void *const data[2] = {pixels, &target};
    ck_assert_int_eq(read_into(6, t, data, sizeof pixels, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/shard.0.mds: sample 6: column image: "));
    subject_close(&it);
}
END_TEST

START_TEST(a_sample_of_another_shape_is_told)
{
    writer_start(&w);
    writer_column(&w, "x", "png", -1);
    for (int k = 0; k < 32; k++) {
        const bytes field = set_picture("png", k == 3 ? 9 : 8, 8, 3, 0); /* 3 is not probed */
        writer_sample(&w, &field);
    }
    writer_finish(&w);
    assert_says(0,
                "$/shard.0.mds: sample 3: column x: is U8 (8, 9, 3), others are U8 (8, 8, 3)");
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[2];
    uint8_t pixels[16];
    void *const data[2] = {pixels, NULL};
    ck_assert_ok(open_path(w.folder, NULL, 0, 1, &err), err);
    ck_assert_int_eq(read_into(0, t, data, sizeof pixels, &err), TUTTI_E_RANGE);
    ck_assert_ptr_nonnull(strstr(
        err.text, "/shard.0.mds: sample 0: column x: U8 (8, 8, 3) does not fit into 16 bytes"));
    subject_close(&it);
}
END_TEST

static void *read_all(void *failed)
{
    for (int turn = 0; turn < 3; turn++)
        for (int64_t k = 0; k < info.samples; k++) {
            tutti_error err = TUTTI_ERROR_INIT;
            tutti_tensor t[2];
            uint8_t pixels[192];
            int64_t target;
            void *const data[2] = {pixels, &target};
            if (read_into(k, t, data, sizeof pixels, &err) || abs(pixels[0] - 5 * (int)k) > 3)
                *(int *)failed = 1;
        }
    return NULL;
}

/* mosaicml-streaming 0.13.0, partitions of get_shuffle: 12 shards of 5 samples, 2 nodes, seed 7, epoch 2. */
START_TEST(an_epoch_has_the_order_of_streaming)
{
    static const int64_t want[60] = {
        1,  28, 3,  26, 2,  27, 4,  25, 0,  29, 16, 13, 19, 10, 18, 12, 15, 11, 17, 14,
        53, 57, 51, 55, 52, 59, 54, 58, 50, 56, 9,  48, 6,  49, 7,  45, 8,  46, 5,  47,
        20, 38, 23, 37, 22, 36, 21, 35, 24, 39, 32, 42, 34, 44, 30, 43, 33, 40, 31, 41};
    tutti_epoch epoch = {
        .struct_size = sizeof epoch, .shuffle = 1, .seed = 5, .epoch = 2, .batch_size = 4};
    int64_t order[64];
    tutti_error err = TUTTI_ERROR_INIT;
    writer_start(&w);
    writer_column(&w, "x", "float32", 4);
    w.copies = 12;
    for (int k = 0; k < 5; k++)
        writer_sample(&w, &FIELD(0, 0, 0, 0));
    open_set("x");
    ck_assert_ptr_null(it.calls->query(it.self, TUTTI_SAMPLE_ORDER_V1));
    subject_close(&it);
    shuffle_algo = 3; /* py1s */
    shuffle_seed = 7;
    nodes = 2;
    open_set("x");
    const tutti_sample_order_v1 *of = subject_query(&it, TUTTI_SAMPLE_ORDER_V1);
    ck_assert_int_eq(of->places(it.self), 60);
    ck_assert_ok(of->order(it.self, &epoch, order, sizeof order / sizeof *order, &err), err);
    ck_assert_mem_eq(order, want, sizeof want);
    ck_assert_int_eq(of->order(it.self, &epoch, order, 59, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "mds: room for 59 of 60 places");
    err = (tutti_error)TUTTI_ERROR_INIT;
    epoch.shuffle = 0; /* the two halves of the set take turns */
    ck_assert_ok(of->order(it.self, &epoch, order, sizeof order / sizeof *order, &err), err);
    for (int k = 0; k < 60; k++)
        ck_assert_int_eq(order[k], k / 2 + k % 2 * 30);
    subject_close(&it);
    shuffle_seed = -1; /* the run's */
    nodes = 7;         /* parts of 8 and of 9 samples */
    open_set("x");
    of = subject_query(&it, TUTTI_SAMPLE_ORDER_V1);
    ck_assert_int_eq(of->places(it.self), 63);
    epoch = (tutti_epoch){sizeof epoch, 1, 7, 2, 4};
    ck_assert_ok(of->order(it.self, &epoch, order, sizeof order / sizeof *order, &err), err);
    subject_close(&it);
    shuffle_algo = 0;
    tutti_error refused = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(w.folder, "x", 0, 0, &refused), TUTTI_E_ARG);
    ck_assert_str_eq(refused.text, "mds: num_canonical_nodes is of Streaming's shuffles; set "
                                   "shuffle_algo to one");
}
END_TEST

START_TEST(streams_are_one_set)
{
    static writer more;
    int64_t order[64];
    float value;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_epoch epoch = {
        .struct_size = sizeof epoch, .shuffle = 1, .seed = 5, .epoch = 2, .batch_size = 4};
    writer_start(&w);
    writer_column(&w, "x", "float32", 4);
    for (int k = 0; k < 3; k++)
        writer_sample(&w, &FIELD(0, 0, 0x80, 0x3f)); /* 1.0 */
    writer_finish(&w);
    writer_start(&more);
    writer_column(&more, "x", "float32", 4);
    more.copies = 2;
    for (int k = 0; k < 5; k++)
        writer_sample(&more, &FIELD(0, 0, 0, 0x40)); /* 2.0 */
    writer_finish(&more);
    streams[0] = w.folder;
    streams[1] = more.folder;
    nstreams = 2;
    repeat[0] = 4.5;
    repeat[1] = choose[0] = -1;
    choose[1] = 7;
    nrepeat = nchoose = 2;
    ck_assert_ok(open_path(NULL, "x", 0, 0, &err), err);
    ck_assert_int_eq(info.samples, 13);
    for (int64_t k = 0; k < 13; k++) {
        (void)read_one(k, &value, sizeof value);
        ck_assert_float_eq(value, k < 3 ? 1.0f : 2.0f);
    }
    const tutti_sample_order_v1 *of = subject_query(&it, TUTTI_SAMPLE_ORDER_V1);
    ck_assert_int_eq(of->places(it.self), 13 + 7);
    ck_assert_ok(of->order(it.self, &epoch, order, sizeof order / sizeof *order, &err), err);
    int times[13] = {0}, second = 0;
    for (int k = 0; k < 20; k++)
        times[order[k]]++;
    for (int k = 0; k < 13; k++) {
        ck_assert_int_ge(times[k], k < 3 ? 4 : 0);
        ck_assert_int_le(times[k], k < 3 ? 5 : 1);
        second += k < 3 ? 0 : times[k];
    }
    ck_assert_int_eq(second, 7);
    subject_close(&it);
    batching = 4; /* of 13 and 7 samples three batches and one */
    shuffle_seed = 3;
    ck_assert_ok(open_path(NULL, "x", 0, 0, &err), err);
    of = subject_query(&it, TUTTI_SAMPLE_ORDER_V1);
    ck_assert_int_eq(of->places(it.self), 16);
    ck_assert_ok(of->order(it.self, &epoch, order, sizeof order / sizeof *order, &err), err);
    for (int k = second = 0; k < 16; k++) {
        ck_assert_int_eq(order[k] < 3, order[k - k % 4] < 3);
        second += order[k] >= 3;
    }
    ck_assert_int_eq(second, 4);
    const tutti_epoch other = {sizeof other, 1, 5, 2, 5};
    ck_assert_int_eq(of->order(it.self, &other, order, sizeof order / sizeof *order, &err),
                     TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "mds: batch_size is 4, and the run's is 5");
    subject_close(&it);
    shuffle_seed = -1;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(NULL, "x", 0, 0, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "mds: batching_method per_stream wants shuffle_seed");
    batching = 1;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(NULL, "x", 0, 0, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text,
                     "mds: batching_method per_stream wants batch_size, that of the run");
    folder_remove(more.folder);
}
END_TEST

/* Two streams with these settings are refused. */
static void assert_refuses(const char *path, const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(path, "x", 0, 0, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, sentence);
}

START_TEST(faults_of_streams_are_told)
{
    writer_start(&w);
    writer_column(&w, "x", "float32", 4);
    writer_sample(&w, &FIELD(0, 0, 0, 0));
    writer_finish(&w);
    assert_refuses(NULL, "mds: want path, or streams");
    streams[0] = streams[1] = w.folder;
    nstreams = 2;
    assert_refuses(w.folder, "mds: want path and remote, or streams and remotes, not both");
    remotes[0] = "http://127.0.0.1:1/";
    nremotes = 1;
    assert_refuses(NULL, "mds: there are 2 streams and 1 remotes");
    nremotes = 0;
    nrepeat = 1;
    assert_refuses(NULL, "mds: repeat has 1 values, want one a stream: 2");
    nrepeat = nproportion = 2;
    repeat[1] = -0.5;
    assert_refuses(NULL, "mds: stream 1 has more than one of proportion, repeat and choose");
    nproportion = 0;
    assert_refuses(NULL, "mds: repeat is -0.5 for stream 2, want -1 or at least 0");
    repeat[1] = 0;
    assert_refuses(NULL, "mds: an epoch would have no samples of any stream");
    repeat[1] = 1;
    epoch_size = 9;
    assert_refuses(NULL, "mds: epoch_size is for proportions, not for repeat and choose");
}
END_TEST

START_TEST(threads_share_a_set)
{
    pthread_t threads[4];
    int failed[4] = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    pictures(30, "int", 8);
    writer_finish(&w);
    ck_assert_ok(open_path(w.folder, NULL, 0, 64, &err), err);
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, read_all, &failed[k]), 0);
    for (int k = 0; k < 4; k++) {
        (void)pthread_join(threads[k], NULL);
        ck_assert_int_eq(failed[k], 0);
    }
    subject_close(&it);
}
END_TEST

static int count_maps(void)
{
    int lines = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(f);
    for (int c = fgetc(f); c != EOF; c = fgetc(f))
        lines += c == '\n';
    (void)fclose(f);
    return lines;
}

START_TEST(more_shards_are_read_than_a_process_may_map)
{
    char value[16];
    const bytes field = text("{}");
    writer_start(&w);
    writer_column(&w, "x", "bytes", -1);
    writer_sample(&w, &field);
    w.copies = 70000; /* Linux lets a process have 65530 maps */
    open_set("x");
    ck_assert_int_eq(info.samples, w.copies);
    for (int64_t k = 0; k < info.samples; k++)
        (void)read_one(k, value, sizeof value);
    ck_assert_int_lt(count_maps(), 20000);
    (void)read_one(0, value, sizeof value); /* of a shard that was closed */
    ck_assert_mem_eq(value, "{}", 2);
    subject_close(&it);
}
END_TEST

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                           \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { MEMORY_IS_FREED = 0 }; /* sanitizers keep it for a while */
#else
enum { MEMORY_IS_FREED = 1 };
#endif

/* Memory of this process that no file is mapped to. */
static uint64_t private_bytes(void)
{
    unsigned long all = 0, resident = 0, shared = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%lu %lu %lu", &all, &resident, &shared), 3);
    (void)fclose(f);
    return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

START_TEST(inflated_shards_stay_within_their_memory)
{
    static char value[40000];
    const bytes field = {value, sizeof value};
    memset(value, 'x', sizeof value);
    writer_start(&w);
    writer_column(&w, "x", "bytes", -1);
    writer_sample(&w, &field);
    w.zip = 1;
    w.copies = 4000; /* 160 MB */
    inflated_mib = 4;
    open_set("x");
    const uint64_t before = private_bytes();
    for (int64_t k = 0; k < info.samples; k++) {
        (void)read_one(k, value, sizeof value);
        ck_assert_int_eq(value[0] + value[sizeof value - 1], 2 * 'x');
    }
    if (MEMORY_IS_FREED)
        ck_assert_uint_lt(private_bytes(), before + ((uint64_t)48 << 20));
    subject_close(&it);
}
END_TEST

START_TEST(cifar_10_is_read)
{
    char path[512], index[600];
    const char *data = getenv("TUTTI_TEST_DATA");
    (void)snprintf(path, sizeof path, "%s/cifar10/test", data ? data : ".");
    (void)snprintf(index, sizeof index, "%s/index.json", path);
    if (access(index, R_OK) != 0) {
        tutti_skip("%s is not there", path);
        return;
    }
    tutti_error err = TUTTI_ERROR_INIT;
    uint8_t pixels[3072];
    ck_assert_ok(open_path(path, NULL, 0, 64, &err), err);
    ck_assert_int_eq(info.samples, 10000);
    ck_assert_int_eq(info.columns[1].classes, 10);
    assert_shape(&info.columns[0].desc, "U8 (32, 32, 3)");
    (void)read_one(9999, pixels, sizeof pixels);
    subject_close(&it);
}
END_TEST

static void erase(void)
{
    folder_remove(w.folder);
}

int main(void)
{
    Suite *s = suite_create("mds");
    TCase *c = tcase_create("mds");
    tcase_add_checked_fixture(c, NULL, erase);
    tcase_add_test(c, every_number_is_read);
    tcase_add_test(c, arrays_are_read_in_all_forms);
    tcase_add_test(c, unsigned_words_are_upcast);
    tcase_add_test(c, texts_are_their_bytes);
    tcase_add_test(c, images_are_decoded);
    tcase_add_test(c, raw_images_of_pillow_are_read);
    tcase_add_test(c, lists_of_images_are_stacked);
    tcase_add_test(c, compressed_shards_are_inflated_and_verified);
    tcase_add_test(c, faults_of_an_index_are_told);
    tcase_add_test(c, a_named_pipe_is_no_shard);
    tcase_add_test(c, faults_of_a_shard_are_told);
    tcase_add_test(c, faults_of_a_sample_are_told);
    tcase_add_test(c, a_sample_of_another_shape_is_told);
    tcase_add_test(c, an_epoch_has_the_order_of_streaming);
    tcase_add_test(c, streams_are_one_set);
    tcase_add_test(c, faults_of_streams_are_told);
    tcase_add_test(c, threads_share_a_set);
    tcase_add_test(c, cifar_10_is_read);
    suite_add_tcase(s, c);
    c = tcase_create("large");
    tcase_set_timeout(c, 120); /* seconds, beside other tests and sanitizers */
    tcase_add_checked_fixture(c, NULL, erase);
    tcase_add_test(c, inflated_shards_stay_within_their_memory);
    tcase_add_test(c, more_shards_are_read_than_a_process_may_map);
    suite_add_tcase(s, c);
    return tutti_run(s);
}
