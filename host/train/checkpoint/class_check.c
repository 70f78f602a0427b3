/* class_check.c - whether a number stands for one class in a checkpoint, the training data and each evaluation's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/class_check.h"

#include "train/data/class_names.h"
#include "train/step/trainer_state.h"

#include <stdio.h>
#include <string.h>

static class_names of_evaluation(const trainer *t, size_t k)
{
    char where[CLASS_NAMES_WHERE];
    (void)snprintf(where, sizeof where, "the data of evaluation %.100s",
                   t->evals[k].spec->label);
    return class_names_of(&t->evals[k], where);
}

static class_names of_training(const trainer *t)
{
    return class_names_of(&t->train, "the training data");
}

tutti_status class_check_evaluations(const trainer *t, tutti_error *err)
{
    const class_names known = of_training(t);
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < t->nevals && !s; k++) {
        const class_names data = of_evaluation(t, k);
        s = class_names_agree(&known, &data, err);
    }
    return s;
}

/* Classes that nobody has learnt are a warning; that some do not occur is not. */
static void announce(trainer *t, const class_names *known, const class_names *data)
{
    char text[1024];
    bool more = false;
    if (class_names_differ(known, data, text, sizeof text, &more))
        run_log_message(&t->run.log, more ? TUTTI_LOG_WARNING : TUTTI_LOG_INFO, "train", text);
}

void class_check_announce(trainer *t)
{
    const class_names known = of_training(t);
    for (size_t k = 0; k < t->nevals; k++) {
        const class_names data = of_evaluation(t, k);
        announce(t, &known, &data);
    }
}

static tutti_status check_one(trainer *t, const class_names *known, const class_names *data,
                              bool strict, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = class_names_agree(known, data, &why);
    if (s && strict)
        return tutti_fail(err, s, "%s", why.text);
    if (s)
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", why.text);
    else
        announce(t, known, data);
    return TUTTI_OK;
}

tutti_status class_check(trainer *t, const char *path, const checkpoint *c, bool strict,
                         tutti_error *err)
{
    char where[CLASS_NAMES_WHERE], text[1024];
    const char *names = checkpoint_value(c, CLASS_NAMES_KEY);
    json_doc *doc = NULL;
    tutti_error why = TUTTI_ERROR_INIT;
    if (!names)
        return TUTTI_OK;
    if (json_parse(path, names, strlen(names), &doc, &why)) {
        (void)snprintf(text, sizeof text, "its names of classes are not compared: %.800s",
                       why.text);
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
        return TUTTI_OK;
    }
    (void)snprintf(where, sizeof where, "%.*s", CLASS_NAMES_WHERE - 1, path);
    const class_names known = class_names_in(doc, where);
    const class_names train = of_training(t);
    tutti_status s = check_one(t, &known, &train, strict, err);
    for (size_t k = 0; k < t->nevals && !s; k++) {
        const class_names data = of_evaluation(t, k);
        s = check_one(t, &known, &data, strict, err);
    }
    json_free(doc);
    return s;
}
