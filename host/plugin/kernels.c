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

static void read_args(kernel *k, const json_node *node, faults *f)
{
    const json_node *args = json_member_read(node, "args", MEMBER_ARRAY, MEMBER_REQUIRED, f);
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

static const char *read_cpu_symbol(const json_node *node, faults *f)
{
    static const char *const keys[] = {"symbol", NULL};
    const json_node *cpu = json_member_read(node, "cpu", MEMBER_OBJECT, MEMBER_REQUIRED, f);
    if (!cpu)
        return NULL;
    faults_unknown_keys(f, cpu, keys);
    return json_member_string(cpu, "symbol", MEMBER_REQUIRED, f);
}

static uint32_t read_count(const json_node *node, const char *key, int64_t least, int64_t most,
                           uint32_t without, faults *f)
{
    const json_node *n = json_member_read(node, key, MEMBER_INT, 0, f);
    if (!n)
        return without;
    if (json_int(n) < least || json_int(n) > most) {
        faults_add(f, n, "is %lld, want %lld to %lld", (long long)json_int(n), (long long)least,
                   (long long)most);
        return without;
    }
    return (uint32_t)json_int(n);
}

/* A number of blocks, or the name of the argument that counts elements. */
static void read_grid(kernel *k, const json_node *cuda, faults *f)
{
    const json_node *grid = json_get(cuda, "grid");
    k->grid_arg = -1;
    if (grid && json_type(grid) == JSON_INT) {
        k->grid = read_count(cuda, "grid", 1, INT32_MAX, 1, f);
        return;
    }
    const char *name = json_member_string(cuda, "grid", MEMBER_REQUIRED, f);
    for (uint32_t a = 0; name && a < k->nargs; a++)
        if (k->arg_names[a] && strcmp(k->arg_names[a], name) == 0 && k->arg_types[a] &&
            (strcmp(k->arg_types[a], "i64") == 0 || strcmp(k->arg_types[a], "u64") == 0))
            k->grid_arg = (int32_t)a;
    if (name && k->arg_types && k->grid_arg < 0)
        faults_add(f, grid, "is \"%s\", want the name of an argument of type i64 or u64", name);
}

/* Device code: {"file": "x.fatbin", "entry": "name", "grid": "n", "block": 256, "shared": 0}, and
 * perhaps "sha256" of the file. */
static void read_cuda(kernel *k, const json_node *node, faults *f)
{
    static const char *const keys[] = {"file",   "entry",  "grid", "block",
                                       "shared", "sha256", NULL};
    const json_node *cuda = json_member_read(node, "cuda", MEMBER_OBJECT, 0, f);
    if (!cuda)
        return;
    faults_unknown_keys(f, cuda, keys);
    k->entry = json_member_string(cuda, "entry", MEMBER_REQUIRED, f);
    k->file = json_member_string(cuda, "file", MEMBER_REQUIRED, f);
    if (k->file && (strchr(k->file, '/') || k->file[0] == '.'))
        faults_add(f, json_get(cuda, "file"), "is \"%s\", want a file beside the manifest",
                   k->file);
    k->sha256 = json_string(json_member_read(cuda, "sha256", MEMBER_SHA256, 0, f));
    k->block = read_count(cuda, "block", 1, 1024, 256, f);
    k->shared = read_count(cuda, "shared", 0, 227 << 10, 0, f);
    read_grid(k, cuda, f);
}

static bool read_flag(const json_node *node, const char *key, faults *f)
{
    const json_node *flag = json_member_read(node, key, MEMBER_BOOL, 0, f);
    return flag && json_bool(flag);
}

uint32_t kernel_arg_size(const char *type)
{
    return strncmp(type, "buf<", 4) == 0 || strstr(type, "64") ? 8
           : strstr(type, "32")                                ? 4
           : strstr(type, "16")                                ? 2
                                                               : 1;
}

static void read_returns(kernel *k, const json_node *node, faults *f)
{
    const char *returns = json_member_string(node, "returns", 0, f);
    k->result = ctype_result(k->plugin->types, returns ? returns : "status",
                             json_get(node, "returns"), f);
    k->returns = returns && k->result ? returns : "status";
}

/* The number that a handler gives instead of its result.  A struct is none by itself. */
static void read_value(kernel *k, const json_node *node, faults *f)
{
    const char *path = json_member_string(node, "value", 0, f);
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

void kernels_read(plugin *p, const json_node *list, bool handlers, faults *f)
{
    static const char *const kernel_keys[] = {"name", "doc", "args", "cpu", "cuda", NULL};
    static const char *const handler_keys[] = {"name",   "doc",     "args",  "symbol", "engine",
                                               "filter", "returns", "value", NULL};
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
        if (json_type(node) != JSON_OBJECT) {
            faults_add(f, node, "is %s, want an object", json_type_name(node));
            continue;
        }
        faults_unknown_keys(f, node, handlers ? handler_keys : kernel_keys);
        k.name = json_member_string(node, "name", MEMBER_REQUIRED, f);
        k.doc = json_member_string(node, "doc", 0, f);
        k.symbol = handlers ? json_member_string(node, "symbol", MEMBER_REQUIRED, f)
                            : read_cpu_symbol(node, f);
        k.engine = handlers && read_flag(node, "engine", f);
        k.filter = handlers && read_flag(node, "filter", f);
        if (handlers)
            read_returns(&k, node, f);
        read_args(&k, node, f);
        if (handlers)
            read_value(&k, node, f);
        else
            read_cuda(&k, node, f);
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
