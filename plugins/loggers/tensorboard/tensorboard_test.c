/* tensorboard_test.c - the logger through its entry function; its files are read by a reader of the test's own. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* images */
#include "run_check.h"
#include "tutti/module.h"
#include "tutti/plan.h"

#include <dirent.h>
#include <png.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static stage run;
static subject it;
static int wants_graph;        /* and: */
static int histogram_interval; /* of the next logger */
static char told[1 << 17];     /* what the reader found, an item a line */

/* ---- the reader: TFRecord and protobuf, by their definitions ---- */

static uint32_t checksum(const unsigned char *data, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t k = 0; k < size; k++) {
        crc ^= data[k];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static uint64_t fixed(const unsigned char *at, int size)
{
    uint64_t v = 0;
    for (int k = size; k-- > 0;)
        v = v << 8 | at[k];
    return v;
}

/* A field of a message: a number, or bytes. */
typedef struct field {
    uint32_t number;
    uint64_t value;
    const unsigned char *data;
    size_t size;
} field;

typedef struct message {
    const unsigned char *at, *end;
} message;

static uint64_t varint(message *m)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        ck_assert(m->at < m->end);
        v |= (uint64_t)(*m->at & 127) << shift;
        if (!(*m->at++ & 128))
            return v;
    }
}

static bool next_field(message *m, field *ret)
{
    if (m->at == m->end)
        return false;
    const uint64_t key = varint(m);
    *ret = (field){.number = (uint32_t)(key >> 3)};
    switch (key & 7) {
    case 0:
        ret->value = varint(m);
        break;
    case 1:
        ret->value = fixed(m->at, 8);
        m->at += 8;
        break;
    case 2:
        ret->size = varint(m);
        ret->data = m->at;
        m->at += ret->size;
        break;
    case 5:
        ret->value = fixed(m->at, 4);
        m->at += 4;
        break;
    default:
        ck_abort_msg("wire type %d", (int)(key & 7));
    }
    ck_assert(m->at <= m->end);
    return true;
}

static message inside(const field *f)
{
    return (message){f->data, f->data + f->size};
}

/* The field at a path of numbers, each within the one before: "9.1.2". */
static bool find(message m, const char *path, field *ret)
{
    char *rest;
    const uint32_t number = (uint32_t)strtoul(path, &rest, 10);
    for (field f; next_field(&m, &f);)
        if (f.number == number) {
            if (!*rest) {
                *ret = f;
                return true;
            }
            if (find(inside(&f), rest + 1, ret))
                return true;
        }
    return false;
}

static double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static float as_float(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, sizeof v);
    return v;
}

TUTTI_PRINTF(1, 2)
static void tell(const char *format, ...)
{
    const size_t used = strlen(told);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(told + used, sizeof told - used, format, args);
    va_end(args);
}

/* HParamsPluginData. */
static void tell_hparams(message content)
{
    field f, part, number;
    if (find(content, "2", &f))
        for (message m = inside(&f); next_field(&m, &part);) {
            const bool metric = part.number == 5;
            if (metric ? find(inside(&part), "1.2", &f) : find(inside(&part), "1", &f))
                tell(" %s %.*s", metric ? "metric" : "setting", (int)f.size, f.data);
            if (!metric && find(inside(&part), "4", &number))
                tell(":%d", (int)number.value);
        }
    if (find(content, "3", &f))
        for (message m = inside(&f); next_field(&m, &part);) {
            field name, value;
            if (part.number == 4)
                tell(" group %.*s", (int)part.size, part.data);
            if (part.number != 1)
                continue;
            ck_assert(find(inside(&part), "1", &name));
            tell(" %.*s=", (int)name.size, name.data);
            if (find(inside(&part), "2.2", &value))
                tell("%g", as_double(value.value));
            else if (find(inside(&part), "2.3", &value))
                tell("'%.*s'", (int)value.size, value.data);
            else if (find(inside(&part), "2.4", &value))
                tell("%s", value.value ? "true" : "false");
        }
    if (find(content, "4.1", &f))
        tell(" status %d", (int)f.value);
}

