/* kernels.c - the typed functions that a manifest declares: kernels and handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/call/call.h"
#include "plugin/plugin.h"

#include <stdlib.h>
#include <string.h>

/* An argument is ["name", "type"]; a kernel's may have "in", "out" or "inout" as its third. */
static const char *read_arg(kernel *k, const json_node *node, const ctype **ret_type, faults *f)
{
    const bool in_handler = k->handler;
    const size_t count = json_count(node);
    const char *texts[3] = {NULL, NULL, "in"};
    bool good = json_type(node) == JSON_ARRAY && (count == 2 || (count == 3 && !in_handler));
    for (size_t n = 0; good && n < count; n++) {
        texts[n] = json_string(json_at(node, n));
        good = texts[n] && *texts[n];
    }
    if (!good) {
        faults_add(f, node, "want [\"name\", \"type\"]%s",
                   in_handler ? "" : " or [\"name\", \"type\", \"in\"]");
        return NULL;
    }
    if (in_handler) {
        *ret_type = ctype_argument(k->plugin->types, texts[1], node, f);
        return *ret_type ? texts[1] : NULL;
    }
    if (!call_type_known(texts[1])) {
        faults_add(f, node,
                   "\"%s\" is no argument type, want i8 to i64, u8 to u64, f32, f64 or "
                   "buf<T>",
                   texts[1]);
        return NULL;
    }
    if (strcmp(texts[2], "in") != 0 && strcmp(texts[2], "out") != 0 &&
        strcmp(texts[2], "inout") != 0) {
        faults_add(f, node, "\"%s\" is no direction, want in, out or inout", texts[2]);
        return NULL;
    }
    return texts[1];
}

static void read_args(kernel *k, const json_node *args, faults *f)
{
    if (!args)
        return;
    if (json_count(args) > CALL_MAX_ARGS) {
        faults_add(f, args, "has %zu arguments, want at most %d", json_count(args),
                   CALL_MAX_ARGS);
        return;
    }
    const size_t count = json_count(args), hidden = k->handler ? HANDLER_HIDDEN : 0;
    if (k->handler && count + hidden > CALL_MAX_ARGS) {
        faults_add(f, args, "has %zu arguments, want at most %zu", count,
                   CALL_MAX_ARGS - hidden);
        return;
    }
    const char **types = calloc(2 * count + 1, sizeof *types);
    k->ctypes = calloc(count + 1, sizeof *k->ctypes);
    if (!types || !k->ctypes) {
        free((void *)types);
        faults_add_no_memory(f, args);
        return;
    }
    for (size_t a = 0; a < count; a++) {
        types[a] = read_arg(k, json_at(args, a), &k->ctypes[a], f);
        types[count + a] = json_string(json_at(json_at(args, a), 0));
    }
    k->arg_types = types; /* one block with the names behind the types */
    k->arg_names = types + count;
    k->nargs = (uint32_t)count;
}

static bool is_beside(const char *file)
{
    return !strchr(file, '/') && file[0] != '.';
}

static const json_member cuda_rows[] = {
    {.name = "entry",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel, entry)},
    {.name = "file",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_beside,
     .want = "a file beside the manifest",
     MEMBER_AT(kernel, file)},
    {.name = "sha256", .type = MEMBER_SHA256, MEMBER_AT(kernel, sha256)},
    {.name = "block", .type = MEMBER_INT, .min = 1, .max = 1024, MEMBER_AT(kernel, block)},
    {.name = "shared", .type = MEMBER_INT, .max = 227 << 10, MEMBER_AT(kernel, shared)},
    {.name = NULL},
};

/* "grid": a number of blocks, or the name of the argument that counts elements. */
static const json_member blocks_rows[] = {
    {.name = "grid", .type = MEMBER_INT, .min = 1, .max = INT32_MAX, MEMBER_AT(kernel, grid)},
    {.name = NULL},
};
static const json_member elements_rows[] = {
    {.name = "grid",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .want = "a number of blocks, or the name of an argument of type i64 or u64",
     .size = sizeof(const char *)},
    {.name = NULL},
};

static void read_grid(kernel *k, const json_node *cuda, faults *f)
{
    const json_node *grid = json_get(cuda, "grid");
    const char *name = NULL;
    k->grid_arg = -1;
    k->grid = grid && json_type(grid) == JSON_INT;
    if (k->grid)
        json_members_read(cuda, blocks_rows, k, f);
    else
        json_members_read(cuda, elements_rows, &name, f);
    for (uint32_t a = 0; name && a < k->nargs; a++)
        if (k->arg_names[a] && strcmp(k->arg_names[a], name) == 0 && k->arg_types[a] &&
            (strcmp(k->arg_types[a], "i64") == 0 || strcmp(k->arg_types[a], "u64") == 0))
            k->grid_arg = (int32_t)a;
    if (name && k->arg_types && k->grid_arg < 0)
        faults_add(f, grid, "is \"%s\", want the name of an argument of type i64 or u64", name);
}

/* Device code: {"file": "x.fatbin", "entry": "name", "grid": "n", "block": 256, "shared": 0}, and
 * perhaps "sha256" of the file. */
