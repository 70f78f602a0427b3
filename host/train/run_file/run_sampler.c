/* run_sampler.c - "sampler" of training data. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"weighted", "class_balanced", "by_length", NULL};

typedef struct sampler_text {
    int name; /* in `names` */
    bool replacement;
    int64_t samples;
    const char *column, *weights;
} sampler_text;

static const json_member rows[] = {
    {.name = "name",
     .type = MEMBER_CHOICE,
     .flags = MEMBER_REQUIRED,
     .words = names,
     MEMBER_AT(sampler_text, name)},
    {.name = "weights", .type = MEMBER_STRING, MEMBER_AT(sampler_text, weights)},
    {.name = "column", .type = MEMBER_STRING, MEMBER_AT(sampler_text, column)},
    {.name = "replacement", .type = MEMBER_BOOL, MEMBER_AT(sampler_text, replacement)},
    {.name = "samples",
     .type = MEMBER_INT,
     .min = 1,
     .max = INT64_C(1) << 40,
     MEMBER_AT(sampler_text, samples)},
    {.name = NULL},
};

/* What the others have and this one has not. */
static void refuse(run_reader *r, const json_node *at, const char *key, const char *name,
                   const char *who)
{
    if (json_get(at, key))
        faults_add(r->faults, json_get(at, key), "is a setting of %s, the sampler is %s", who,
                   name);
}

static char *path_of(run_reader *r, const json_node *at, const char *given)
{
    char *path = NULL;
    if (*given == '/')
        path = strdup(given);
    else if (asprintf(&path, "%s/%s", r->folder, given) < 0)
        path = NULL;
    if (!path)
        faults_add_no_memory(r->faults, at);
    return path;
}

void run_read_sampler(run_reader *r, const json_node *data, run_sampler *ret)
{
    const json_node *at = json_get(data, "sampler");
    sampler_text s = {.name = -1, .replacement = true};
    if (!at ||
        !json_object_read(at, "an object with the name of a sampler", rows, &s, r->faults) ||
        s.name < 0)
        return;
    const int kind = s.name + RUN_SAMPLER_WEIGHTS;
    const char *name = names[s.name];
    if (kind != RUN_SAMPLER_WEIGHTS)
        refuse(r, at, "weights", name, "weighted");
    else if (!s.weights)
        faults_add(r->faults, at,
                   "weights is missing: a file with a number a line, one a sample");
    if (kind == RUN_SAMPLER_WEIGHTS)
        refuse(r, at, "column", name, "class_balanced and by_length");
    if (kind == RUN_SAMPLER_LENGTHS) {
        refuse(r, at, "replacement", name, "weighted and class_balanced");
        refuse(r, at, "samples", name, "weighted and class_balanced");
    }
    const json_node *shuffle = json_get(data, "shuffle");
    if (shuffle && json_type(shuffle) == JSON_BOOL && !json_bool(shuffle))
        faults_add(r->faults, shuffle, "is false, and the sampler %s mixes samples", name);
    *ret = (run_sampler){.kind = kind,
                         .once = !s.replacement,
                         .samples = s.samples,
                         .column = s.column,
                         .weights = s.weights ? path_of(r, at, s.weights) : NULL};
}
