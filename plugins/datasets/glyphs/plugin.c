/* plugin.c - glyphs: digits drawn with strokes, a new one for every index. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "glyphs_pixels.h"
#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = GLYPHS_SIDE,
    MAX_POINTS = 16,
    TEST_OFFSET = 1 << 30,
    DIGITS = 10,
    MAX_LENGTH = 64,
    IGNORED = -100
};

/* What a sample is, in the order of the manifest's words. */
enum { SAMPLE_SINGLE, SAMPLE_PAIR, SAMPLE_TRIPLE, SAMPLE_LINE };

/* A digit is polylines through points of the unit square, y downwards; a pen-up has x < 0. */
static const glyphs_point strokes[10][MAX_POINTS] = {
    {{.5f, .1f},
     {.75f, .2f},
     {.8f, .5f},
     {.75f, .8f},
     {.5f, .9f},
     {.25f, .8f},
     {.2f, .5f},
     {.25f, .2f},
     {.5f, .1f},
     {-2, 0}},
    {{.35f, .25f}, {.52f, .1f}, {.52f, .9f}, {-2, 0}},
    {{.22f, .3f},
     {.35f, .12f},
     {.62f, .1f},
     {.77f, .28f},
     {.68f, .48f},
     {.22f, .9f},
     {.8f, .9f},
     {-2, 0}},
    {{.24f, .16f},
     {.5f, .1f},
     {.74f, .2f},
     {.72f, .4f},
     {.45f, .48f},
     {.76f, .58f},
     {.78f, .78f},
     {.52f, .9f},
     {.22f, .84f},
     {-2, 0}},
    {{.66f, .9f}, {.66f, .1f}, {.2f, .65f}, {.84f, .65f}, {-2, 0}},
    {{.76f, .1f},
     {.3f, .1f},
     {.27f, .46f},
     {.55f, .4f},
     {.78f, .55f},
     {.74f, .8f},
     {.5f, .9f},
     {.22f, .83f},
     {-2, 0}},
    {{.7f, .12f},
     {.42f, .2f},
     {.25f, .5f},
     {.27f, .78f},
     {.5f, .9f},
     {.75f, .78f},
     {.74f, .57f},
     {.5f, .48f},
     {.27f, .62f},
     {-2, 0}},
    {{.2f, .1f}, {.8f, .1f}, {.45f, .9f}, {-2, 0}},
    {{.5f, .48f},
     {.27f, .36f},
     {.3f, .16f},
     {.5f, .1f},
     {.7f, .16f},
     {.73f, .36f},
     {.5f, .48f},
     {.76f, .64f},
     {.74f, .84f},
     {.5f, .9f},
     {.26f, .84f},
     {.24f, .64f},
     {.5f, .48f},
     {-2, 0}},
    {{.73f, .4f},
     {.5f, .52f},
     {.27f, .42f},
     {.26f, .2f},
     {.5f, .1f},
     {.72f, .2f},
     {.73f, .4f},
     {.68f, .72f},
     {.42f, .9f},
     {-2, 0}}};

typedef struct glyphs {
    int64_t samples;
    uint64_t seed;
    uint64_t offset;
    float noise;
    float distortion;
    int32_t sample; /* SAMPLE_* */
    int32_t length; /* digits of a line at most; drawings of another sample */
} glyphs;

static float glyphs_between(tutti_stream *s, float low, float high)
{
    return low + (high - low) * (float)tutti_stream_uniform(s);
}

/* The digit's points, moved one by one and then rotated, sheared, scaled and shifted as a whole, in
 * pixels.  Returns how many there are. */
static int glyphs_place(const glyphs *g, tutti_stream *s, int digit, glyphs_point *p)
{
    const float d = g->distortion;
    const float angle = glyphs_between(s, -.35f, .35f) * d,
                shear = glyphs_between(s, -.25f, .25f) * d;
    const float sx = 20.0f * glyphs_between(s, 1 - .25f * d, 1 + .15f * d);
    const float sy = 20.0f * glyphs_between(s, 1 - .25f * d, 1 + .15f * d);
    const float cx = 14.0f + glyphs_between(s, -2.5f, 2.5f) * d,
                cy = 14.0f + glyphs_between(s, -2.5f, 2.5f) * d;
    int n = 0;
    for (; strokes[digit][n].x > -1; n++) {
        const float u = strokes[digit][n].x - .5f + glyphs_between(s, -.05f, .05f) * d;
        const float v = strokes[digit][n].y - .5f + glyphs_between(s, -.05f, .05f) * d;
        const float x = (u + shear * v) * sx, y = v * sy;
        p[n].x = cx + cosf(angle) * x - sinf(angle) * y;
        p[n].y = cy + sinf(angle) * x + cosf(angle) * y;
    }
    return n;
}

