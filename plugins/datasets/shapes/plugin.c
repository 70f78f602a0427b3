/* plugin.c - shapes: circles, squares and triangles with the class of each pixel, a new picture for every index. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/dataset.h"
#include "tutti/rng.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, TEST_OFFSET = 1 << 30 };
enum { BACKGROUND, CIRCLE, SQUARE, TRIANGLE, CLASSES };
enum { KINDS = CLASSES - 1 };

typedef struct shapes {
    int64_t samples;
    int64_t size;
    int64_t most; /* shapes of a picture */
    uint64_t seed;
    uint64_t offset;
    double noise;
    int32_t labels; /* the target says which kinds occur, not where */
    int32_t reserved;
} shapes;

/* One shape: its place in pixels, and how it is rotated. */
typedef struct shape {
    int32_t kind;
    float x, y, radius, sine, cosine;
    float colour[CHANNELS];
} shape;

static float shapes_between(tutti_stream *s, double low, double high)
{
    return (float)(low + (high - low) * tutti_stream_uniform(s));
}

/* A colour each of whose channels differs from the ground's by 0.2 to 0.5. */
static shape draw_shape(tutti_stream *s, int64_t size, const float *ground)
{
    const double n = (double)size;
    shape h = {.kind = CIRCLE + (int32_t)tutti_stream_below(s, KINDS)};
    h.radius = shapes_between(s, 0.18, 0.3) * (float)n;
    h.x = shapes_between(s, 0.2, 0.8) * (float)n;
    h.y = shapes_between(s, 0.2, 0.8) * (float)n;
    const float angle = shapes_between(s, -0.3, 0.3);
    h.sine = sinf(angle);
    h.cosine = cosf(angle);
    for (int c = 0; c < CHANNELS; c++) {
        const float away = shapes_between(s, 0.2, 0.5);
        const int up = tutti_stream_uniform(s) < 0.5;
        const float first = ground[c] + (up ? away : -away);
        h.colour[c] = first < 0.0f || first > 1.0f ? ground[c] + (up ? -away : away) : first;
    }
    return h;
}

/* Circles of the radius; squares and triangles inscribed in one. */
static int shapes_covers(const shape *h, float x, float y)
{
    const float dx = x - h->x, dy = y - h->y;
    const float u = h->cosine * dx + h->sine * dy, v = h->cosine * dy - h->sine * dx;
    const float half = h->radius * 0.70710678f;
    if (h->kind == CIRCLE)
        return u * u + v * v < h->radius * h->radius;
    if (h->kind == SQUARE)
        return fabsf(u) < half && fabsf(v) < half;
    return v > -0.5f * h->radius && 1.73205081f * fabsf(u) + v < h->radius;
}

/* The shape on top at a pixel, or -1. */
static int64_t top_at(const shape *all, int64_t n, int64_t x, int64_t y)
{
    while (n-- > 0)
        if (shapes_covers(&all[n], (float)x + 0.5f, (float)y + 0.5f))
            return n;
    return -1;
}

/* Of mean 0 and deviation 1: a sum of two uniform numbers. */
static float shapes_grain(tutti_stream *s)
{
    const float u = tutti_uniform_f32(tutti_stream_u32(s));
    return 2.44948974f * (u + tutti_uniform_f32(tutti_stream_u32(s)) - 1.0f);
}

static void shapes_paint(const shapes *d, tutti_stream *s, uint8_t *pixels, int32_t *classes)
{
    enum { MOST = 16 };
    shape all[MOST];
    float ground[CHANNELS];
    for (int c = 0; c < CHANNELS; c++)
        ground[c] = shapes_between(s, 0.0, 1.0);
    const int64_t n = 1 + (int64_t)tutti_stream_below(s, (uint32_t)d->most);
    for (int64_t k = 0; k < n; k++)
        all[k] = draw_shape(s, d->size, ground);
    for (int64_t p = 0; p < d->size * d->size; p++) {
        const int64_t top = top_at(all, n, p % d->size, p / d->size);
        classes[p] = top < 0 ? BACKGROUND : all[top].kind;
        for (int c = 0; c < CHANNELS; c++) {
            const float clean = top < 0 ? ground[c] : all[top].colour[c];
            const float v = 255.0f * (clean + (float)d->noise * shapes_grain(s));
            pixels[p * CHANNELS + c] = (uint8_t)fminf(fmaxf(v, 0.0f), 255.0f);
        }
    }
}

/* Which kinds have a pixel. */
static void shapes_label(const int32_t *classes, int64_t n, float *ret)
{
    memset(ret, 0, KINDS * sizeof *ret);
    for (int64_t p = 0; p < n; p++)
        if (classes[p] != BACKGROUND)
            ret[classes[p] - CIRCLE] = 1.0f;
}

static void shapes_describe(const shapes *d, tutti_column *ret)
{
    const tutti_column input = {"input", {{d->size, d->size, CHANNELS}, 3, TUTTI_U8}, 0};
    const tutti_column map = {"target", {{d->size, d->size}, 2, TUTTI_I32}, CLASSES};
    const tutti_column row = {"target", {{KINDS}, 1, TUTTI_F32}, 0};
    ret[0] = input;
    ret[1] = d->labels ? row : map;
}

static tutti_status shapes_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const shapes *d = self;
    (void)err;
    ret->samples = d->samples;
    ret->ncolumns = 2;
    shapes_describe(d, ret->columns);
    return TUTTI_OK;
}

static tutti_status shapes_read(void *self, int64_t index, tutti_tensor *columns,
                                const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const shapes *d = self;
    tutti_column all[2];
    if (index < 0 || index >= d->samples || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "shapes: sample %lld, there are %lld",
                          (long long)index, (long long)d->samples);
    shapes_describe(d, all);
    for (int k = 0; k < 2; k++) {
        columns[k].desc = all[k].desc;
        if (capacity[k] < tutti_nbytes(&all[k].desc))
            return tutti_fail(err, TUTTI_E_RANGE, "shapes: too little room for a sample");
    }
    const int64_t pixels = d->size * d->size;
    int32_t *classes = d->labels ? malloc((size_t)pixels * sizeof *classes) : columns[1].data;
    if (!classes)
        return tutti_fail(err, TUTTI_E_NOMEM, "shapes: no memory for a map");
    tutti_stream s =
        tutti_stream_at(d->seed, TUTTI_RNG_DATASET, 0, d->offset + (uint64_t)index);
    shapes_paint(d, &s, columns[0].data, classes);
    if (d->labels) {
        shapes_label(classes, pixels, columns[1].data);
        free(classes);
    }
    return TUTTI_OK;
}

static tutti_status shapes_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    (void)host;
    shapes *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "shapes: no memory");
    d->samples = tutti_param_i64(params, "samples");
    d->size = tutti_param_i64(params, "size");
    d->most = tutti_param_i64(params, "shapes");
    d->seed = (uint64_t)tutti_param_i64(params, "seed");
    d->noise = tutti_param_f64(params, "noise");
    d->labels = strcmp(tutti_param_str(params, "target"), "labels") == 0;
    d->offset = strcmp(tutti_param_str(params, "split"), "test") == 0 ? TEST_OFFSET : 0;
    *ret_self = d;
    return TUTTI_OK;
}

static tutti_status shapes_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *shapes_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = shapes_info, .read = shapes_read};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = shapes_open,
                                  .close = shapes_close,
                                  .query = shapes_query};
static const tutti_object object = TUTTI_OBJECT_INIT("shapes", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.shapes", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
