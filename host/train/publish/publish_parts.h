/* publish_parts.h - what the files of a published folder are made by. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PUBLISH_PUBLISH_PARTS_H
#define HOST_TRAIN_PUBLISH_PUBLISH_PARTS_H

#include "base/json.h"
#include "train/publish/publish.h"

/* What forms are filled from. */
typedef struct form_source {
    const publish_model *model;
    const json_node *says;     /* the model's object in published.json */
    const json_node *settings; /* all of the model's, by name */
    const json_node *began;    /* the config.json that the weights came with, or NULL */
} form_source;

enum { FORM_WHY = 200 };

/* The config of a form, which the caller frees; NULL with the reason why it is not this model's. */
json_doc *form_config(const form_source *s, const json_node *form, char why[FORM_WHY]);
/* Whether a setting stands in the config as the others are ("only"). */
bool form_has_setting(const form_source *s, const char *name);

/* The first form that reads back as the model's settings, and its config, which the caller frees. */
TUTTI_NODISCARD tutti_status publish_config(const form_source *s, const json_node **ret_form,
                                            json_doc **ret_config, tutti_error *err);
/* The weights under the names of a form. */
TUTTI_NODISCARD tutti_status publish_weights(const publish_model *m, const json_node *says,
                                             const json_node *form, const char *folder,
                                             uint64_t shard_bytes, publish_report *report,
                                             tutti_error *err);

#endif
