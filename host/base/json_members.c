/* json_members.c - the reader behind the tables, and the one wording of its faults. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_members.h"
#include "base/duration.h"
#include "base/nearest.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 128, SHOWN_VALUE = 60 };

/* ---- sentences ---- */

static void add_words(text_buffer *b, const char *const *words, const char *before)
{
    for (size_t k = 0; words && words[k]; k++)
        text_add(b, "%s\"%s\"", k == 0 ? before : words[k + 1] ? ", " : " or ", words[k]);
}

static void add_number(text_buffer *b, const json_member *m, const char *number)
{
    const char *const least = m->flags & MEMBER_ABOVE ? "above" : "of at least";
    text_add(b, "%s", number);
    if (!m->min && !m->max)
        return;
    text_add(b, " %s %lld", least, (long long)m->min);
    if (m->max != INT64_MAX)
        text_add(b, " and of at most %lld", (long long)m->max);
}

static void add_want(text_buffer *b, const json_member *m)
{
    if (m->want) {
        text_add(b, "%s", m->want);
        return;
    }
    switch (m->type) {
    case MEMBER_BOOL:
        text_add(b, "true or false");
        add_words(b, m->words, " or ");
        break;
    case MEMBER_INT:
        add_number(b, m, "an integer");
        add_words(b, m->words, ", or ");
        break;
    case MEMBER_REAL:
    case MEMBER_NUMBER:
        add_number(b, m, "a number");
        break;
    case MEMBER_STRING:
        text_add(b, "a string that is not empty");
        break;
    case MEMBER_SHA256:
        text_add(b, "64 lower-case hexadecimal digits");
        break;
    case MEMBER_TIME:
        text_add(b, "a time such as \"10ep\"");
        break;
    case MEMBER_ANY:
        text_add(b, "a value");
        break;
    case MEMBER_ARRAY:
        text_add(b, "an array");
        break;
    case MEMBER_OBJECT:
        text_add(b, "an object");
        break;
    case MEMBER_WORDS:
        text_add(b, "an array of strings");
        break;
    default:
        add_words(b, m->words, "");
    }
    if (m->flags & MEMBER_NULLABLE)
        text_add(b, ", or null");
}

/* The value as the file has it; of arrays and objects the type. */
static void add_value(text_buffer *b, const json_node *n)
{
    char *text = json_type(n) < JSON_ARRAY ? json_text(n) : NULL;
    const bool cut = text && strlen(text) > SHOWN_VALUE;
    text_add(b, "%.*s%s", SHOWN_VALUE, text ? text : json_type_name(n), cut ? "..." : "");
    free(text);
}

static void add_fault(faults *f, const json_node *at, const text_buffer *b)
{
    faults_add(f, at, "%s", b->failed || !b->data ? "out of memory" : b->data);
}

static void refuse(const json_member *m, const json_node *n, faults *f)
{
    text_buffer b = {0};
    text_add(&b, "is ");
    add_value(&b, n);
    text_add(&b, ", want ");
    add_want(&b, m);
    text_add(&b, "%s", suggest_word(json_string(n), m->words).text);
    add_fault(f, n, &b);
    free(b.data);
}

static void miss(const json_member *m, const json_node *at, faults *f)
{
    text_buffer b = {0};
    text_add(&b, "%s is missing, want ", m->name);
    add_want(&b, m);
    add_fault(f, at, &b);
    free(b.data);
}

/* ---- values ---- */

static void store(const json_member *m, void *target, const void *value)
{
    if (m->size)
        memcpy((char *)target + m->offset, value, m->size);
}

static void store_integer(const json_member *m, void *target, int64_t value)
{
    const bool flag = value != 0;
    const int32_t narrow = (int32_t)value;
    store(m, target,
          m->size == sizeof flag     ? (const void *)&flag
          : m->size == sizeof narrow ? (const void *)&narrow
                                     : (const void *)&value);
}

/* The index of the word; -1: it is none. */
static int64_t find_word(const json_member *m, const json_node *n)
{
    const char *text = json_string(n);
    for (int64_t k = 0; text && m->words && m->words[k]; k++)
        if (strcmp(m->words[k], text) == 0)
            return k;
    return -1;
}