static void read_cuda(kernel *k, const json_node *cuda, faults *f)
{
    static const json_member *const tables[] = {cuda_rows, blocks_rows, NULL};
    if (!cuda)
        return;
    json_members_known(cuda, tables, f);
    k->block = 256;
    json_members_read(cuda, cuda_rows, k, f);
    read_grid(k, cuda, f);
}

uint32_t kernel_arg_size(const char *type)
{
    return strncmp(type, "buf<", 4) == 0 || strstr(type, "64") ? 8
           : strstr(type, "32")                                ? 4
           : strstr(type, "16")                                ? 2
                                                               : 1;
}

static void read_returns(kernel *k, const json_node *node, const char *returns, faults *f)
{
    k->result = ctype_result(k->plugin->types, returns ? returns : "status",
                             json_get(node, "returns"), f);
    k->returns = returns && k->result ? returns : "status";
}

/* The number that a handler gives instead of its result.  A struct is none by itself. */
static void read_value(kernel *k, const json_node *node, const char *path, faults *f)
{
    bool typed = k->result && k->arg_types;
    for (uint32_t a = 0; typed && a < k->nargs; a++)
        typed = k->arg_types[a] && k->arg_names[a];
    if (path && typed &&
        ctype_find(path, k->arg_names, k->ctypes, k->nargs, k->result, json_get(node, "value"),
                   &k->value, f))
        k->value_path = path;
    else if (!path && k->result && k->result->kind == CTYPE_STRUCT)
        faults_add(
            f, json_get(node, "returns"),
            "is a struct: want \"value\" with the number of it that the handler gives, such as "
            "\"returns.%s\"",
            k->result->members[0].name);
}

/* ---- kernels and handlers ---- */

typedef struct kernel_members {
    kernel kernel;
    const json_node *args, *cpu, *cuda;
    const char *returns, *value;
} kernel_members;

static const json_member shared_rows[] = {
    {.name = "name",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel_members, kernel.name)},
    {.name = "doc", .type = MEMBER_STRING, MEMBER_AT(kernel_members, kernel.doc)},
    {.name = NULL},
};

static const json_member kernel_rows[] = {
    {.name = "cpu",
     .type = MEMBER_OBJECT,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel_members, cpu)},
    {.name = "args",
     .type = MEMBER_ARRAY,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel_members, args)},
    {.name = "cuda", .type = MEMBER_OBJECT, MEMBER_AT(kernel_members, cuda)},
    {.name = NULL},
};

static const json_member cpu_rows[] = {
    {.name = "symbol",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel, symbol)},
    {.name = NULL},
};

static const json_member handler_rows[] = {
    {.name = "symbol",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel_members, kernel.symbol)},
    {.name = "engine", .type = MEMBER_BOOL, MEMBER_AT(kernel_members, kernel.engine)},
    {.name = "filter", .type = MEMBER_BOOL, MEMBER_AT(kernel_members, kernel.filter)},
    {.name = "returns", .type = MEMBER_STRING, MEMBER_AT(kernel_members, returns)},
    {.name = "args",
     .type = MEMBER_ARRAY,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(kernel_members, args)},
    {.name = "value", .type = MEMBER_STRING, MEMBER_AT(kernel_members, value)},
    {.name = NULL},
};

static void read_kernel(kernel *k, const json_node *node, faults *f)
{
    const json_member *const tables[] = {shared_rows, k->handler ? handler_rows : kernel_rows,
                                         NULL};
    kernel_members m = {.kernel = *k};
    json_members_known(node, tables, f);
    json_members_read(node, tables[0], &m, f);
    json_members_read(node, tables[1], &m, f);
    *k = m.kernel;
    if (m.cpu)
        (void)json_object_read(m.cpu, "an object", cpu_rows, k, f);
    if (k->handler)
        read_returns(k, node, m.returns, f);
    read_args(k, m.args, f);
    if (k->handler)
        read_value(k, node, m.value, f);
    else
        read_cuda(k, m.cuda, f);
}

void kernels_read(plugin *p, const json_node *list, bool handlers, faults *f)
{
    kernel *kernels =
        realloc(p->kernels, (p->nkernels + json_count(list) + 1) * sizeof *kernels);
    if (!kernels) {
        faults_add_no_memory(f, list);
        return;
    }
    p->kernels = kernels;
    for (size_t n = 0; n < json_count(list); n++) {
        const json_node *node = json_at(list, n);
        kernel k = {.plugin = p, .handler = handlers};
        if (!json_want(node, JSON_OBJECT, "an object", f))
            continue;
        read_kernel(&k, node, f);
        for (size_t m = 0; m < p->nkernels; m++)
            if (k.name && p->kernels[m].name && strcmp(p->kernels[m].name, k.name) == 0)
                faults_add(f, node, "there are two called \"%s\"", k.name);
        p->kernels[p->nkernels++] = k;
    }
}

void kernels_free(plugin *p)
{
    for (size_t k = 0; k < p->nkernels; k++) {
        call_free(p->kernels[k].cif);
        free((void *)p->kernels[k].arg_types);
        free((void *)p->kernels[k].ctypes);
    }
    free(p->kernels);
}
