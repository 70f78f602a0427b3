/* json_read.c - members of manifests and policies, read strictly: what is wrong becomes a fault. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

const json_node *read_member(const json_node *node, const char *key, int type, int required,
                             faults *f)
{
    const json_node *n = json_get(node, key);
    if (!n) {
        if (required)
            faults_add(f, node, "%s is missing, want %s", key, json_type_text(type));
        return NULL;
    }
    if (json_type(n) != type) {
        faults_add(f, n, "is %s, want %s", json_type_name(n), json_type_text(type));
        return NULL;
    }
    if ((type == JSON_ARRAY || type == JSON_OBJECT) && json_count(n) > JSON_READ_ITEMS) {
        faults_add(f, n, "has %zu entries, want at most %d", json_count(n), JSON_READ_ITEMS);
        return NULL;
    }
    return n;
}

const char *read_string(const json_node *node, const char *key, int required, faults *f)
{
    const json_node *n = read_member(node, key, JSON_STRING, required, f);
    if (n && !*json_string(n)) {
        faults_add(f, n, "is empty");
        return NULL;
    }
    return n ? json_string(n) : NULL;
}

const char *read_sha256(const json_node *node, faults *f)
{
    const char *hex = read_string(node, "sha256", 0, f);
    if (hex && (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64))
        faults_add(f, json_get(node, "sha256"), "want 64 lower-case hexadecimal digits");
    return hex;
}

const char **read_words(const json_node *node, const char *key, faults *f)
{
    const size_t before = faults_count(f);
    const json_node *list = read_member(node, key, JSON_ARRAY, 0, f);
    if (!list)
        return NULL;
    const char **words = calloc(json_count(list) + 1, sizeof *words);
    if (!words) {
        faults_add_no_memory(f, list);
        return NULL;
    }
    for (size_t k = 0; k < json_count(list); k++) {
        const json_node *n = json_at(list, k);
        words[k] = json_string(n) && *json_string(n) ? json_string(n) : "";
        if (!*words[k])
            faults_add(f, n, "want a string that is not empty");
        for (size_t m = 0; m < k && *words[k]; m++)
            if (strcmp(words[m], words[k]) == 0)
                faults_add(f, n, "\"%s\" is there twice", words[k]);
    }
    if (!json_count(list))
        faults_add(f, list, "is empty");
    if (faults_count(f) > before) {
        free(words);
        return NULL;
    }
    return words;
}