/* Size, channels and the bytes of an image, rows apart; of colours their places among them. */
static void tell_image(message image)
{
    field height, width, channels, file;
    ck_assert(find(image, "1", &height) && find(image, "2", &width));
    ck_assert(find(image, "3", &channels) && find(image, "4", &file));
    png_image p = {.version = PNG_IMAGE_VERSION};
    ck_assert(png_image_begin_read_from_memory(&p, file.data, file.size));
    ck_assert_uint_eq(p.height, height.value);
    ck_assert_uint_eq(p.width, width.value);
    unsigned char pixels[4096];
    ck_assert_uint_le(PNG_IMAGE_SIZE(p), sizeof pixels);
    const uint32_t each =
        PNG_IMAGE_PIXEL_CHANNELS(p.format & ~(uint32_t)PNG_FORMAT_FLAG_COLORMAP);
    p.format &= ~(uint32_t)PNG_FORMAT_FLAG_COLORMAP;
    ck_assert(png_image_finish_read(&p, NULL, pixels, 0, NULL));
    ck_assert_uint_eq(each, channels.value);
    tell(" %ux%ux%u", p.height, p.width, each);
    for (uint32_t k = 0; k < p.height * p.width * each; k++)
        tell("%s%u", k % (p.width * each) ? " " : " | ", pixels[k]);
}

/* HistogramProto: what it says of all numbers, how many buckets there are, and the right end of each with some. */
static void tell_histogram(message histogram)
{
    static const char *const facts[] = {"1", "2", "3", "4", "5"};
    field f, limits, counts;
    tell(" histogram");
    for (int k = 0; k < 5; k++) {
        ck_assert(find(histogram, facts[k], &f));
        tell(" %.7g", as_double(f.value));
    }
    ck_assert(find(histogram, "6", &limits) && find(histogram, "7", &counts));
    ck_assert_uint_eq(limits.size, counts.size);
    ck_assert(as_double(fixed(counts.data, 8)) ==
              0); /* TensorBoard takes the first limit for the left end */
    tell(" in %zu:", limits.size / 8);
    for (size_t at = 0; at < limits.size; at += 8) {
        const double count = as_double(fixed(counts.data + at, 8));
        if (count != 0)
            tell(" %.12g:%g", as_double(fixed(limits.data + at, 8)), count);
    }
}

/* GraphDef: a line a node, "NAME OP(INPUTS) TYPE [SHAPES]". */
static void tell_graph(message graph)
{
    field node, f, part, attr, dim;
    while (next_field(&graph, &node)) {
        if (node.number != 1)
            continue;
        ck_assert(find(inside(&node), "1", &f) && find(inside(&node), "2", &part));
        tell("node %.*s %.*s(", (int)f.size, f.data, (int)part.size, part.data);
        for (message m = inside(&node); next_field(&m, &part);)
            if (part.number == 3)
                tell(" %.*s", (int)part.size, part.data);
        tell(" )");
        for (message m = inside(&node); next_field(&m, &part);) {
            if (part.number != 5)
                continue;
            ck_assert(find(inside(&part), "1", &attr));
            if (find(inside(&part), "2.6", &f))
                tell(" %.*s %d", (int)attr.size, attr.data, (int)f.value);
            if (!find(inside(&part), "2.1", &f))
                continue;
            for (message shapes = inside(&f); next_field(&shapes, &attr);) {
                tell(" [");
                for (message dims = inside(&attr); next_field(&dims, &dim);) {
                    ck_assert(find(inside(&dim), "1", &f));
                    tell(" %d", (int)f.value);
                }
                tell(" ]");
            }
        }
        tell("\n");
    }
}

static void tell_event(message event)
{
    field step = {0}, f, tag, part;
    ck_assert(find(event, "1", &f));
    ck_assert(as_double(f.value) > 1.6e9);
    (void)find(event, "2", &step);
    if (find(event, "3", &f))
        tell("version %.*s\n", (int)f.size, f.data);
    if (find(event, "7.1", &f))
        tell("%d session %d\n", (int)step.value, (int)f.value);
    if (find(event, "4", &f))
        tell_graph(inside(&f));
    if (!find(event, "5", &f))
        return;
    for (message m = inside(&f); next_field(&m, &part);) {
        const message value = inside(&part);
        ck_assert(find(value, "1", &tag));
        tell("%d %.*s", (int)step.value, (int)tag.size, tag.data);
        if (find(value, "2", &f))
            tell(" %g", (double)as_float(f.value));
        if (find(value, "5", &f))
            tell_histogram(inside(&f));
        if (find(value, "4", &f))
            tell_image(inside(&f));
        if (find(value, "9.1.1", &f))
            tell(" (%.*s)", (int)f.size, f.data);
        if (find(value, "8.8", &f))
            tell(" \"%.*s\"", (int)f.size, f.data);
        if (find(value, "9.1.2", &f))
            tell_hparams(inside(&f));
        tell("\n");
    }
}

