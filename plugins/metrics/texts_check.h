/* texts_check.h - tests a metric over texts: sentences as the bytes of their tokens, against torchmetrics' answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXTS_CHECK_H
#define TEXTS_CHECK_H

#include "metric_check.h"
#include "tutti/train.h"
#include "tutti/vocabulary.h"

enum { SENTENCES = 6, REFERENCES = 3, SUMMARIES = 3, LONGEST = 128 };

static const char *const sentences[SENTENCES][2] = {
    {"the cat is on the mat", "there is a cat on the mat"},
    {"hello there, General Kenobi!", "hello there general kenobi"},
    {"the the the the", "the cat the dog"},
    {"a b c d e f", "a b x d e f g h"},
    {"", "nothing was said"},
    {"one two three four five six seven", "one two three four five six seven"},
};

/* Further references of each sentence; NULL: none. */
static const char *const others[SENTENCES][REFERENCES - 1] = {
    {"the cat lay on a mat", "on the mat the cat is"},
    {NULL, "hello there general"},
    {"the the cat", NULL},
    {NULL, NULL},
    {"nothing", "he said nothing at all"},
    {"one two three", "seven six five four three two one and zero"},
};

/* Lines are sentences: of the prediction, then of the target. */
static const char *const summaries[SUMMARIES][2] = {
    {"The cat sat on the mat.\nIt was warm there, so the cat slept.",
     "A cat slept on the warm mat.\nThe dog sat there.\n\nIt was so."},
    {"one two three\nfour five\nsix", "six five four\nthree two one"},
    {"w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"},
};

/* A token is a byte. */
static inline const char *byte_of(void *self, int64_t token, uint64_t *ret_size)
{
    static char bytes[256];
    (void)self;
    if (token < 0 || token > 255)
        return NULL;
    bytes[token] = (char)token;
    *ret_size = 1;
    return &bytes[token];
}

static inline const void *dataset_of(void *ctx, const char *interface_id, void **ret_self)
{
    static const tutti_vocabulary_v1 table = {.struct_size = sizeof table, .token = byte_of};
    *ret_self = ctx;
    return strcmp(interface_id, TUTTI_VOCABULARY_V1) == 0 ? &table : NULL;
}

/* With `named` there is a vocabulary of bytes. */
static inline void texts_open(gauge *m, const char *name, const test_settings *g, int named)
{
    static const tutti_train_v1 table = {.struct_size = sizeof table, .dataset = dataset_of};
    const service services[] = {{named ? TUTTI_TRAIN_V1 : "none", &table}, {NULL, NULL}};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(
        subject_open(&m->subject, PLUGIN_PATH, TUTTI_KIND_METRIC, name, g, services, &err),
        err);
    m->table = (const tutti_metric_v1 *)subject_query(&m->subject, TUTTI_METRIC_V1);
    ck_assert_str_eq(m->table->name, name);
    ck_assert(isnan(gauge_read(m)));
}

static inline void texts_given(test_settings *g)
{
    test_settings_init(g);
    test_settings_null(g, "blank");
    test_settings_int(g, "ignore_index", -100);
}

/* A text as tokens, which end with -100. */
static inline void texts_row(int64_t *row, const char *said)
{
    const size_t n = said ? strlen(said) : 0;
    ck_assert_uint_le(n, LONGEST);
    for (size_t j = 0; j < LONGEST; j++)
        row[j] = j < n ? (unsigned char)said[j] : -100;
}

/* Sentences [first, end); with `several` beside all references. */
static inline void texts_feed(gauge *m, int first, int end, int several)
{
    static int64_t said[SENTENCES][LONGEST], wanted[SENTENCES * REFERENCES][LONGEST];
    tutti_error err = TUTTI_ERROR_INIT;
    const int64_t n = end - first;
    const int each = several ? REFERENCES : 1;
    for (int k = first; k < end; k++) {
        texts_row(said[k - first], sentences[k][0]);
        for (int r = 0; r < each; r++)
            texts_row(wanted[(k - first) * each + r], r ? others[k][r - 1] : sentences[k][1]);
    }
    tutti_tensor targets = gauge_tensor(wanted, TUTTI_I64, 2, n, LONGEST);
    if (several)
        targets.desc = (tutti_desc){{n, REFERENCES, LONGEST}, 3, TUTTI_I64};
    ck_assert_ok(gauge_feed(m, gauge_tensor(said, TUTTI_I64, 2, n, LONGEST), targets, &err),
                 err);
}

/* The metric of all sentences, in two batches. */
static inline double texts_value(const char *name, const test_settings *g, int several)
{
    gauge m;
    texts_open(&m, name, g, 1);
    texts_feed(&m, 0, 2, several);
    texts_feed(&m, 2, SENTENCES, several);
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    return value;
}

static inline void texts_refusals(const char *name, const test_settings *g)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t y[2] = {0, 1};
    tutti_error err = TUTTI_ERROR_INIT;
    char want[320];
    gauge m;
    texts_open(&m, name, g, 1);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 3),
                                gauge_tensor(y, TUTTI_I64, 1, 2, 0), &err),
                     TUTTI_E_SHAPE);
    (void)snprintf(
        want, sizeof want,
        "%s: outputs are F32 (2, 3) and targets I64 (2), want logits F32 (B, T, N) or "
        "tokens (B, T), and tokens (B, S) or (B, R, S); of classes accuracy, f1_score or "
        "cross_entropy fits these",
        name);
    ck_assert_error(err, TUTTI_E_SHAPE, want);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}

#endif
