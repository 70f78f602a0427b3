/* json.c - jansson checks and decodes the text; a scanner beside it finds every value's line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_tree.h"

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Walks the text in step with jansson's values, which keep document order.  The text has been
 * accepted, so nothing is checked again. */
typedef struct scanner {
    json_doc *doc;
    const char *at;
    const char *end;
    int line;
    bool no_lines;
    tutti_error *err;
} scanner;

/* To the next byte that is not white space. */
static void skip_space(scanner *s)
{
    for (; s->at < s->end && strchr(" \t\r\n", *s->at); s->at++)
        s->line += *s->at == '\n';
}

/* Over the one punctuation byte that stands next. */
static void skip_mark(scanner *s)
{
    skip_space(s);
    s->at++;
}

static void skip_string(scanner *s)
{
    skip_space(s);
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++)
        s->at += *s->at == '\\';
    s->at++;
}

static void skip_word(scanner *s)
{
    while (s->at < s->end && !strchr(" \t\r\n,]}", *s->at))
        s->at++;
}

static tutti_status no_memory(scanner *s)
{
    return tutti_fail(s->err, TUTTI_E_NOMEM, "%s: no memory for its values", s->doc->name);
}

static tutti_status convert(scanner *s, const json_t *value, int depth, json_node **ret_node);

static tutti_status convert_items(scanner *s, const json_t *value, int depth, json_node *node)
{
    tutti_status status = TUTTI_OK;
    size_t done = 0;
    void *member = json_object_iter((json_t *)value);
    const size_t count =
        node->type == NODE_OBJECT ? json_object_size(value) : json_array_size(value);
    if (depth >= TREE_MAX_DEPTH)
        return tutti_fail(s->err, TUTTI_E_FORMAT, "%s:%d: values are nested more than %d deep",
                          s->doc->name, s->line, TREE_MAX_DEPTH);
    skip_mark(s);
    for (; done < count && !status; done++) {
        json_node *item = NULL;
        const char *key = NULL;
        const json_t *next;
        if (node->type == NODE_OBJECT) {
            key = json_object_iter_key(member);
            next = json_object_iter_value(member);
            member = json_object_iter_next((json_t *)value, member);
            skip_string(s);
            skip_mark(s);
        } else {
            next = json_array_get(value, done);
        }
        status = convert(s, next, depth + 1, &item);
        if (status)
            break;
        if (tree_append(node, key, item)) {
            tree_free(item);
            status = no_memory(s);
        }
        skip_mark(s); /* the comma, or the closing bracket after the last */
    }
    if (!count)
        skip_mark(s);
    return status;
}

static tutti_status convert(scanner *s, const json_t *value, int depth, json_node **ret_node)
{
    static const int types[] = {
        [JSON_OBJECT] = NODE_OBJECT, [JSON_ARRAY] = NODE_ARRAY, [JSON_STRING] = NODE_STRING,
        [JSON_INTEGER] = NODE_INT,   [JSON_REAL] = NODE_REAL,   [JSON_TRUE] = NODE_BOOL,
        [JSON_FALSE] = NODE_BOOL,    [JSON_NULL] = NODE_NULL,
    };
    tutti_status status = TUTTI_OK;
    skip_space(s);
    json_node *node = tree_node(s->doc, types[json_typeof(value)], s->no_lines ? 0 : s->line);
    if (!node)
        return no_memory(s);
    switch (node->type) {
    case NODE_OBJECT:
    case NODE_ARRAY:
        status = convert_items(s, value, depth, node);
        break;
    case NODE_STRING:
        node->string = strdup(json_string_value(value));
        if (!node->string)
            status = no_memory(s);
        skip_string(s);
        break;
    default:
        node->integer = json_is_true(value) ? 1 : json_integer_value(value);
        node->real = json_number_value(value);
        skip_word(s);
    }
    if (status)
        tree_free(node);
    else
        *ret_node = node;
    return status;
}

/* jansson aborts when memory ends in the middle of a word.  So while a text is read by this thread, what
 * jansson takes is written down, and a failure leaves the reader and gives all of it back.  Who else
 * uses jansson in this process, and what it takes at other times, is served as always. */
typedef struct taken {
    sigjmp_buf failed;
    void **blocks;
    size_t count;
    size_t capacity;
} taken;
static _Thread_local taken *reading;

static bool write_down(taken *t, void *block)
{
    if (t->count == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 1024;
        void **grown = realloc(t->blocks, capacity * sizeof *grown);
        if (!grown)
            return false;
        t->blocks = grown;
        t->capacity = capacity;
    }
    t->blocks[t->count++] = block;
    return true;
}

static void *take(size_t size)
{
    void *block = malloc(size);
    if (!reading || (block && write_down(reading, block)))
        return block;
    free(block);
    siglongjmp(reading->failed, 1);
}

/* The latest blocks are given back first. */
static void give(void *block)
{
    for (size_t k = reading ? reading->count : 0; k-- > 0;)
        if (reading->blocks[k] == block) {
            reading->blocks[k] = reading->blocks[--reading->count];
            break;
        }
    free(block);
}

static void serve_jansson(void)
{
    json_set_alloc_funcs(take, give);
}

/* NULL: with *ret_lacks memory is out, else the text is wrong and `cause` says how. */
static json_t *load(const char *text, size_t size, json_error_t *cause, bool *ret_lacks)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    taken t = {.count = 0};
    json_t *volatile value = NULL;
    (void)pthread_once(&once, serve_jansson);
    reading = &t;
    *ret_lacks = sigsetjmp(t.failed, 0) != 0;
    if (!*ret_lacks)
        value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, cause);
    reading = NULL;
    for (size_t k = 0; *ret_lacks && k < t.count; k++)
        free(t.blocks[k]);
    free(t.blocks);
    return value;
}

tutti_status tree_read(json_doc *doc, const char *text, size_t size, bool no_lines,
                       json_node **ret_root, tutti_error *err)
{
    json_error_t cause;
    bool lacks = false;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        text += 3;
        size -= 3;
    }
    json_t *value = load(text, size, &cause, &lacks);
    if (lacks)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its values", doc->name);
    if (!value)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s:%d: not valid JSON: %s", doc->name,
                          cause.line > 0 ? cause.line : 1, cause.text);
    scanner s = {doc, text, text + size, 1, no_lines, err};
    const tutti_status status = convert(&s, value, 0, ret_root);
    json_decref(value);
    return status;
}

/* How many bytes the character takes that begins here; 0: it is none of UTF-8, such as a surrogate. */
static int character(const unsigned char *at)
{
    const int n = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (at[0] > 0xF4)
        return 0;
    for (int k = 1; k < n; k++)
        if ((at[k] & 0xC0) != 0x80)
            return 0;
    const bool wrong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
                       (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F);
    return wrong ? 0 : n;
}

bool tree_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    int n = 1;
    for (; *at && n; at += n)
        n = character(at);
    return n != 0;
}