static bool in_range(const json_member *m, const json_node *n)
{
    if (!m->min && !m->max)
        return true;
    if (json_type(n) == JSON_INT)
        return (m->flags & MEMBER_ABOVE ? json_int(n) > m->min : json_int(n) >= m->min) &&
               json_int(n) <= m->max;
    const double v = json_real(n);
    return (m->flags & MEMBER_ABOVE ? v > (double)m->min : v >= (double)m->min) &&
           v <= (double)m->max;
}

/* BOOL, INT and CHOICE. */
static bool read_integer(const json_member *m, const json_node *n, void *target)
{
    const int64_t word = find_word(m, n);
    int64_t value = 0;
    if (word >= 0)
        value = m->type == MEMBER_CHOICE ? word : -1 - word;
    else if (m->type == MEMBER_BOOL && json_type(n) == JSON_BOOL)
        value = json_bool(n);
    else if (m->type == MEMBER_INT && json_type(n) == JSON_INT && in_range(m, n))
        value = json_int(n);
    else
        return false;
    store_integer(m, target, value);
    return true;
}

/* REAL and NUMBER. */
static bool read_real(const json_member *m, const json_node *n, void *target)
{
    const double value = json_real(n);
    if ((json_type(n) != JSON_INT && json_type(n) != JSON_REAL) || !in_range(m, n))
        return false;
    store(m, target, m->type == MEMBER_NUMBER ? (const void *)&n : (const void *)&value);
    return true;
}

static bool read_text(const json_member *m, const json_node *n, void *target)
{
    const int64_t word = m->type == MEMBER_WORD ? find_word(m, n) : 0;
    const char *text = word < 0                 ? NULL
                       : m->type == MEMBER_WORD ? m->words[word]
                                                : json_string(n);
    if (!text || !*text)
        return false;
    if (m->type == MEMBER_SHA256 &&
        (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64))
        return false;
    if (m->fits && !m->fits(text))
        return false;
    store(m, target, &text);
    return true;
}

/* A string that is no time is told of here, in the words of the grammar. */
static bool read_time(const json_member *m, const json_node *n, void *target, faults *f)
{
    tutti_error e = TUTTI_ERROR_INIT;
    tutti_time time = {json_int(n), 0.0, TUTTI_UNIT_EPOCH, 0};
    if (json_type(n) != JSON_INT && !json_string(n))
        return false;
    if (json_string(n) && duration_parse(json_string(n), &time, &e))
        faults_add(f, n, "%s", e.text);
    else
        store(m, target, &time);
    return true;
}

/* What has another length is told of here. */
static bool read_node(const json_member *m, const json_node *n, void *target, faults *f)
{
    if (json_type(n) != (m->type == MEMBER_OBJECT ? JSON_OBJECT : JSON_ARRAY))
        return false;
    if (json_count(n) > MEMBER_ITEMS)
        faults_add(f, n, "has %zu entries, want at most %d", json_count(n), MEMBER_ITEMS);
    else
        store(m, target, &n);
    return true;
}

/* The same, and of each item that is wrong. */
static bool read_words(const json_member *m, const json_node *list, void *target, faults *f)
{
    static const json_member whole = {.type = MEMBER_ARRAY}, item = {.type = MEMBER_STRING};
    const size_t before = faults_count(f);
    if (!read_node(&whole, list, NULL, f))
        return false;
    for (size_t k = 0; k < json_count(list) && k < MEMBER_ITEMS; k++) {
        const json_node *n = json_at(list, k);
        bool twice = false;
        if (!read_text(&item, n, NULL)) {
            refuse(&item, n, f);
            continue;
        }
        for (size_t j = 0; j < k && !twice; j++)
            twice = json_string(json_at(list, j)) &&
                    strcmp(json_string(json_at(list, j)), json_string(n)) == 0;
        if (twice)
            faults_add(f, n, "\"%s\" is there twice", json_string(n));
    }
    if (!json_count(list))
        faults_add(f, list, "is empty");
    if (faults_count(f) == before)
        store(m, target, &list);
    return true;
}

