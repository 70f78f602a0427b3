/* attr.c - from named attributes to an op's attribute struct. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"

#include <stdio.h>
#include <string.h>

static const char *type_name(int32_t type)
{
    switch (type) {
    case TUTTI_ATTR_I64:
        return "integer";
    case TUTTI_ATTR_F64:
        return "number";
    case TUTTI_ATTR_LIST:
        return "list";
    default:
        return "unknown type";
    }
}

/* "stride (list), groups (integer)", or "none". */
static const char *known_attributes(const tutti_op *op, char *text, size_t size)
{
    size_t used = 0;
    (void)snprintf(text, size, "none");
    for (uint64_t k = 0; k < op->nfields && used < size; k++) {
        const tutti_attr_field *f = &op->fields[k];
        const int n = snprintf(text + used, size - used, "%s%s (%s)", k ? ", " : "", f->name,
                               type_name(f->type));
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

static const tutti_attr_field *find_field(const tutti_op *op, const char *name)
{
    for (uint64_t k = 0; k < op->nfields; k++)
        if (strcmp(op->fields[k].name, name) == 0)
            return &op->fields[k];
    return NULL;
}

static void write_defaults(const tutti_op *op, unsigned char *blob)
{
    memset(blob, 0, op->attr_size);
    for (uint64_t k = 0; k < op->nfields; k++) {
        const tutti_attr_field *f = &op->fields[k];
        if (f->type == TUTTI_ATTR_I64)
            memcpy(blob + f->offset, &f->i, sizeof f->i);
        else if (f->type == TUTTI_ATTR_F64)
            memcpy(blob + f->offset, &f->f, sizeof f->f);
    }
}

tutti_status attr_decode(const tutti_op *op, const tutti_attr *attr, uint32_t nattr, void *blob,
                         tutti_error *err)
{
    unsigned char *bytes = blob;
    char known[256];
    if (op->attr_size)
        write_defaults(op, bytes);
    for (uint32_t k = 0; k < nattr; k++) {
        const tutti_attr *a = &attr[k];
        const tutti_attr_field *f = find_field(op, a->name);
        if (!f)
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: there is no attribute \"%s\"; its attributes: %s", op->name,
                              a->name, known_attributes(op, known, sizeof known));
        if (a->type == TUTTI_ATTR_TEXT)
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: attribute \"%s\" is given as text, which no operation takes",
                              op->name, a->name);
        if (f->type != a->type)
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: attribute \"%s\" is given as %s; its attributes: %s",
                              op->name, a->name, type_name(a->type),
                              known_attributes(op, known, sizeof known));
        if (a->type == TUTTI_ATTR_LIST && a->count > TUTTI_MAX_RANK)
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: attribute \"%s\" has %u entries, at most %d are possible",
                              op->name, a->name, a->count, TUTTI_MAX_RANK);
        if (a->type == TUTTI_ATTR_I64) {
            memcpy(bytes + f->offset, &a->i, sizeof a->i);
        } else if (a->type == TUTTI_ATTR_F64) {
            memcpy(bytes + f->offset, &a->f, sizeof a->f);
        } else {
            tutti_list list = {a->count, {0}};
            for (uint32_t j = 0; j < a->count; j++)
                list.v[j] = a->list[j];
            memcpy(bytes + f->offset, &list, sizeof list);
        }
    }
    return TUTTI_OK;
}

void attr_encode(const tutti_op *op, const void *blob, tutti_list *lists, tutti_attr *ret_attr)
{
    const unsigned char *bytes = blob;
    for (uint64_t k = 0; k < op->nfields; k++) {
        const tutti_attr_field *f = &op->fields[k];
        tutti_attr *a = &ret_attr[k];
        if (f->type == TUTTI_ATTR_I64) {
            *a = tutti_attr_i(f->name, 0);
            memcpy(&a->i, bytes + f->offset, sizeof a->i);
        } else if (f->type == TUTTI_ATTR_F64) {
            *a = tutti_attr_f(f->name, 0.0);
            memcpy(&a->f, bytes + f->offset, sizeof a->f);
        } else {
            memcpy(&lists[k], bytes + f->offset, sizeof lists[k]);
            *a = tutti_attr_list(f->name, lists[k].v, (uint32_t)lists[k].n);
        }
    }
}

static const tutti_attr_field *find_i64(const tutti_op *op, const char *name)
{
    for (uint64_t k = 0; k < op->nfields; k++)
        if (op->fields[k].type == TUTTI_ATTR_I64 && strcmp(op->fields[k].name, name) == 0)
            return &op->fields[k];
    return NULL;
}

int attr_raise(const tutti_op *op, void *blob, const char *name, int64_t to)
{
    const tutti_attr_field *f = find_i64(op, name);
    if (f)
        memcpy((unsigned char *)blob + f->offset, &to, sizeof to);
    return f != NULL;
}

bool attr_has(const tutti_op *op, const char *name)
{
    return find_i64(op, name) != NULL;
}

int64_t attr_get(const tutti_op *op, const void *blob, const char *name)
{
    const tutti_attr_field *f = find_i64(op, name);
    int64_t i = 0;
    if (f)
        memcpy(&i, (const unsigned char *)blob + f->offset, sizeof i);
    return i;
}

void attr_dump(const tutti_op *op, const void *blob, FILE *file)
{
    const unsigned char *bytes = blob;
    for (uint64_t k = 0; k < op->nfields; k++) {
        const tutti_attr_field *f = &op->fields[k];
        if (f->type == TUTTI_ATTR_I64) {
            int64_t i;
            memcpy(&i, bytes + f->offset, sizeof i);
            if (i != f->i)
                (void)fprintf(file, " %s=%lld", f->name, (long long)i);
        } else if (f->type == TUTTI_ATTR_F64) {
            double x;
            memcpy(&x, bytes + f->offset, sizeof x);
            if (x != f->f)
                (void)fprintf(file, " %s=%.17g", f->name, x);
        } else {
            tutti_list list;
            memcpy(&list, bytes + f->offset, sizeof list);
            if (list.n)
                (void)fprintf(file, " %s=[", f->name);
            for (int64_t j = 0; j < list.n; j++)
                (void)fprintf(file, "%lld%s", (long long)list.v[j], j + 1 < list.n ? "," : "]");
        }
    }
}