/* One drawing into SIDE rows, `stride` pixels from each other; a digit of -1 is grain alone. */
static void glyphs_picture(const glyphs *g, tutti_stream *s, int digit, uint8_t *pixels,
                           int64_t stride)
{
    float ink[GLYPHS_PIXELS] = {0}, grain[GLYPHS_PIXELS];
    glyphs_point p[MAX_POINTS];
    const int n = digit < 0 ? 0 : glyphs_place(g, s, digit, p);
    const float half = glyphs_between(s, .7f, 1.6f), level = glyphs_between(s, .65f, 1.0f);
    for (int k = 0; k + 1 < n; k++)
        TUTTI_ISA_PICK(glyphs_stroke)(ink, p[k], p[k + 1], half);
    TUTTI_ISA_PICK(glyphs_grain)(s, grain);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const int k = y * SIDE + x;
            const float v = 255.0f * (level * ink[k] + g->noise * grain[k]);
            pixels[y * stride + x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
}

/* Another digit than this. */
static int glyphs_other(tutti_stream *s, int digit)
{
    return (digit + 1 + (int)tutti_stream_below(s, DIGITS - 1)) % DIGITS;
}

/* The digits of a sample, `length` of them, -1 where a line has ended; what the target has goes to `target`. */
static void glyphs_choose(const glyphs *g, tutti_stream *s, int *digit, int32_t *target)
{
    const int first = (int)tutti_stream_below(s, DIGITS);
    digit[0] = first;
    target[0] = first;
    if (g->sample == SAMPLE_PAIR) {
        const int alike = tutti_stream_below(s, 2) == 1;
        digit[1] = alike ? first : glyphs_other(s, first);
        target[0] = alike ? 1 : -1;
    } else if (g->sample == SAMPLE_TRIPLE) {
        digit[1] = first;
        digit[2] = glyphs_other(s, first);
    } else if (g->sample == SAMPLE_LINE) {
        const int n = 1 + (int)tutti_stream_below(s, (uint64_t)g->length);
        for (int k = 1; k < g->length; k++) {
            digit[k] = k < n ? (int)tutti_stream_below(s, DIGITS) : -1;
            target[k] = k < n ? digit[k] : IGNORED;
        }
    }
}

static void glyphs_columns(const glyphs *g, tutti_column columns[2])
{
    const int line = g->sample == SAMPLE_LINE;
    const int64_t across = line ? g->length : 1, down = line ? 1 : g->length;
    columns[0] = (tutti_column){"input", {{down * SIDE, across * SIDE, 1}, 3, TUTTI_U8}, 0};
    columns[1] = (tutti_column){"target",
                                line ? (tutti_desc){{g->length}, 1, TUTTI_I32}
                                     : (tutti_desc){{0}, 0, TUTTI_I32},
                                g->sample == SAMPLE_PAIR ? 0 : DIGITS};
}

static tutti_status glyphs_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    (void)err;
    ret->samples = ((const glyphs *)self)->samples;
    ret->ncolumns = 2;
    glyphs_columns(self, ret->columns);
    return TUTTI_OK;
}

static tutti_status glyphs_read(void *self, int64_t index, tutti_tensor *columns,
                                const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const glyphs *g = self;
    tutti_column shape[2];
    int digit[MAX_LENGTH];
    if (index < 0 || index >= g->samples || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "glyphs: sample %lld, there are %lld",
                          (long long)index, (long long)g->samples);
    glyphs_columns(g, shape);
    for (int k = 0; k < 2; k++) {
        columns[k].desc = shape[k].desc;
        if (capacity[k] < tutti_nbytes(&shape[k].desc))
            return tutti_fail(err, TUTTI_E_RANGE, "glyphs: too little room for a sample");
    }
    tutti_stream s =
        tutti_stream_at(g->seed, TUTTI_RNG_DATASET, 0, g->offset + (uint64_t)index);
    glyphs_choose(g, &s, digit, columns[1].data);
    const int64_t stride = shape[0].desc.dim[1], next = stride > SIDE ? SIDE : SIDE * SIDE;
    for (int k = 0; k < g->length; k++)
        glyphs_picture(g, &s, digit[k], (uint8_t *)columns[0].data + k * next, stride);
    return TUTTI_OK;
}

static tutti_status glyphs_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    (void)host;
    glyphs *g = calloc(1, sizeof *g);
    if (!g)
        return tutti_fail(err, TUTTI_E_NOMEM, "glyphs: no memory");
    g->samples = tutti_param_i64(params, "samples");
    g->seed = (uint64_t)tutti_param_i64(params, "seed");
    g->noise = (float)tutti_param_f64(params, "noise");
    g->distortion = (float)tutti_param_f64(params, "distortion");
    g->sample = (int32_t)tutti_param_i64(params, "sample");
    g->length =
        g->sample == SAMPLE_LINE ? (int32_t)tutti_param_i64(params, "length") : g->sample + 1;
    g->offset = strcmp(tutti_param_str(params, "split"), "test") == 0 ? TEST_OFFSET : 0;
    *ret_self = g;
    return TUTTI_OK;
}

static tutti_status glyphs_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const tutti_dataset_v1 table = {
    .struct_size = sizeof table, .info = glyphs_info, .read = glyphs_read};

static const void *glyphs_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = glyphs_open,
                                  .close = glyphs_close,
                                  .query = glyphs_query};
static const tutti_object object = TUTTI_OBJECT_INIT("glyphs", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.glyphs", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
