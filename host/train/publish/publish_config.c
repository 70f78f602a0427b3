/* publish_config.c - the config.json of a model: the form of its published.json that reads back as its settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/publish/publish_parts.h"
#include "train/run_file/run_published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_among(const json_node *names, const char *name)
{
    for (size_t k = 0; k < json_count(names); k++)
        if (strcmp(json_string(json_at(names, k)), name) == 0)
            return true;
    return false;
}

/* Whether what was read is what the model has: settings that are null there, or need not be told, may be anything. */
static bool same_settings(const form_source *s, const json_node *read, char why[FORM_WHY])
{
    for (size_t k = 0; k < json_count(s->settings); k++) {
        const json_node *mine = json_at(s->settings, k);
        const char *name = json_key(mine);
        if (json_type(mine) == JSON_NULL || is_among(json_get(s->says, "left_out"), name) ||
            !form_has_setting(s, name))
            continue;
        char *have = json_text(mine), *got = json_text(json_get(read, name));
        const bool same = have && got && strcmp(have, got) == 0;
        if (!same)
            (void)snprintf(why, FORM_WHY, "%s is %.60s here and %.60s there", name,
                           have ? have : "?", got ? got : "?");
        free(have);
        free(got);
        if (!same)
            return false;
    }
    return true;
}

/* The settings that a run with this config has, all of them, as JSON; NULL with a reason. */
static json_doc *settings_of(const form_source *s, const json_doc *config, char why[FORM_WHY])
{
    static const char *const skip[] = {"name", NULL};
    const object *o = instance_object(s->model->model);
    char text[256];
    json_doc *run = NULL, *settings = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    const int n = snprintf(text, sizeof text, "{\"model\": {\"name\": \"%s\"}}",
                           object_describe(o)->name);
    if (f && !json_parse("the new folder", text, (size_t)n, &run, &e)) {
        const published_config c = {o, s->says, json_root(config), "config.json", NULL};
        published_apply(run, &c, f);
        tutti_params *params =
            params_from_json(o, json_get(json_root(run), "model"), skip, ".", f);
        char *all = params && !faults_count(f) ? params_text(params) : NULL;
        if (all && json_parse("settings", all, strlen(all), &settings, &e))
            settings = NULL;
        free(all);
        params_free(params);
    }
    if (!settings)
        (void)snprintf(why, FORM_WHY, "%.*s", FORM_WHY - 1,
                       f && faults_count(f) ? faults_text(f, 0) : "no memory");
    json_free(run);
    faults_destroy(f);
    return settings;
}

static bool reads_back(const form_source *s, const json_doc *config, char why[FORM_WHY])
{
    json_doc *read = settings_of(s, config, why);
    const bool same = read && same_settings(s, json_root(read), why);
    json_free(read);
    return same;
}

tutti_status publish_config(const form_source *s, const json_node **ret_form,
                            json_doc **ret_config, tutti_error *err)
{
    const json_node *forms = json_get(s->says, "writes");
    char reasons[400] = "";
    size_t used = 0;
    for (size_t k = 0; k < json_count(forms); k++) {
        char why[FORM_WHY];
        const json_node *form = json_at(forms, k);
        const char *name =
            json_string(json_at(json_get(json_get(form, "config"), "architectures"), 0));
        json_doc *config = form_config(s, form, why);
        if (config && reads_back(s, config, why)) {
            *ret_form = form;
            *ret_config = config;
            return TUTTI_OK;
        }
        json_free(config);
        if (used < sizeof reasons)
            used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%s: %s",
                                     k ? "; " : "", name ? name : "?", why);
    }
    return tutti_fail(err, TUTTI_E_STATE, "no config.json says what this %s is: %s",
                      object_describe(instance_object(s->model->model))->name, reasons);
}
