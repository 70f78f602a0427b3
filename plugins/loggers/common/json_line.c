/* json_line.c - strings, numbers, tables, and the five kinds of line. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables */
#include "json_line.h"

#include <time.h>

void json_line_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20)
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    (void)fputc('"', out);
}

void json_line_number(FILE *out, double v)
{
    char text[40];
    if (isnan(v)) {
        (void)fputs("\"NaN\"", out);
        return;
    }
    if (isinf(v)) {
        (void)fputs(v > 0 ? "\"Infinity\"" : "\"-Infinity\"", out);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    (void)fputs(text, out);
}

void json_line_begin(FILE *out, const char *kind)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)fprintf(out, "{\"time\":%lld.%03ld,\"kind\":\"%s\"", (long long)now.tv_sec,
                  now.tv_nsec / 1000000, kind);
}

void json_line_metrics(FILE *out, const tutti_named_value *values, uint32_t n, uint64_t step,
                       int64_t epoch)
{
    json_line_begin(out, "metrics");
    (void)fprintf(out, ",\"batch\":%llu,\"epoch\":%lld,\"values\":{", (unsigned long long)step,
                  (long long)epoch);
    for (uint32_t k = 0; k < n; k++) {
        (void)fputs(k ? "," : "", out);
        json_line_string(out, values[k].name);
        (void)fputc(':', out);
        json_line_number(out, values[k].value);
    }
    (void)fputs("}}\n", out);
}

void json_line_hyperparameters(FILE *out, const tutti_named_text *values, uint32_t n)
{
    json_line_begin(out, "hyperparameters");
    (void)fputs(",\"values\":{", out);
    for (uint32_t k = 0; k < n; k++) {
        (void)fputs(k ? "," : "", out);
        json_line_string(out, values[k].name);
        (void)fprintf(out, ":%s", values[k].text);
    }
    (void)fputs("}}\n", out);
}

void json_line_trace(FILE *out, const tutti_trace *trace)
{
    char key[256];
    json_line_begin(out, "trace");
    (void)fputs(",\"key\":", out);
    json_line_string(out, trace_key(trace, key, sizeof key));
    (void)fprintf(out, ",\"batch\":%llu,\"algorithm\":", (unsigned long long)trace->step);
    json_line_string(out, trace->name);
    (void)fputs(",\"event\":", out);
    json_line_string(out, trace->event_name);
    (void)fprintf(out, ",\"ran\":%s,\"order\":%d,\"exit_code\":", trace->ran ? "true" : "false",
                  (int)trace->order);
    if (trace->exit_code == TUTTI_EXIT_NONE)
        (void)fputs("null", out);
    else
        (void)fprintf(out, "%lld", (long long)trace->exit_code);
    (void)fprintf(out, ",\"duration_ns\":%llu}\n", (unsigned long long)trace->duration_ns);
}

void json_line_message(FILE *out, int32_t level, const char *component, const char *text)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    json_line_begin(out, "message");
    (void)fprintf(out, ",\"level\":\"%s\",\"component\":", levels[level & 3]);
    json_line_string(out, component);
    (void)fputs(",\"text\":", out);
    json_line_string(out, text);
    (void)fputs("}\n", out);
}

/* "columns":[...],"data":[[...],...] */
static void json_line_cells(FILE *out, const tutti_table *table)
{
    (void)fputs("\"columns\":[", out);
    for (uint32_t c = 0; c < table->ncolumns; c++) {
        (void)fputs(c ? "," : "", out);
        json_line_string(out, table->columns[c]);
    }
    (void)fputs("],\"data\":[", out);
    for (uint64_t k = 0; k < table->nrows * table->ncolumns; k++) {
        const uint64_t c = k % table->ncolumns;
        (void)fprintf(out, "%s%s%s%s", k && !c ? "," : "", c ? "," : "[", table->cells[k],
                      c + 1 == table->ncolumns ? "]" : "");
    }
    (void)fputs("]", out);
}

void json_line_split(FILE *out, const tutti_table *table)
{
    (void)fputs("{", out);
    json_line_cells(out, table);
    (void)fputs("}", out);
}

void json_line_table(FILE *out, const tutti_table *table, uint64_t step)
{
    json_line_begin(out, "table");
    (void)fprintf(out, ",\"batch\":%llu,\"name\":", (unsigned long long)step);
    json_line_string(out, table->name);
    (void)fputs(",", out);
    json_line_cells(out, table);
    (void)fputs("}\n", out);
}
