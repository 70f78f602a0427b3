/* epoch_sampler.c - "sampler" of training data: which samples an epoch has, by weights, by classes, by lengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_sampler.h"
#include "train/data/epoch_sampler_order.h"
#include "train/data/epoch_sampler_read.h"
#include "train/data/permutation.h"

#include <stdlib.h>
#include <string.h>

struct epoch_sampler {
    const run_sampler *settings;
    instance *dataset;
    const tutti_dataset_info *info;
    double *weight;  /* of each sample; NULL before they are read, as is: */
    double *sums;    /* of weights up to each sample */
    int64_t *length; /* of each sample */
    uint32_t threads;
    uint32_t column; /* with the class or the length */
};

static int32_t find_column(const tutti_dataset_info *info, const char *name)
{
    for (uint32_t k = 0; k < info->ncolumns; k++)
        if (strcmp(info->columns[k].name, name) == 0)
            return (int32_t)k;
    return -1;
}

static bool is_whole(int32_t dtype)
{
    return dtype == TUTTI_I32 || dtype == TUTTI_I64 || dtype == TUTTI_U8;
}

/* Whether the column has what the sampler goes by. */
static tutti_status check_column(const epoch_sampler *s, tutti_error *err)
{
    const tutti_column *c = &s->info->columns[s->column];
    const bool mask = strcmp(c->name, "attention_mask") == 0;
    if (s->settings->kind == RUN_SAMPLER_CLASSES &&
        (c->desc.rank != 0 || c->classes < 1 || !is_whole(c->desc.dtype)))
        return tutti_fail(err, TUTTI_E_ARG,
                          "sampler class_balanced: column %s has no class a sample", c->name);
    if (s->settings->kind == RUN_SAMPLER_LENGTHS && mask && is_whole(c->desc.dtype))
        return TUTTI_OK;
    if (s->settings->kind == RUN_SAMPLER_LENGTHS && (c->desc.rank < 1 || c->desc.dim[0] >= 0))
        return tutti_fail(
            err, TUTTI_E_ARG,
            "sampler by_length: samples of column %s do not differ in length, and "
            "there is no column attention_mask",
            c->name);
    return TUTTI_OK;
}

static tutti_status choose_column(epoch_sampler *s, tutti_error *err)
{
    const bool lengths = s->settings->kind == RUN_SAMPLER_LENGTHS;
    const char *name = s->settings->column;
    int32_t k = name ? find_column(s->info, name) : -1;
    if (s->settings->kind == RUN_SAMPLER_WEIGHTS)
        return TUTTI_OK;
    if (!name && lengths)
        k = find_column(s->info, "attention_mask");
    if (!name && k < 0)
        k = find_column(s->info, name = lengths ? "input" : "target");
    if (k < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "sampler: the data have no column %s", name);
    s->column = (uint32_t)k;
    return check_column(s, err);
}

tutti_status epoch_sampler_create(const run_sampler *settings, instance *dataset,
                                  const tutti_dataset_info *info, uint32_t threads,
                                  epoch_sampler **ret_sampler, tutti_error *err)
{
    if (instance_query(dataset, TUTTI_SAMPLE_ORDER_V1))
        return tutti_fail(err, TUTTI_E_ARG, "sampler: dataset %s has an order of its own",
                          instance_name(dataset));
    if (settings->once && settings->samples > info->samples)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "sampler: %lld samples are wanted, each once, there are %lld",
                          (long long)settings->samples, (long long)info->samples);
    epoch_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a sampler");
    *s = (epoch_sampler){
        .settings = settings, .dataset = dataset, .info = info, .threads = threads};
    const tutti_status status = choose_column(s, err);
    if (status)
        epoch_sampler_destroy(s);
    else
        *ret_sampler = s;
    return status;
}

void epoch_sampler_destroy(epoch_sampler *s)
{
    if (!s)
        return;
    free(s->weight);
    free(s->sums);
    free(s->length);
    free(s);
}

int64_t epoch_sampler_places(const epoch_sampler *s)
{
    return s->settings->samples ? s->settings->samples : s->info->samples;
}

/* ---- what is read once ---- */

/* 1 / (samples of its class), so that every class is as likely. */
static tutti_status weigh_classes(epoch_sampler *s, const int64_t *label, tutti_error *err)
{
    const int64_t classes = s->info->columns[s->column].classes;
    int64_t *count = calloc((size_t)classes, sizeof *count);
    if (!count)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to count %lld classes",
                          (long long)classes);
    for (int64_t k = 0; k < s->info->samples; k++)
        count[label[k]]++;
    for (int64_t k = 0; k < s->info->samples; k++)
        s->weight[k] = 1.0 / (double)count[label[k]];
    free(count);
    return TUTTI_OK;
}

/* Whether as many samples have a weight as are wanted, each once. */
static tutti_status check_count(const epoch_sampler *s, tutti_error *err)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->info->samples; k++)
        n += s->weight[k] > 0.0;
    if (!s->settings->once || n >= epoch_sampler_places(s))
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_E_RANGE,
        "sampler: %lld samples are wanted, each once, and %lld have a weight above 0; "
        "\"samples\" sets how many",
        (long long)epoch_sampler_places(s), (long long)n);
}

static tutti_status read_all(epoch_sampler *s, tutti_error *err)
{
    const int kind = s->settings->kind;
    const size_t n = (size_t)s->info->samples;
    tutti_status status = TUTTI_OK;
    s->length = calloc(n, sizeof *s->length);
    s->weight = calloc(n, sizeof *s->weight);
    s->sums = malloc(n * sizeof *s->sums);
    if (!s->length || !s->weight || !s->sums)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %zu samples of a sampler", n);
    if (kind == RUN_SAMPLER_WEIGHTS)
        status =
            epoch_sampler_read_weights(s->settings->weights, s->info->samples, s->weight, err);
    else
        status = epoch_sampler_read_samples(
            s->dataset, s->info, s->column,
            kind == RUN_SAMPLER_CLASSES ? epoch_sampler_class_of : epoch_sampler_length_of,
            s->threads, s->length, err);
    if (!status && kind == RUN_SAMPLER_CLASSES)
        status = weigh_classes(s, s->length, err);
    if (status || kind == RUN_SAMPLER_LENGTHS)
        return status;
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        s->sums[k] = sum += s->weight[k];
    return check_count(s, err);
}

static tutti_status prepare(epoch_sampler *s, tutti_error *err)
{
    const tutti_status status = s->weight ? TUTTI_OK : read_all(s, err);
    if (!status)
        return TUTTI_OK;
    free(s->weight);
    free(s->sums);
    free(s->length);
    s->weight = s->sums = NULL;
    s->length = NULL;
    return status;
}

tutti_status epoch_sampler_order(epoch_sampler *s, const tutti_epoch *epoch, int64_t *index,
                                 tutti_error *err)
{
    const int64_t n = s->info->samples;
    const tutti_status status = prepare(s, err);
    if (status)
        return status;
    if (s->settings->kind == RUN_SAMPLER_LENGTHS) {
        const permutation p =
            permutation_make((uint64_t)n, epoch->seed, (uint64_t)epoch->epoch);
        for (int64_t k = 0; k < n; k++)
            index[k] = (int64_t)permutation_at(&p, (uint64_t)k);
        return epoch_sampler_group(s->length, n, epoch->batch_size, index, err);
    }
    if (s->settings->once)
        return epoch_sampler_draw_once(s->weight, n, epoch, epoch_sampler_places(s), index,
                                       err);
    epoch_sampler_draw(s->sums, n, epoch, epoch_sampler_places(s), index);
    return TUTTI_OK;
}
