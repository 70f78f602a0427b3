/* duration.c - reading and writing durations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "base/counts.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct unit_word {
    const char *suffix;
    const char *plural;
} unit_word;

static const unit_word units[] = {[TUTTI_UNIT_NONE] = {NULL, NULL},
#define TUTTI_X(name, suffix, text) [TUTTI_UNIT_##name] = {suffix, text},
                                  TUTTI_TIME_UNITS(TUTTI_X)
#undef TUTTI_X
};

const char *duration_unit(int32_t unit)
{
    return unit > TUTTI_UNIT_NONE && unit < UNIT_END ? units[unit].suffix : NULL;
}

/* "1h20m40s" with every part optional, hours below 24, minutes and seconds below 60. */
static bool wall_clock(const char *text, int64_t *ret_seconds)
{
    static const struct {
        char letter;
        int limit;
        int seconds;
    } parts[] = {{'h', 24, 3600}, {'m', 60, 60}, {'s', 60, 1}};
    int64_t total = 0;
    const char *at = text;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        int value = 0;
        const char *c = at;
        for (; isdigit((unsigned char)*c) && value < 100; c++)
            value = 10 * value + (*c - '0');
        if (c == at || *c != parts[k].letter)
            continue;
        if (value >= parts[k].limit)
            return false;
        total += (int64_t)value * parts[k].seconds;
        at = c + 1;
    }
    if (at == text || *at)
        return false;
    *ret_seconds = total;
    return true;
}

/* Copies digits, single underscores between digits left out.  Returns the number of digits. */
static size_t take_digits(const char **at, char *out, size_t *used)
{
    size_t n = 0;
    for (;; (*at)++) {
        if (**at == '_' && n && isdigit((unsigned char)(*at)[1]))
            continue;
        if (!isdigit((unsigned char)**at))
            return n;
        out[(*used)++] = **at;
        n++;
    }
}

/* A decimal number as Python's float() takes it, without nan and inf, between spaces.  `out` has
 * room for the whole text. */
static bool clean_number(const char *text, size_t size, char *out, bool *ret_whole)
{
    char copy[64];
    size_t used = 0;
    while (size && isspace((unsigned char)*text))
        text++, size--;
    while (size && isspace((unsigned char)text[size - 1]))
        size--;
    if (!size || size >= sizeof copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';

    const char *at = copy;
    if (*at == '+' || *at == '-')
        out[used++] = *at++;
    size_t digits = take_digits(&at, out, &used);
    *ret_whole = true;
    if (*at == '.') {
        *ret_whole = false;
        out[used++] = *at++;
        digits += take_digits(&at, out, &used);
    }
    if (digits && (*at == 'e' || *at == 'E')) {
        *ret_whole = false;
        out[used++] = *at++;
        if (*at == '+' || *at == '-')
            out[used++] = *at++;
        if (!take_digits(&at, out, &used))
            return false;
    }
    out[used] = '\0';
    return digits && !*at;
}

static tutti_status bad_text(const char *text, tutti_error *err)
{
    return tutti_fail(
        err, TUTTI_E_FORMAT,
        "\"%s\" is not a duration: want a number with a unit (iter, ep, ba, sp, "
        "tok, dur or sec) such as \"10ep\", or hours, minutes and seconds such as "
        "\"1h20m40s\"",
        text);
}

tutti_status duration_parse(const char *text, tutti_time *ret_time, tutti_error *err)
{
    tutti_time t = {0, 0.0, TUTTI_UNIT_NONE, 0};
    if (wall_clock(text, &t.count)) {
        t.unit = TUTTI_UNIT_SECOND;
        *ret_time = t;
        return TUTTI_OK;
    }

    const size_t size = strlen(text);
    size_t suffix = 0;
    for (int32_t u = TUTTI_UNIT_NONE + 1; u < UNIT_END; u++) {
        const size_t n = strlen(units[u].suffix);
        if (size > n && strcasecmp(text + size - n, units[u].suffix) == 0) {
            t.unit = u;
            suffix = n;
        }
    }
    char number[64];
    bool whole;
    if (t.unit == TUTTI_UNIT_NONE || !clean_number(text, size - suffix, number, &whole))
        return bad_text(text, err);

    const double value = strtod(number, NULL);
    if (!isfinite(value))
        return bad_text(text, err);
    if (t.unit == TUTTI_UNIT_DURATION) {
        t.fraction = value;
    } else {
        if (value != floor(value))
            return tutti_fail(err, TUTTI_E_ARG, "%s is not a whole number of %s", text,
                              units[t.unit].plural);
        if (fabs(value) >= 9.2e18)
            return bad_text(text, err);
        t.count = whole ? strtoll(number, NULL, 10) : (int64_t)value;
    }
    *ret_time = t;
    return TUTTI_OK;
}

const char *duration_text(tutti_time t, char *text, size_t size)
{
    char number[TEXT_REAL_SIZE];
    const char *unit = duration_unit(t.unit);
    if (!unit)
        (void)snprintf(text, size, "none");
    else if (t.unit == TUTTI_UNIT_DURATION)
        (void)snprintf(text, size, "%s%s", text_real(t.fraction, number), unit);
    else
        (void)snprintf(text, size, "%lld%s", (long long)t.count, unit);
    return text;
}
