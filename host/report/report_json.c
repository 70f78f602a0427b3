/* report_json.c - texts and numbers as JSON that can lie in a page. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_json(text_buffer *b, const char *json)
{
    for (const char *c = json; *c;) {
        const size_t n = strcspn(c, "<");
        text_add_bytes(b, c, n);
        c += n;
        if (*c == '<') {
            text_add(b, "\\u003c");
            c++;
        }
    }
}

void report_node(text_buffer *b, const json_node *node)
{
    char *text = node ? json_text(node) : NULL;
    b->failed = b->failed || (node && !text);
    report_json(b, text ? text : "null");
    free(text);
}

void report_string(text_buffer *b, const char *text)
{
    text_buffer quoted = {.data = NULL};
    if (text)
        text_add_quoted(&quoted, text);
    b->failed = b->failed || quoted.failed;
    report_json(b, quoted.data ? quoted.data : "null");
    free(quoted.data);
}

void report_number(text_buffer *b, double value)
{
    char text[TEXT_REAL_SIZE];
    text_add(b, "%s",
             isfinite(value) ? text_real(value, text)
             : isnan(value)  ? "\"NaN\""
             : value > 0     ? "\"Infinity\""
                             : "\"-Infinity\"");
}

void report_known(text_buffer *b, double value)
{
    if (isnan(value))
        text_add(b, "null");
    else
        report_number(b, value);
}

void report_numbers(text_buffer *b, const char *key, const double *values, const size_t *which,
                    size_t n, double minus)
{
    text_add(b, ",\"%s\":[", key);
    for (size_t k = 0; k < n; k++) {
        text_add(b, "%s", k ? "," : "");
        const double v = values[which ? which[k] : k];
        if (minus > 0)
            text_add(b, "%.3f", v - minus);
        else
            report_number(b, v);
    }
    text_add(b, "]");
}
