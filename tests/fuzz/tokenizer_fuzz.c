/* tokenizer_fuzz.c - any text as a tokenizer.json, then a zero and a text: an error, or ids that are below the size and
 * can be decoded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_file.h"
#include "json_mutator.h"

#include "common/tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const tokenizer *t, tokenizer_encoder *e, const char *text,
                           size_t size)
{
    tokenizer_ids ids = {.data = NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    char *decoded = NULL;
    uint64_t length;
    const tutti_status s = tokenizer_encode(e, "text", text, size, 1, &ids, &err);
    if ((s != TUTTI_OK) != (err.text[0] != '\0'))
        abort();
    for (uint64_t k = 0; k < ids.count; k++)
        if (ids.data[k] < 0 || ids.data[k] >= tokenizer_size(t))
            abort();
    err = (tutti_error)TUTTI_ERROR_INIT;
    if (!s &&
        tokenizer_decode(t, ids.data, ids.count, 0, &decoded, &length, &err) == TUTTI_OK &&
        strlen(decoded) > length)
        abort();
    free(decoded);
    free(ids.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[2 * FUZZ_PATH];
    tokenizer *t = NULL;
    tokenizer_encoder *e = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    const uint8_t *zero = memchr(data, 0, size);
    const size_t file = zero ? (size_t)(zero - data) : size;
    const char *text = zero ? (const char *)zero + 1 : "a text, \xc3\xa4 and 12";
    fuzz_file("tokenizer.json", data, file, path);
    const tutti_status s = tokenizer_open(path, &t, &err);
    if ((s != TUTTI_OK) != (err.text[0] != '\0') || (s == TUTTI_OK) != (t != NULL))
        abort();
    json_tell(!json_error_is(err.text, "tokenizer.json"), s == TUTTI_OK);
    if (!s && tokenizer_encoder_create(t, &e, &err) == TUTTI_OK)
        there_and_back(t, e, text, zero ? size - file - 1 : strlen(text));
    tokenizer_encoder_destroy(e);
    tokenizer_close(t);
    return 0;
}
