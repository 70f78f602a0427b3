/* name_pattern.c - names of weights in published files, by those of a model: patterns with stars. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained/name_pattern.h"

#include <stdio.h>
#include <string.h>

/* Whether `path` is as the key says, of which `n` stars have been passed. */
static bool key_fits(const char *key, const char *path, name_stars *stars, int n)
{
    if (*key != '*')
        return *key == *path && (!*key || key_fits(key + 1, path + 1, stars, n));
    for (size_t size = strcspn(path, "."); n < NAME_STARS && size > 0; size--)
        if (key_fits(key + 1, path + size, stars, n + 1)) {
            stars->each[n].at = path;
            stars->each[n].size = size;
            return true;
        }
    return false;
}

const json_node *name_pattern_find(const json_node *names, const char *path, name_stars *ret)
{
    for (size_t k = 0; k < json_count(names); k++) {
        *ret = (name_stars){.each = {{NULL, 0}}};
        if (key_fits(json_key(json_at(names, k)), path, ret, 0))
            return json_at(names, k);
    }
    return NULL;
}

size_t name_pattern_count(const json_node *value)
{
    return json_type(value) == JSON_ARRAY ? json_count(value) : 1;
}

void name_pattern_fill(const json_node *value, size_t k, const name_stars *stars,
                       char ret[NAME_SIZE])
{
    const char *name = json_string(json_type(value) == JSON_ARRAY ? json_at(value, k) : value);
    size_t used = 0;
    int n = 0;
    for (; name && *name && used + 1 < NAME_SIZE; name++)
        if (*name == '*' && n < NAME_STARS && stars->each[n].at) {
            used += (size_t)snprintf(ret + used, NAME_SIZE - used, "%.*s",
                                     (int)stars->each[n].size, stars->each[n].at);
            n++;
        } else {
            ret[used++] = *name;
        }
    ret[used < NAME_SIZE ? used : NAME_SIZE - 1] = '\0';
}
