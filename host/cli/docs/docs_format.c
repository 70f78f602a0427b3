/* docs_format.c - tutti docs format: the man page of JSON files, out of their schema. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "cli/docs/docs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 20 };

static void add_type(text_buffer *b, const json_node *root, const json_node *schema);

static bool has(const json_node *schema, const char *key)
{
    return json_get(schema, key) != NULL;
}

/* What stands for a reference in this file: "#/$defs/part"; NULL for one into another file. */
static const json_node *resolve(const json_node *root, const char *reference)
{
    static const char prefix[] = "#/$defs/";
    return strncmp(reference, prefix, strlen(prefix)) == 0
               ? json_get(json_get(root, "$defs"), reference + strlen(prefix))
               : NULL;
}

/* Whether a definition is told once, under TYPES, and goes by its name elsewhere. */
static bool is_named(const json_node *definition)
{
    return has(definition, "description") || has(definition, "properties") ||
           has(definition, "anyOf");
}

static void add_value(text_buffer *b, const json_node *value)
{
    char *text = json_string(value) ? NULL : json_text(value);
    const char *string = json_string(value);
    text_add(b, "%s", string ? *string ? string : "\"\"" : text ? text : "?");
    free(text);
}

static void add_list(text_buffer *b, const json_node *list, const char *before)
{
    const size_t n = json_count(list);
    for (size_t k = 0; k < n; k++) {
        text_add(b, "%s", !k ? before : k + 1 < n ? ", " : " or ");
        add_value(b, json_at(list, k));
    }
}

static void add_reference(text_buffer *b, const json_node *root, const char *reference)
{
    const json_node *definition = resolve(root, reference);
    const char *slash = strrchr(reference, '/');
    if (definition && !is_named(definition))
        add_type(b, root, definition);
    else if (definition || (slash && strcmp(slash, "/text") == 0))
        text_add(b, "%s", slash + 1);
    else
        text_add(b, "%s of tutti-run(5)", slash ? slash + 1 : reference);
}

static void add_choices(text_buffer *b, const json_node *root, const json_node *choices)
{
    for (size_t k = 0; k < json_count(choices); k++) {
        text_add(b, "%s", k ? " or " : "");
        add_type(b, root, json_at(choices, k));
    }
}

static void add_plain(text_buffer *b, const json_node *root, const json_node *schema,
                      const char *type)
{
    if (!type)
        return;
    if (strcmp(type, "array") == 0 && has(schema, "items")) {
        text_add(b, "list of ");
        add_type(b, root, json_get(schema, "items"));
    } else
        text_add(b, "%s",
                 strcmp(type, "boolean") == 0   ? "true or false"
                 : strcmp(type, "string") == 0  ? "text"
                 : strcmp(type, "integer") == 0 ? "whole number"
                 : strcmp(type, "array") == 0   ? "list"
                                                : type);
}

static void add_bounds(text_buffer *b, const json_node *schema)
{
    static const char *const bounds[][2] = {{"minimum", ">="},
                                            {"exclusiveMinimum", ">"},
                                            {"maximum", "<="},
                                            {"exclusiveMaximum", "<"}};
    bool any = false;
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
        if (has(schema, bounds[k][0])) {
            text_add(b, "%s %s ", any ? "," : "", bounds[k][1]);
            add_value(b, json_get(schema, bounds[k][0]));
            any = true;
        }
}

/* "whole number >= 1 or auto", "list of part". */
static void add_type(text_buffer *b, const json_node *root, const json_node *schema)
{
    const json_node *type = json_get(schema, "type");
    const char *reference = json_string(json_get(schema, "$ref"));
    if (reference)
        add_reference(b, root, reference);
    else if (has(schema, "enum"))
        add_list(b, json_get(schema, "enum"), "");
    else if (has(schema, "const"))
        add_value(b, json_get(schema, "const"));
    else if (has(schema, "anyOf") || has(schema, "oneOf"))
        add_choices(b, root, json_get(schema, has(schema, "anyOf") ? "anyOf" : "oneOf"));
    else if (type && json_type(type) == JSON_ARRAY)
        for (size_t k = 0; k < json_count(type); k++) {
            text_add(b, "%s", k ? " or " : "");
            add_plain(b, root, schema, json_string(json_at(type, k)));
        }
    else
        add_plain(b, root, schema, json_string(type));
    add_bounds(b, schema);
}

