/* picture_change_check.h - a transform of pictures through its entry function, against bytes that torchvision made. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PICTURE_CHANGE_CHECK_H
#define PICTURE_CHANGE_CHECK_H

#include "transform_check.h"

enum { PICTURE_H = 40, PICTURE_W = 50, PICTURE_BYTES = PICTURE_H * PICTURE_W * 3 };

/* What the settings make of a picture, bench_picture where `x` is NULL, for sample `index`; whether it changed. */
static inline int32_t picture_changed(const char *name, const test_settings *g,
                                      const uint8_t *from, int64_t channels, uint64_t index,
                                      uint8_t out[PICTURE_BYTES])
{
    const tutti_desc d = {{PICTURE_H, PICTURE_W, channels}, 3, TUTTI_U8};
    uint8_t x[PICTURE_BYTES];
    bench b;
    tutti_desc made, want = d;
    bench_picture(x, PICTURE_H, PICTURE_W, channels);
    if (from)
        memcpy(x, from, (size_t)tutti_nbytes(&d));
    bench_open(&b, name, g);
    ck_assert_ok(bench_infer(&b, &want), b.err);
    memcpy(out, x, sizeof x);
    const int32_t done = bench_apply(&b, &d, x, out, 3, index, &made);
    ck_assert_int_ge(done, 0);
    if (done)
        ck_assert(tutti_same_shape(&made, &want));
    subject_close(&b.subject);
    return done;
}

/* Its bytes, by their sum (bench_sum). */
static inline void picture_is(const char *name, const test_settings *g, int64_t channels,
                              uint64_t want)
{
    uint8_t out[PICTURE_BYTES];
    ck_assert_int_eq(picture_changed(name, g, NULL, channels, 0, out), 1);
    const uint64_t got = bench_sum(out, (size_t)(PICTURE_H * PICTURE_W * channels));
    ck_assert_msg(got == want, "%s: %#llx, torchvision has %#llx", name,
                  (unsigned long long)got, (unsigned long long)want);
}

/* With p = 0.25 about a quarter of the samples change, the same ones each time; what is no picture stays, and two channels
 * are refused. */
static inline void picture_draws(const char *name, const test_settings *g, int has_p)
{
    enum { DRAWS = 400 };
    uint8_t a[PICTURE_BYTES], c[PICTURE_BYTES];
    const tutti_desc label = {{0}, 0, TUTTI_I32};
    char want[96];
    bench b;
    tutti_desc made, two = {{4, 4, 2}, 3, TUTTI_U8};
    int changed = 0;
    for (uint64_t k = 0; k < DRAWS && has_p; k++)
        changed += picture_changed(name, g, NULL, 1, k, a);
    if (has_p) /* five standard deviations */
        ck_assert_close(changed, 0.25 * DRAWS, 5.0 * sqrt(DRAWS * 0.25 * 0.75));
    (void)picture_changed(name, g, NULL, 3, 7, a);
    (void)picture_changed(name, g, NULL, 3, 7, c);
    ck_assert_mem_eq(a, c, sizeof a);
    bench_open(&b, name, g);
    ck_assert_int_eq(bench_apply(&b, &label, a, c, 1, 1, &made), 0);
    ck_assert_int_eq(bench_infer(&b, &two), TUTTI_E_SHAPE);
    (void)snprintf(want, sizeof want, "%s: column input has 2 channels, want 1 or 3", name);
    ck_assert_error(b.err, TUTTI_E_SHAPE, want);
    subject_close(&b.subject);
}

/* Of a transform whose p is 1 unless set: 0 changes nothing, 1 has the bytes of no p, and with 0.3 about that share of the
 * samples changes, to the bytes that they have with 1.  Leaves p in `g`. */
static inline void picture_probability(const char *name, test_settings *g)
{
    enum { DRAWS = 300, FEW = 20 };
    uint8_t out[PICTURE_BYTES];
    uint64_t unset[DRAWS];
    int changed = 0;
    for (uint64_t k = 0; k < DRAWS; k++) {
        ck_assert_int_eq(picture_changed(name, g, NULL, 3, k, out), 1);
        unset[k] = bench_sum(out, sizeof out);
    }
    test_settings_float(g, "p", 0.3);
    for (uint64_t k = 0; k < DRAWS; k++)
        if (picture_changed(name, g, NULL, 3, k, out)) {
            ck_assert_uint_eq(bench_sum(out, sizeof out), unset[k]);
            changed++;
        }
    ck_assert_close(changed, 0.3 * DRAWS, 5.0 * sqrt(DRAWS * 0.3 * 0.7)); /* five deviations */
    test_settings_float(g, "p", 1.0);
    for (uint64_t k = 0; k < FEW; k++) {
        ck_assert_int_eq(picture_changed(name, g, NULL, 3, k, out), 1);
        ck_assert_uint_eq(bench_sum(out, sizeof out), unset[k]);
    }
    test_settings_float(g, "p", 0.0);
    for (uint64_t k = 0; k < FEW; k++)
        ck_assert_int_eq(picture_changed(name, g, NULL, 3, k, out), 0);
}

#endif
