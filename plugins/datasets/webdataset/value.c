/* value.c - files as tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"
#include "../../common/json_memory.h"

#include "../common/npy_array.h"

#include <strings.h>

#include <jansson.h>

wds_kind wds_kind_of(const char *ending)
{
    return strcasecmp(ending, "npy") == 0    ? WDS_ARRAY
           : strcasecmp(ending, "txt") == 0  ? WDS_TEXT
           : strcasecmp(ending, "json") == 0 ? WDS_JSON
                                             : WDS_IMAGE;
}

static tutti_status check_room(const char *name, const tutti_desc *d, uint64_t capacity,
                               tutti_error *err)
{
    char text[96];
    if (tutti_nbytes(d) <= capacity)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_RANGE, "%s: %s does not fit into %llu bytes", name,
                      tutti_desc_text(d, text, sizeof text), (unsigned long long)capacity);
}

static tutti_status value_bytes(const char *name, const void *data, uint64_t size,
                                tutti_desc *ret, void *to, uint64_t capacity, tutti_error *err)
{
    *ret = (tutti_desc){{(int64_t)size}, 1, TUTTI_U8};
    const tutti_status s = to ? check_room(name, ret, capacity, err) : TUTTI_OK;
    if (s == TUTTI_OK && to)
        memcpy(to, data, size);
    return s;
}

static tutti_status value_array(const char *name, const uint8_t *data, uint64_t size,
                                tutti_desc *ret, void *to, uint64_t capacity, tutti_error *err)
{
    npy_array a;
    tutti_status s = npy_view(&a, name, data, size, err);
    if (s)
        return s;
    *ret = a.sample;
    if (to && (s = check_room(name, ret, capacity, err)) == TUTTI_OK)
        npy_read(&a, 0, to);
    return s;
}

/* A number, or the numbers of a list. */
static tutti_status value_numbers(const char *name, const char *key, const json_t *value,
                                  tutti_desc *ret, void *to, uint64_t capacity,
                                  tutti_error *err)
{
    const size_t n = json_array_size(value);
    *ret = (tutti_desc){{(int64_t)n}, json_is_array(value), TUTTI_F32};
    for (size_t k = 0; k < n; k++)
        if (!json_is_number(json_array_get(value, k)))
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: the list %s holds more than numbers",
                              name, key);
    if (json_is_array(value) && n == 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the list %s is empty", name, key);
    const tutti_status s = to ? check_room(name, ret, capacity, err) : TUTTI_OK;
    for (size_t k = 0; s == TUTTI_OK && to && k < n; k++)
        ((float *)to)[k] = (float)json_number_value(json_array_get(value, k));
    if (s == TUTTI_OK && to && !json_is_array(value))
        *(float *)to = (float)json_number_value(value);
    return s;
}

static tutti_status value_json(const char *name, const char *key, const uint8_t *data,
                               uint64_t size, tutti_desc *ret, void *to, uint64_t capacity,
                               tutti_error *err)
{
    json_error_t why;
    const unsigned long before = json_memory_watch();
    json_t *root = json_loadb((const char *)data, size, 0, &why);
    tutti_status s = json_memory_told(before, &root, name, err);
    const json_t *value = json_object_get(root, key);
    if (s)
        return s;
    if (!root)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is not JSON: %s", name, why.text);
    else if (json_is_string(value))
        s = value_bytes(name, json_string_value(value), json_string_length(value), ret, to,
                        capacity, err);
    else if (json_is_number(value) || json_is_array(value))
        s = value_numbers(name, key, value, ret, to, capacity, err);
    else
        s = tutti_fail(err, TUTTI_E_FORMAT,
                       "%s: has no number, list of numbers or text called %s", name, key);
    json_decref(root);
    return s;
}

tutti_status wds_value(wds_kind kind, const char *name, const char *key, const uint8_t *data,
                       uint64_t size, tutti_desc *ret, void *to, uint64_t capacity,
                       tutti_error *err)
{
    switch (kind) {
    case WDS_ARRAY:
        return value_array(name, data, size, ret, to, capacity, err);
    case WDS_JSON:
        return value_json(name, key, data, size, ret, to, capacity, err);
    case WDS_TEXT:
        return value_bytes(name, data, size, ret, to, capacity, err);
    case WDS_IMAGE:
        break; /* pictures.h's */
    }
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: is an image", name);
}
