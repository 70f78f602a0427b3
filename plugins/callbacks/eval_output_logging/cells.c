/* cells.c - numbers, truth values and texts as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include "../../common/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void cell_end(FILE *out)
{
    (void)fputc('\0', out);
}

void cell_integers(FILE *out, const int32_t *values, int64_t n, bool as_list)
{
    if (as_list)
        (void)fputc('[', out);
    for (int64_t k = 0; k < n; k++)
        (void)fprintf(out, "%s%d", k ? "," : "", values[k]);
    if (as_list)
        (void)fputc(']', out);
    cell_end(out);
}

void cell_numbers(FILE *out, const float *values, int64_t n, bool as_list)
{
    if (as_list)
        (void)fputc('[', out);
    for (int64_t k = 0; k < n; k++) {
        const double v = (double)values[k];
        (void)fputs(k ? "," : "", out);
        if (isfinite(v))
            (void)fprintf(out, "%.9g", v); /* reads back as the same float */
        else
            (void)fputs(isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"", out);
    }
    if (as_list)
        (void)fputc(']', out);
    cell_end(out);
}

void cell_bool(FILE *out, bool value)
{
    (void)fputs(value ? "true" : "false", out);
    cell_end(out);
}

static void write_string(FILE *out, const char *text, uint64_t size)
{
    (void)fputc('"', out);
    for (uint64_t at = 0, n; at < size; at += n) {
        uint32_t code = 0xfffd;
        n = utf8_read(text + at, size - at, &code);
        if (n == 0 || code < 0x20)
            (void)fprintf(out, "\\u%04x", n ? code : 0xfffd);
        else
            (void)fprintf(out, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", (int)n,
                          text + at);
        n = n ? n : 1;
    }
    (void)fputc('"', out);
    cell_end(out);
}

void cell_string(FILE *out, const char *text)
{
    write_string(out, text, strlen(text));
}

bool cell_text(FILE *out, const vocabulary *v, const int32_t *tokens, int64_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *bytes = open_memstream(&text, &size);
    if (!bytes)
        return false;
    for (int64_t k = 0; k < n; k++) {
        uint64_t count = 0;
        const char *at = tokens[k] < 0 ? "" : v->table->token(v->dataset, tokens[k], &count);
        if (at)
            (void)fwrite(at, 1, count, bytes);
        else
            (void)fputs("\xef\xbf\xbd", bytes);
    }
    const bool whole = fclose(bytes) == 0;
    if (whole)
        write_string(out, text, size);
    free(text);
    return whole;
}
