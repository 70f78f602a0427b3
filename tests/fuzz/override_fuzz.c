/* override_fuzz.c - any path and value as --set: an error or a document that is read back. */
/* SPDX-License-Identifier: Apache-2.0 */
#define JSON_IS_A_PART
#include "json_mutator.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The JSON behind `=`, the path before it, or all of it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned state = seed;
    const bool blind = json_blind();
    const uint8_t *equals = size ? memchr(data, '=', size) : NULL;
    const unsigned way = json_random(&state) % 8;
    if (!equals || blind || way == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t path = (size_t)(equals - data);
    if (way > 2)
        return json_mutate_part(data, size, max_size, path + 1, size, &state);
    uint8_t *value = malloc(size - path);
    if (!value)
        abort();
    memcpy(value, data + path, size - path);
    const size_t n = LLVMFuzzerMutate(data, path, max_size - (size - path));
    memcpy(data + n, value, size - path);
    free(value);
    return n + size - path;
}

/* Whether the value is JSON, for those that count; what is none is a plain string. */
static bool is_json(const char *value)
{
    json_doc *doc = NULL;
    const bool is = json_parse("value", value, strlen(value), &doc, NULL) == TUTTI_OK;
    json_free(doc);
    return is;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char start[] = "{\"a\": {\"b\": [1, {\"c\": null}]}, \"d\": \"x\"}";
    json_doc *doc = NULL, *again = NULL;
    char *text = malloc(size + 1);
    if (!text || json_parse("run.json", start, sizeof start - 1, &doc, NULL) != TUTTI_OK)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    char *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    const tutti_status s = json_override(doc, text, value ? value : "1", NULL);
    if (json_told.mutated)
        json_tell(!value || is_json(value), s == TUTTI_OK);
    if (s == TUTTI_OK) {
        char *written = json_text(json_root(doc));
        if (!written ||
            json_parse("run.json", written, strlen(written), &again, NULL) != TUTTI_OK)
            abort();
        free(written);
    }
    json_free(again);
    json_free(doc);
    free(text);
    return 0;
}
