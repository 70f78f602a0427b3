/* values.c - values for a setting, out of what its manifest says of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/values.h"

#include <stdio.h>
#include <string.h>

TUTTI_PRINTF(2, 3)
static void add(setting_values *v, const char *format, ...)
{
    va_list args;
    if (v->count >= SETTING_VALUES)
        return;
    va_start(args, format);
    (void)vsnprintf(v->text[v->count++], SETTING_VALUE_SIZE, format, args);
    va_end(args);
}

/* A number and its neighbours; the manifest refuses those that are outside, before the plugin sees them. */
static void add_numbers(setting_values *v, const json_node *spec, bool real)
{
    static const char *const bounds[] = {"min", "max", "above", "below", "default"};
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        const json_node *at = json_get(spec, bounds[k]);
        const double x = json_real(at);
        if (!at || json_type(at) == JSON_NULL)
            continue;
        for (int step = -1; step <= 1; step++)
            if (real)
                add(v, "%.17g", x + step * 1e-3);
            else
                add(v, "%lld", (long long)json_int(at) + step);
    }
    add(v, "0");
    add(v, "1");
    add(v, "-1");
    add(v, real ? "0.5" : "2");
}

static void add_words(setting_values *v, const json_node *list)
{
    for (size_t k = 0; k < json_count(list); k++)
        add(v, "\"%s\"", json_string(json_at(list, k)));
}

static void add_times(setting_values *v, const json_node *spec)
{
    static const char *const some[] = {"0ep",    "1ep",  "3ba",  "1ba",   "16sp", "0dur",
                                       "0.5dur", "1dur", "5tok", "1iter", "10sec"};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        add(v, "\"%s\"", some[k]);
    (void)spec;
}

static void add_lists(setting_values *v, const json_node *spec)
{
    setting_values items = {.count = 0};
    setting_values_of(&items, json_get(spec, "items"));
    add(v, "[]");
    for (int k = 0; k < items.count && strlen(items.text[k]) < SETTING_VALUE_SIZE / 4; k++) {
        add(v, "[%s]", items.text[k]);
        add(v, "[%s, %s]", items.text[k], items.text[k]);
        if (json_get(spec, "scalar"))
            add(v, "%s", items.text[k]);
    }
}

void setting_values_of(setting_values *v, const json_node *spec)
{
    const char *type = json_string(json_get(spec, "type"));
    v->count = 0;
    if (!type)
        return;
    if (json_bool(json_get(spec, "nullable")))
        add(v, "null");
    if (strcmp(type, "bool") == 0) {
        add(v, "true");
        add(v, "false");
    } else if (strcmp(type, "int") == 0)
        add_numbers(v, spec, false);
    else if (strcmp(type, "float") == 0)
        add_numbers(v, spec, true);
    else if (strcmp(type, "enum") == 0)
        add_words(v, json_get(spec, "values"));
    else if (strcmp(type, "time") == 0)
        add_times(v, spec);
    else if (strcmp(type, "list") == 0)
        add_lists(v, spec);
    else if (strcmp(type, "string") == 0 || strcmp(type, "path") == 0) {
        add(v, "\"\"");
        add(v, "\"x\"");
        add(v, "\"no/such/\\u00e9 place\"");
        add(v, "%s", "\"%s%n{}{run_name}\"");
    }
}

/* A list of as many as there must be, each as below. */
static bool some_list(const json_node *spec, char *text, size_t size)
{
    char item[SETTING_VALUE_SIZE];
    const int64_t least = json_int(json_get(spec, "min_count"));
    size_t used = (size_t)snprintf(text, size, "[");
    if (!setting_some_value(json_get(spec, "items"), item))
        return false;
    for (int64_t k = 0; k < (least > 1 ? least : 1) && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", k ? ", " : "", item);
    return used < size && snprintf(text + used, size - used, "]") > 0;
}

bool setting_some_value(const json_node *spec, char *text)
{
    const char *type = json_string(json_get(spec, "type"));
    const json_node *min = json_get(spec, "min"), *max = json_get(spec, "max");
    setting_values v;
    if (!type || strcmp(type, "path") == 0)
        return false;
    if (strcmp(type, "list") == 0)
        return some_list(spec, text, SETTING_VALUE_SIZE);
    if (strcmp(type, "int") == 0)
        (void)snprintf(text, SETTING_VALUE_SIZE, "%lld",
                       (long long)(min && json_int(min) > 2   ? json_int(min)
                                   : max && json_int(max) < 2 ? json_int(max)
                                                              : 2));
    else if (strcmp(type, "float") == 0)
        (void)snprintf(text, SETTING_VALUE_SIZE, "%.17g",
                       min && json_real(min) > 0.5 ? json_real(min) : 0.5);
    else if (strcmp(type, "time") == 0)
        (void)snprintf(text, SETTING_VALUE_SIZE, "\"2ba\"");
    else {
        setting_values_of(&v, spec);
        if (!v.count)
            return false;
        (void)snprintf(text, SETTING_VALUE_SIZE, "%s",
                       v.text[v.count > 1 && *v.text[0] == 'n']);
    }
    return true;
}
