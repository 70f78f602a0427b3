/* texts_check.h - tests a metric over texts: sentences as the bytes of their tokens, against torchmetrics' answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXTS_CHECK_H
#define TEXTS_CHECK_H

#include "metric_check.h"
#include "tutti/train.h"
#include "tutti/vocabulary.h"

enum { SENTENCES = 6, LONGEST = 64 };

static const char *const sentences[SENTENCES][2] = {
    {"the cat is on the mat", "there is a cat on the mat"},
    {"hello there, General Kenobi!", "hello there general kenobi"},
    {"the the the the", "the cat the dog"},
    {"a b c d e f", "a b x d e f g h"},
    {"", "nothing was said"},
    {"one two three four five six seven", "one two three four five six seven"},
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
static inline void texts_open(gauge *m, const char *name, const given *g, int named)
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

static inline void texts_given(given *g)
{
    given_init(g);
    given_null(g, "blank");
    given_int(g, "ignore_index", -100);
}

/* Sentences [first, end) as tokens, which end with -100. */
static inline void texts_feed(gauge *m, int first, int end)
{
    static int64_t tokens[2][SENTENCES][LONGEST];
    tutti_error err = TUTTI_ERROR_INIT;
    const int64_t n = end - first;
    for (int side = 0; side < 2; side++)
        for (int k = first; k < end; k++)
            for (size_t j = 0; j < LONGEST; j++)
                tokens[side][k - first][j] = j < strlen(sentences[k][side])
                                                 ? (unsigned char)sentences[k][side][j]
                                                 : -100;
    tutti_tensor said = gauge_tensor(tokens[0], TUTTI_I64, 2, n, LONGEST);
    tutti_tensor wanted = gauge_tensor(tokens[1], TUTTI_I64, 2, n, LONGEST);
    wanted.desc.dim[1] = LONGEST;
    /* one place more: the two do not stand beside each other */
    static int64_t longer[SENTENCES][LONGEST + 1];
    for (int64_t k = 0; k < n; k++) {
        memcpy(longer[k], tokens[0][k], sizeof tokens[0][k]);
        longer[k][LONGEST] = -100;
    }
    said.data = longer;
    said.desc.dim[1] = LONGEST + 1;
    ck_assert_ok(gauge_feed(m, said, wanted, &err), err);
}

/* The metric of all sentences, in two batches. */
static inline double texts_value(const char *name, const given *g)
{
    gauge m;
    texts_open(&m, name, g, 1);
    texts_feed(&m, 0, 2);
    texts_feed(&m, 2, SENTENCES);
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    return value;
}

static inline void texts_refusals(const char *name, const given *g)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t y[2] = {0, 1};
    tutti_error err = TUTTI_ERROR_INIT;
    char want[240];
    gauge m;
    texts_open(&m, name, g, 1);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 3),
                                gauge_tensor(y, TUTTI_I64, 1, 2, 0), &err),
                     TUTTI_E_SHAPE);
    (void)snprintf(
        want, sizeof want,
        "%s: outputs are F32 (2, 3) and targets I64 (2), want logits F32 (B, T, N) or "
        "tokens (B, T), and tokens (B, S)",
        name);
    ck_assert_error(err, TUTTI_E_SHAPE, want);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}

#endif