/* The whole file; every checksum holds. */
static void tell_file(const char *path)
{
    struct stat st;
    FILE *in = fopen(path, "re");
    ck_assert_ptr_nonnull(in);
    ck_assert_int_eq(fstat(fileno(in), &st), 0);
    const size_t size = (size_t)st.st_size;
    unsigned char *data = malloc(size + 1);
    ck_assert_uint_eq(fread(data, 1, size, in), size);
    (void)fclose(in);
    for (size_t at = 0; at < size;) {
        ck_assert_uint_le(at + 16, size);
        const uint64_t n = fixed(data + at, 8);
        ck_assert_uint_le(at + 16 + n, size);
        ck_assert_uint_eq(fixed(data + at + 8, 4), checksum(data + at, 8));
        ck_assert_uint_eq(fixed(data + at + 12 + n, 4), checksum(data + at + 12, n));
        tell_event((message){data + at + 12, data + at + 12 + n});
        at += 16 + n;
    }
    free(data);
}

/* All files of the run, in the order of their names, which is that of time. */
static const char *read_all(void)
{
    char folder[400], path[800];
    struct dirent **entries;
    told[0] = '\0';
    (void)snprintf(folder, sizeof folder, "%s/tb/trial", run.run_folder);
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int k = 0; k < n; k++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entries[k]->d_name);
        if (strstr(path, "/events.out.tfevents."))
            tell_file(path);
        free(entries[k]);
    }
    if (n >= 0)
        free(entries);
    return told;
}

/* ---- the logger ---- */

static const tutti_logger_v1 *open_it(int flush_interval, int queue_size, double flush_timeout)
{
    char folder[400];
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)snprintf(folder, sizeof folder, "%s/tb", run.run_folder);
    test_settings_init(&g);
    test_settings_path(&g, "log_dir", folder);
    test_settings_int(&g, "flush_interval", flush_interval);
    test_settings_int(&g, "queue_size", queue_size);
    test_settings_float(&g, "flush_timeout", flush_timeout);
    test_settings_int(&g, "histogram_interval", histogram_interval);
    test_settings_bool(&g, "graph", wants_graph);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "tensorboard", &g,
                              run.services, &err),
                 err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

static void log_value(const tutti_logger_v1 *table, const char *name, double value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {name, value};
    ck_assert_ok(table->metrics(it.self, &v, 1, (uint64_t)run.time.batch, &err), err);
}