static bool is_required(const json_node *schema, const char *name)
{
    const json_node *required = json_get(schema, "required");
    for (size_t k = 0; k < json_count(required); k++)
        if (strcmp(json_string(json_at(required, k)), name) == 0)
            return true;
    return false;
}

static void tell_inside(const json_node *root, const json_node *schema);

static void tell(const json_node *root, const json_node *parent, const char *name,
                 const json_node *schema)
{
    text_buffer type = {0}, text = {0};
    const char *description = json_string(json_get(schema, "description"));
    add_type(&type, root, schema);
    const bool says = type.data && strcmp(type.data, "object") != 0;
    roff_item(name, says ? type.data : NULL);
    if (is_required(parent, name))
        text_add(&text, "Required. ");
    if (description)
        text_add(&text, "%s ", description);
    if (has(schema, "default")) {
        text_add(&text, "Default: ");
        add_value(&text, json_get(schema, "default"));
        text_add(&text, ".");
    }
    roff_text(text.data ? text.data : "");
    free(type.data);
    free(text.data);
    tell_inside(root, schema);
}

static void tell_members(const json_node *root, const json_node *schema)
{
    const json_node *members = json_get(schema, "properties");
    const json_node *others = json_get(schema, "additionalProperties");
    for (size_t k = 0; k < json_count(members); k++)
        if (json_count(json_at(members, k))) /* {}: told elsewhere */
            tell(root, schema, json_key(json_at(members, k)), json_at(members, k));
    if (others && json_type(others) == JSON_OBJECT)
        tell(root, schema, "NAME", others);
}

/* Members that depend on another: "if" and "then" of allOf. */
static void tell_cases(const json_node *root, const json_node *schema)
{
    const json_node *all = json_get(schema, "allOf");
    for (size_t k = 0; k < json_count(all); k++) {
        const json_node *when =
            json_at(json_get(json_get(json_at(all, k), "if"), "properties"), 0);
        const json_node *then = json_get(json_at(all, k), "then");
        text_buffer text = {0};
        if (!when || !has(then, "properties"))
            continue;
        text_add(&text, "Where `%s` is ", json_key(when));
        add_type(&text, root, when);
        text_add(&text, ":");
        (void)printf(".PP\n");
        roff_text(text.data ? text.data : "");
        free(text.data);
        tell_members(root, then);
    }
}

/* The members of an object, of the objects of a list, of each that it may be. */
static void tell_inside(const json_node *root, const json_node *schema)
{
    static const char *const choices[] = {"anyOf", "oneOf"};
    const json_node *others = json_get(schema, "additionalProperties");
    const bool own = has(schema, "properties") || has(schema, "allOf") ||
                     (others && json_type(others) == JSON_OBJECT);
    if (own) {
        (void)printf(".RS\n");
        tell_members(root, schema);
        tell_cases(root, schema);
        (void)printf(".RE\n");
    }
    if (has(schema, "items"))
        tell_inside(root, json_get(schema, "items"));
    for (size_t c = 0; c < 2; c++)
        for (size_t k = 0; k < json_count(json_get(schema, choices[c])); k++)
            tell_inside(root, json_at(json_get(schema, choices[c]), k));
}

static void tell_types(const json_node *root)
{
    const json_node *types = json_get(root, "$defs");
    if (!types)
        return;
    roff_section("TYPES");
    for (size_t k = 0; k < json_count(types); k++)
        if (is_named(json_at(types, k)))
            tell(root, NULL, json_key(json_at(types, k)), json_at(types, k));
}

static void tell_file(const json_node *root, const char *name)
{
    const json_node *extra = json_at(json_get(root, "patternProperties"), 0);
    const char *title = json_string(json_get(root, "title"));
    const char *description = json_string(json_get(root, "description"));
    roff_title(name, 5, title ? title : name);
    roff_section("DESCRIPTION");
    roff_text(description ? description : "");
    roff_section("MEMBERS");
    tell_members(root, root);
    if (extra) {
        roff_item("x-...", "anything");
        roff_text("Yours; the host skips it, here and in the objects below.");
    }
    tell_types(root);
    roff_section("SEE ALSO");
    (void)printf(".BR tutti (1),\n.BR tutti\\-validate (1),\n.BR tutti\\-plugins (1)\n");
}

int docs_format(const cli_options *o, const tutti_op *const *ops)
{
    json_doc *doc = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    if (json_read(o->words[1], LIMIT, &doc, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return CLI_FAILED;
    }
    tell_file(json_root(doc), o->words[2]);
    json_free(doc);
    return CLI_OK;
}
