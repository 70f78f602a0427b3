/* override_fuzz.c - any path and value as --set: an error or a document that is read back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    if (json_override(doc, text, value ? value : "1", NULL) == TUTTI_OK) {
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
