/* transform_check.h - a transform under test through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSFORM_CHECK_H
#define TRANSFORM_CHECK_H

#include "plugin_check.h"

#include "tutti/transform.h"

typedef struct bench {
    subject subject;
    const tutti_transform_v1 *table;
    tutti_error err;
} bench;

static inline void bench_open(bench *b, const char *name, const test_settings *g)
{
    memset(b, 0, sizeof *b);
    ck_assert_ok(
        subject_open(&b->subject, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, name, g, NULL, &b->err),
        b->err);
    b->table = subject_query(&b->subject, TUTTI_TRANSFORM_V1);
}

/* One column called "input" through infer. */
static inline tutti_status bench_infer(bench *b, tutti_desc *d)
{
    tutti_column c = {"input", *d, 0};
    b->err = (tutti_error)TUTTI_ERROR_INIT;
    const tutti_status status = b->table->infer(b->subject.self, &c, 1, &b->err);
    *d = c.desc;
    return status;
}

/* An image with a map of its pixels, or a label beside it: the one is refused, the other is not. */
static inline void bench_refuses_maps(bench *b, const char *name)
{
    tutti_column columns[] = {{"image", {{8, 6, 3}, 3, TUTTI_U8}, 0},
                              {"mask", {{8, 6}, 2, TUTTI_I32}, 0}};
    char want[96];
    (void)snprintf(want, sizeof want, "%s moves the pixels of image and would leave mask",
                   name);
    b->err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(b->table->infer(b->subject.self, columns, 2, &b->err),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_msg(strstr(b->err.text, want) == b->err.text, "%s", b->err.text);
    columns[0].desc = (tutti_desc){{8, 6, 3}, 3, TUTTI_U8};
    columns[1].desc = (tutti_desc){{8}, 1, TUTTI_I32};
    b->err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(b->table->infer(b->subject.self, columns, 2, &b->err), b->err);
}

/* Sample `index` of `epoch`; returns what apply returned. */
static inline int32_t bench_apply(bench *b, const tutti_desc *d, const void *in, void *out,
                                  uint64_t epoch, uint64_t index, tutti_desc *ret_desc)
{
    const tutti_tensor from = {(void *)(uintptr_t)in, *d, TUTTI_DEVICE_CPU, 0};
    const tutti_sample sample = {sizeof sample, 1, 17, epoch, index, &from};
    tutti_tensor to = {out, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
    b->err = (tutti_error)TUTTI_ERROR_INIT;
    const int32_t done = b->table->apply(b->subject.self, &sample, 0, &from, &to, &b->err);
    *ret_desc = to.desc;
    return done;
}

/* A picture with some structure: the one from which the sums of Pillow's results were taken. */
static inline void bench_picture(uint8_t *x, int64_t height, int64_t width, int64_t channels)
{
    for (int64_t r = 0; r < height; r++)
        for (int64_t k = 0; k < width; k++)
            for (int64_t c = 0; c < channels; c++)
                *x++ = (uint8_t)(r * 37 + k * 11 + c * 53 + r * k % 29 * 3);
}

/* FNV-1a. */
static inline uint64_t bench_sum(const uint8_t *x, size_t size)
{
    uint64_t h = 14695981039346656037u;
    for (size_t k = 0; k < size; k++)
        h = (h ^ x[k]) * 1099511628211u;
    return h;
}

#endif
