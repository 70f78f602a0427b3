/* label_names.c - a sorted list of texts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "label_names.h"

#include "whole_file.h"

enum { MOST_LABELS = 1 << 24 };

static int label_compare(const label_name *a, const void *text, uint64_t size)
{
    const int order = memcmp(a->text, text, a->size < size ? a->size : size);
    return order ? order : (a->size > size) - (a->size < size);
}

/* The first place whose label does not come before the text. */
static int64_t find_place(const label_names *n, const void *text, uint64_t size)
{
    int64_t low = 0, high = n->count;
    while (low < high) {
        const int64_t mid = (low + high) / 2;
        if (label_compare(&n->items[mid], text, size) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int is_at(const label_names *n, int64_t place, const void *text, uint64_t size)
{
    return place < n->count && label_compare(&n->items[place], text, size) == 0;
}

tutti_status label_names_add(label_names *n, const void *text, uint64_t size, tutti_error *err)
{
    const int64_t place = find_place(n, text, size);
    if (is_at(n, place, text, size))
        return TUTTI_OK;
    if (n->count == MOST_LABELS)
        return tutti_fail(err, TUTTI_E_RANGE, "there are more than %d different labels",
                          MOST_LABELS);
    if (n->count == n->capacity) {
        const int64_t capacity = n->capacity ? 2 * n->capacity : 64;
        label_name *grown = realloc(n->items, (size_t)capacity * sizeof *grown);
        if (!grown)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for labels");
        n->items = grown;
        n->capacity = capacity;
    }
    char *copy = malloc(size + 1);
    if (!copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for labels");
    memcpy(copy, text, size);
    copy[size] = '\0';
    memmove(n->items + place + 1, n->items + place,
            (size_t)(n->count - place) * sizeof *n->items);
    n->items[place] = (label_name){copy, size, n->count};
    n->count++;
    return TUTTI_OK;
}

void label_names_number(label_names *n)
{
    for (int64_t k = 0; k < n->count; k++)
        n->items[k].class = k;
}

tutti_status label_names_read(label_names *n, const char *path, tutti_error *err)
{
    void *data = NULL;
    uint64_t size = 0, at = 0;
    tutti_status s = whole_file(path, &data, &size, err);
    while (s == TUTTI_OK && at < size) {
        const char *line = (const char *)data + at;
        const char *end = memchr(line, '\n', size - at);
        const uint64_t whole = end ? (uint64_t)(end - line) : size - at;
        const uint64_t length = whole - (whole > 0 && line[whole - 1] == '\r');
        const int64_t before = n->count;
        s = label_names_add(n, line, length, err);
        if (s == TUTTI_OK && n->count == before)
            s = tutti_fail(err, TUTTI_E_FORMAT, "%s: the label %.*s stands there twice", path,
                           (int)(length < 60 ? length : 60), line);
        at += whole + 1;
    }
    free(data);
    return s;
}

int64_t label_names_class(const label_names *n, const void *text, uint64_t size)
{
    const int64_t place = find_place(n, text, size);
    return is_at(n, place, text, size) ? n->items[place].class : -1;
}

const char *label_names_text(const label_names *n, int64_t class)
{
    if (class >= 0 && class < n->count && n->items[class].class == class)
        return n->items[class].text; /* in the order of their bytes */
    for (int64_t k = 0; k < n->count; k++)
        if (n->items[k].class == class)
            return n->items[k].text;
    return NULL;
}

void label_names_free(label_names *n)
{
    for (int64_t k = 0; k < n->count; k++)
        free(n->items[k].text);
    free(n->items);
    *n = (label_names){NULL, 0, 0};
}