static bool read_value(const json_member *m, const json_node *n, void *target, faults *f)
{
    switch (m->type) {
    case MEMBER_BOOL:
    case MEMBER_INT:
    case MEMBER_CHOICE:
        return read_integer(m, n, target);
    case MEMBER_REAL:
    case MEMBER_NUMBER:
        return read_real(m, n, target);
    case MEMBER_STRING:
    case MEMBER_SHA256:
    case MEMBER_WORD:
        return read_text(m, n, target);
    case MEMBER_TIME:
        return read_time(m, n, target, f);
    case MEMBER_ARRAY:
    case MEMBER_OBJECT:
        return read_node(m, n, target, f);
    case MEMBER_WORDS:
        return read_words(m, n, target, f);
    default:
        store(m, target, &n);
        return true;
    }
}

static void read_row(const json_node *at, const json_member *m, void *target, faults *f)
{
    const json_node *n = json_get(at, m->name);
    if (n && json_type(n) == JSON_NULL && m->flags & MEMBER_NULLABLE)
        n = NULL;
    if (!n && m->flags & MEMBER_REQUIRED)
        miss(m, at, f);
    else if (n && !read_value(m, n, target, f))
        refuse(m, n, f);
}

void json_members_read(const json_node *at, const json_member *rows, void *target, faults *f)
{
    for (const json_member *m = rows; m->name; m++)
        read_row(at, m, target, f);
}

const char **json_words(const json_node *list, faults *f)
{
    const char **words = list ? calloc(json_count(list) + 1, sizeof *words) : NULL;
    if (list && !words)
        faults_add_no_memory(f, list);
    for (size_t k = 0; words && k < json_count(list); k++)
        words[k] = json_string(json_at(list, k));
    return words;
}

/* ---- keys ---- */

static bool is_free(const char *key)
{
    return strncmp(key, "x-", 2) == 0;
}

static bool is_known(const char *key, const json_member *const *tables)
{
    for (; *tables; tables++)
        for (const json_member *m = *tables; m->name; m++)
            if (strcmp(m->name, key) == 0)
                return true;
    return false;
}

static void refuse_key(const json_node *n, const char *const *known, faults *f)
{
    faults_add_word(f, n, json_key(n), "unknown key%s", suggest_word(json_key(n), known).text);
}

void json_members_known(const json_node *at, const json_member *const *tables, faults *f)
{
    const char *names[MAX_NAMES + 1]; /* for suggestions */
    size_t count = 0;
    for (size_t k = 0; tables[k]; k++)
        for (const json_member *m = tables[k]; m->name && count < MAX_NAMES; m++)
            names[count++] = m->name;
    names[count] = NULL;
    for (size_t k = 0; k < json_count(at); k++) {
        const json_node *n = json_at(at, k);
        if (!is_known(json_key(n), tables) && !is_free(json_key(n)))
            refuse_key(n, names, f);
    }
}

bool json_member_misspelt(const json_node *at, const char *name, faults *f)
{
    const char *const names[] = {name, NULL};
    for (size_t k = 0; k < json_count(at) && !json_get(at, name); k++) {
        const json_node *n = json_at(at, k);
        if (is_free(json_key(n)) || !nearest_word(json_key(n), names))
            continue;
        refuse_key(n, names, f);
        return true;
    }
    return false;
}

/* ---- objects and arrays ---- */

bool json_want(const json_node *at, int type, const char *want, faults *f)
{
    if (json_type(at) == type)
        return true;
    const json_member m = {.want = want};
    refuse(&m, at, f);
    return false;
}

bool json_object_read(const json_node *at, const char *want, const json_member *rows,
                      void *target, faults *f)
{
    const json_member *const tables[] = {rows, NULL};
    if (!json_want(at, JSON_OBJECT, want, f))
        return false;
    json_members_known(at, tables, f);
    json_members_read(at, rows, target, f);
    return true;
}

void *json_array_alloc(const json_node *list, size_t size, const char *want, size_t *ret_count,
                       faults *f)
{
    *ret_count = 0;
    if (!list || !json_want(list, JSON_ARRAY, want, f))
        return NULL;
    void *items = calloc(json_count(list) + 1, size);
    if (items)
        *ret_count = json_count(list);
    else
        faults_add_no_memory(f, list);
    return items;
}
