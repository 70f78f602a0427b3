/* plugin.c - text: a file as blocks of bytes or characters, with the next ones as targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/blocks.h"
#include "../common/whole_file.h"

#include "tutti/tutti.h"

enum { CODE_POINTS = 0x110000, MOST_CHARS = 65536 };

typedef struct text {
    blocks blocks;
    uint16_t *tokens;
    char *path;
} text;

/* The code point at `at` and its length in bytes; 0: no UTF-8 (overlong and surrogates too). */
static uint32_t decode(const unsigned char *at, uint64_t left, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint32_t n = at[0] < 0x80                    ? 1
                       : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                       : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                       : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                       : 0;
    if (n == 0 || n > left)
        return 0;
    uint32_t code = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    for (uint32_t k = 1; k < n; k++) {
        if ((at[k] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[k] & 0x3f);
    }
    if (code < least[n] || code >= CODE_POINTS || (code >= 0xd800 && code < 0xe000))
        return 0;
    *ret_code = code;
    return n;
}

/* Numbers the characters that occur in ascending order of code point. */
static tutti_status chars(text *d, const unsigned char *data, uint64_t size, tutti_error *err)
{
    uint32_t *number = calloc(CODE_POINTS, sizeof *number), code = 0;
    if (!number)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its characters", d->path);
    tutti_status s = TUTTI_OK;
    for (uint64_t at = 0, n; at < size; at += n) {
        n = decode(data + at, size - at, &code);
        if (n == 0) {
            s = tutti_fail(err, TUTTI_E_FORMAT, "%s: byte %llu begins no UTF-8 character",
                           d->path, (unsigned long long)at);
            goto done;
        }
        number[code] = 1;
    }
    uint32_t used = 0;
    for (uint32_t k = 0; k < CODE_POINTS; k++)
        if (number[k])
            number[k] = used++;
    if (used > MOST_CHARS) {
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has %u different characters, at most %d fit",
                       d->path, used, MOST_CHARS);
        goto done;
    }
    int64_t count = 0;
    for (uint64_t at = 0; at < size; at += decode(data + at, size - at, &code), count++) {
        (void)decode(data + at, size - at, &code);
        d->tokens[count] = (uint16_t)number[code];
    }
    d->blocks.count = count;
    d->blocks.classes = used;
done:
    free(number);
    return s;
}

static tutti_status fill(text *d, const tutti_params *params, tutti_error *err)
{
    const char *path = tutti_param_str(params, "path");
    void *data = NULL;
    uint64_t size = 0;
    tutti_status s = whole_file(path, &data, &size, err);
    if (s)
        return s;
    d->path = strdup(path);
    d->tokens = calloc(size, sizeof *d->tokens);
    if (!d->path || !d->tokens) {
        free(data);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", path);
    }
    d->blocks.file = d->path;
    d->blocks.tokens = d->tokens;
    d->blocks.length = tutti_param_i64(params, "length");
    d->blocks.stride = tutti_param_is_set(params, "stride") ? tutti_param_i64(params, "stride")
                                                            : d->blocks.length;
    if (strcmp(tutti_param_str(params, "vocabulary"), "chars") == 0) {
        s = chars(d, data, size, err);
    } else {
        for (uint64_t k = 0; k < size; k++)
            d->tokens[k] = ((const unsigned char *)data)[k];
        d->blocks.count = (int64_t)size;
        d->blocks.classes = 256;
    }
    free(data);
    return s ? s
             : blocks_split(&d->blocks, tutti_param_str(params, "split"),
                            tutti_param_f64(params, "validation"), err);
}

static tutti_status text_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    (void)err;
    blocks_info(&((text *)self)->blocks, ret);
    return TUTTI_OK;
}

static tutti_status text_read(void *self, int64_t index, tutti_tensor *columns,
                              const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    return blocks_read(&((text *)self)->blocks, index, columns, capacity, ncolumns, err);
}

static tutti_status text_close(void *self, tutti_error *err)
{
    text *d = self;
    (void)err;
    free(d->tokens);
    free(d->path);
    free(d);
    return TUTTI_OK;
}

static tutti_status text_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    (void)host;
    text *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "text: no memory");
    const tutti_status s = fill(d, params, err);
    if (s)
        (void)text_close(d, NULL);
    else
        *ret_self = d;
    return s;
}

static const void *text_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {sizeof table, 0, text_info, text_read};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = text_open, .close = text_close, .query = text_query};
static const tutti_object object = TUTTI_OBJECT_INIT("text", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.text", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