START_TEST(a_run_is_what_an_independent_reader_finds)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_text h[] = {{"seed", "17"},
                                  {"model", "\"cnn\""},
                                  {"autoresume", "true"},
                                  {"lr", "0.05"},
                                  {"sizes", "[1, 2]"}};
    const tutti_named_value v[] = {{"loss/train/total", 0.25}, {"lr-sgd/group0", 0.5}};
    stage_init(&run);
    const tutti_logger_v1 *table = open_it(100, 64, 100);
    ck_assert_ok(table->hyperparameters(it.self, h, 5, &err), err);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "begins", &err), err);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_DEBUG, "train", "whispers", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    stage_next_batch(&run);
    ck_assert_ok(table->metrics(it.self, v, 2, 1, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
    log_value(table, "metrics/eval/accuracy", 0.75);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    stage_next_batch(&run);
    log_value(table, "loss/train/total", NAN);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert_ptr_nonnull(strstr(table->location(it.self), run.run_folder));
    ck_assert_ptr_nonnull(strstr(table->location(it.self), "/tb/trial"));
    subject_close(&it);
    ck_assert_str_eq(
        read_all(),
        "version brain.Event:2\n"
        "0 session 1\n"
        "0 messages (text) \"train: begins\"\n"
        "1 loss/train/total 0.25\n"
        "1 lr-sgd/group0 0.5\n"
        "1 metrics/eval/accuracy 0.75\n"
        "1 hparams/loss/train/total 0.25\n"
        "1 hparams/metrics/eval/accuracy 0.75\n"
        "0 _hparams_/experiment (hparams) setting seed:3 setting model:1 setting autoresume:2 "
        "setting lr:3 setting sizes:1 metric hparams/loss/train/total metric "
        "hparams/metrics/eval/accuracy\n"
        "0 _hparams_/session_start_info (hparams) seed=17 model='cnn' autoresume=true lr=0.05 "
        "sizes='[1, 2]' group trial\n"
        "2 loss/train/total nan\n"
        "0 _hparams_/session_end_info (hparams) status 1\n");
    ck_assert_str_eq(run.noted, "");
    stage_fini(&run);
}
END_TEST

/* Images of one pixel: as make_grid of torch.utils.tensorboard has them, 8 in a row, and numbers as its make_image:
 * cut to 0 to 1, 255 times as much, without what is behind the point. */
START_TEST(images_are_one_picture_and_masks_one_each)
{
    tutti_error err = TUTTI_ERROR_INIT;
    float values[10];
    int32_t classes[10];
    for (int k = 0; k < 10; k++) {
        values[k] = (float)k * 0.125f;
        classes[k] = k < 9 ? k : 300;
    }
    values[2] = -1;
    uint8_t colours[] = {1, 2, 3, 4, 5, 6};
    const tutti_tensor grey = {values, {{10, 1, 1, 1}, 4, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_tensor rgb = {colours, {{1, 1, 2, 3}, 4, TUTTI_U8}, TUTTI_DEVICE_CPU, 0};
    const tutti_image_mask mask = {"prediction", classes};
    const tutti_images masked = {.struct_size = sizeof masked,
                                 .nmasks = 1,
                                 .name = "Images/Train",
                                 .pixels = &grey,
                                 .masks = &mask};
    const tutti_images plain = {
        .struct_size = sizeof plain, .name = "Images/Eval", .pixels = &rgb};
    stage_init(&run);
    const tutti_logger_v1 *table = open_it(100, 64, 100);
    ck_assert_ok(table->images(it.self, &masked, 3, &err), err);
    ck_assert_ok(table->images(it.self, &plain, 4, &err), err);
    subject_close(&it);
    ck_assert_str_eq(
        read_all(), "version brain.Event:2\n"
                    "3 Images/Train 2x8x1 | 0 31 0 95 127 159 191 223 | 255 255 0 0 0 0 0 0\n"
                    "3 Images/Train/prediction 2x8x3"
                    " | 0 0 0 128 0 0 0 128 0 128 128 0 0 0 128 128 0 128 0 128 128 128 128 128"
                    " | 64 0 0 224 224 192 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                    "4 Images/Eval 1x2x3 | 1 2 3 4 5 6\n");
    stage_fini(&run);
}
END_TEST

/* torch 2.15.0: make_histogram of torch.utils.tensorboard.summary on the same numbers, buckets of SummaryWriter. */
START_TEST(histograms_of_weights_and_gradients_are_as_add_histogram_has_them)
{
    static float w[] = {0.5f, -0.25f, 0, 0.5f, 0.51f, 1e-13f};
    static float g[] = {-0.001f, -0.001f * 1.05f, NAN, -3e-13f, INFINITY, 2e20f};
    static float still[4], mean[] = {1, 2};
    stage_init(&run);
    stage_weight(&run, "fc.weight", 6, w, g);
    stage_weight(&run, "fc.bias", 4, still, NULL); /* frozen */
    stage_weight(&run, "norm.mean", 2, mean, NULL);
    run.weights.list[0].flags = run.weights.list[1].flags = TUTTI_WEIGHT_TRAINABLE;
    histogram_interval = 2;
    (void)open_it(100, 64, 100);
    for (int k = 0; k < 3; k++) {
        stage_next_batch(&run);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    subject_close(&it);
    ck_assert_str_eq(read_all(),
                     "version brain.Event:2\n"
                     "2 param/fc.weight histogram -0.25 0.51 6 1.26 0.8226 in 562:"
                     " -0.241539642134:1 1e-12:2 0.517761674049:3\n"
                     "2 grad/fc.weight histogram -0.00105 -3e-13 3 -0.00205 2.1025e-06 in 220:"
                     " -0.000959870576833:2 0:1\n"
                     "2 messages (text) \"tensorboard: grad/fc.weight: 3 of 6 numbers are not "
                     "finite or beyond"
                     " 1e20, and in no histogram\"\n"
                     "2 param/fc.bias histogram 0 0 4 0 0 in 2: 1e-12:4\n");
    ck_assert_str_eq(run.noted, "");
    stage_fini(&run);
}
END_TEST

/* A graph of a layer whose operation has two results, of which the second is read, and of what belongs to none. */
static const uint32_t of_matmul[] = {1, 2}, of_norm[] = {3, 0, 4}, of_relu[] = {6};
static const tutti_planned_value graph_values[] = {
    {.kind = TUTTI_PLANNED_INPUT, .name = "x", .desc = {{8, 4}, 2, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_WEIGHT, .name = "head.fc.weight", .desc = {{4, 2}, 2, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_RESULT,
     .name = "matmul",
     .module = "head.fc",
     .operands = of_matmul,
     .noperands = 2,
     .first = 3,
     .desc = {{8, 2}, 2, TUTTI_BF16}},
    {.kind = TUTTI_PLANNED_CONSTANT, .desc = {.dtype = TUTTI_F32}},
    {.kind = TUTTI_PLANNED_RESULT,
     .name = "norm",
     .operands = of_norm,
     .noperands = 3,
     .first = 5,
     .desc = {{8, 2}, 2, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_RESULT,
     .name = "norm",
     .operands = of_norm,
     .noperands = 3,
     .first = 5,
     .desc = {{2}, 1, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_WEIGHT, .name = "nobody.reads", .desc = {{4}, 1, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_RESULT,
     .name = "relu",
     .operands = of_relu,
     .noperands = 1,
     .first = 8,
     .desc = {{2}, 1, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_RESULT,
     .name = "relu",
     .operands = of_relu,
     .noperands = 1,
     .first = 9,
     .desc = {{2}, 1, TUTTI_F32}},
    {.kind = TUTTI_PLANNED_OTHER},
};
static const uint32_t graph_size = sizeof graph_values / sizeof *graph_values;

static tutti_status graph_describe(void *ctx, tutti_plan_facts *ret, tutti_error *err)
{
    (void)ctx, (void)err;
    *ret = (tutti_plan_facts){.struct_size = sizeof *ret, .values = graph_size};
    return TUTTI_OK;
}

static tutti_status graph_value(void *ctx, uint32_t k, tutti_planned_value *ret,
                                tutti_error *err)
{
    (void)ctx, (void)err;
    ck_assert(k >= 1 && k <= graph_size);
    *ret = graph_values[k - 1];
    ret->struct_size = sizeof *ret;
    ret->name = ret->name ? ret->name : "";
    ret->module = ret->module ? ret->module : "";
    ret->first = ret->first ? ret->first : k;
    return TUTTI_OK;
}

START_TEST(the_graph_has_operations_below_their_modules)
{
    static const tutti_plan_v1 plan = {
        .struct_size = sizeof plan, .describe = graph_describe, .value = graph_value};
    stage_init(&run);
    run.services[6] = (service){TUTTI_PLAN_V1, &plan};
    wants_graph = 1;
    (void)open_it(100, 64, 100);
    for (int k = 0; k < 3; k++) {
        stage_next_batch(&run);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    subject_close(&it);
    ck_assert_str_eq(
        read_all(), "version brain.Event:2\n"
                    "node inputs/x input( ) [ 8 4 ] dtype 1\n"
                    "node head/fc/weight weight( ) [ 4 2 ] dtype 1\n"
                    "node head/fc/matmul_0 matmul( inputs/x head/fc/weight ) [ 8 2 ] dtype 14\n"
                    "node constants/0 constant( ) [ ] dtype 1\n"
                    "node norm_0 norm( head/fc/matmul_0 constants/0 ) [ 8 2 ] [ 2 ] dtype 1\n"
                    "node relu_0 relu( norm_0:1 ) [ 2 ] dtype 1\n"
                    "node relu_1 relu( norm_0:1 ) [ 2 ] dtype 1\n");
    ck_assert_str_eq(run.noted, "");
    stage_fini(&run);
}
END_TEST

START_TEST(a_run_without_weights_has_no_histograms)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    run.services[2] = (service){"tutti.other/1", NULL};
    test_settings_init(&g);
    test_settings_null(&g, "log_dir");
    test_settings_int(&g, "flush_interval", 1);
    test_settings_int(&g, "queue_size", 64);
    test_settings_float(&g, "flush_timeout", 1);
    test_settings_int(&g, "histogram_interval", 1);
    test_settings_bool(&g, "graph", 0);
    (void)subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "tensorboard", &g, run.services,
                       &err);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED, "tensorboard: this host has no tutti.weights/1");
    stage_fini(&run);
}
END_TEST

START_TEST(a_resumed_run_says_where_it_goes_on)
{
    stage_init(&run);
    const tutti_logger_v1 *table = open_it(1, 64, 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    for (int k = 0; k < 3; k++) {
        stage_next_batch(&run);
        log_value(table, "loss", k);
    }
    subject_close(&it);
    run.time.batch = 2;
    table = open_it(1, 64, 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    stage_next_batch(&run);
    log_value(table, "loss", 5);
    subject_close(&it);
    ck_assert_str_eq(read_all(),
                     "version brain.Event:2\n0 session 1\n1 loss 0\n2 loss 1\n3 loss 2\n"
                     "version brain.Event:2\n3 session 1\n3 loss 5\n");
    stage_fini(&run);
}
END_TEST

START_TEST(nothing_is_lost_over_a_full_disk_and_it_is_told_once)
{
    char want[3000] = "version brain.Event:2\n0 session 1\n";
    struct rlimit limit, small;
    stage_init(&run);
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){200, limit.rlim_max};
    const tutti_logger_v1 *table = open_it(1, 64, 100);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    for (int k = 0; k < 50; k++) {
        stage_next_batch(&run);
        log_value(table, "loss", k);
        const size_t used = strlen(want);
        (void)snprintf(want + used, sizeof want - used, "%d loss %d\n", k + 1, k);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    while (!run.noted[0]) {
        (void)usleep(10000);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    ck_assert_ptr_nonnull(strstr(run.noted, "tensorboard: cannot write "));
    ck_assert_ptr_nonnull(
        strstr(run.noted, ": File too large; what is logged is kept and sent when it can be"));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    subject_close(&it);
    ck_assert_str_eq(read_all(), want);
    ck_assert_str_eq(run.noted, "tensorboard: can send again");
    stage_fini(&run);
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_costs_nothing_but_a_sentence)
{
    char path[400], want[1000];
    stage_init(&run);
    (void)snprintf(path, sizeof path, "%s/tb", run.run_folder);
    FILE *f = fopen(path, "we"); /* a file where the folder is to be */
    ck_assert_ptr_nonnull(f);
    (void)fclose(f);
    const tutti_logger_v1 *table = open_it(1, 64, 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_value(table, "loss", 1);
    while (!run.noted[0]) {
        (void)usleep(10000);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    ck_assert_ptr_nonnull(strstr(run.noted, ": Not a directory; what is logged is kept"));
    subject_close(&it);
    (void)snprintf(want, sizeof want,
                   "they wait in %s/tensorboard.waiting for the next run in its folder",
                   run.run_folder);
    ck_assert_ptr_nonnull(strstr(run.noted, want));
    ck_assert_int_eq(unlink(path), 0);
    run.noted[0] = '\0';
    table = open_it(1, 64, 100);
    log_value(table, "loss", 2);
    subject_close(&it);
    ck_assert_str_eq(read_all(), "version brain.Event:2\n0 session 1\n0 loss 1\n0 loss 2\n");
    ck_assert_str_eq(run.noted, "");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensorboard");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_run_is_what_an_independent_reader_finds);
    tcase_add_test(tc, images_are_one_picture_and_masks_one_each);
    tcase_add_test(tc, histograms_of_weights_and_gradients_are_as_add_histogram_has_them);
    tcase_add_test(tc, the_graph_has_operations_below_their_modules);
    tcase_add_test(tc, a_run_without_weights_has_no_histograms);
    tcase_add_test(tc, a_resumed_run_says_where_it_goes_on);
    tcase_add_test(tc, nothing_is_lost_over_a_full_disk_and_it_is_told_once);
    tcase_add_test(tc, a_folder_that_cannot_be_made_costs_nothing_but_a_sentence);
    return tutti_run(suite);
}
