/* run_device.c - the device that a run file names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX = 1023, MAX_GIB = 1 << 20 };

static void find_object(run_device *d, registry *r, const char *name, const json_node *at,
                        faults *f)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_find(r, TUTTI_KIND_DEVICE, name, &d->part.object, &e))
        faults_add(f, at, "%s; auto, cpu and cuda are always known", e.text);
    else
        d->part.name = object_describe(d->part.object)->name;
}

/* "cuda", "shadow" or "shadow:1"; objects' names begin with letters. */
static void read_name(run_device *d, registry *r, const json_node *at, faults *f)
{
    const char *text = json_string(at), *colon = strrchr(text, ':');
    char name[256];
    size_t n = strlen(text);
    if (colon && colon[1] && strlen(colon) < 6 &&
        strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        d->index = (uint32_t)strtoul(colon + 1, NULL, 10);
        n = (size_t)(colon - text);
    }
    (void)snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name,
                   text);
    if (strcmp(name, "cuda") == 0) {
        d->part.name = "cuda";
        return;
    }
    find_object(d, r, name, at, f);
    if (d->part.object)
        d->part.params = params_from_json(d->part.object, NULL, NULL, NULL, f);
}

static void read_flag(const json_node *at, const char *key, int32_t *ret_flag, faults *f)
{
    const json_node *n = json_get(at, key);
    if (n && json_type(n) != JSON_BOOL)
        faults_add(f, n, "is %s, want true or false", json_type_name(n));
    else if (n)
        *ret_flag = json_bool(n);
}

/* The settings of the host's own devices, which have no manifest. */
static void read_own(run_device *d, const json_node *at, faults *f)
{
    static const char *const cpu_keys[] = {"name", "index", NULL};
    static const char *const cuda_keys[] = {
        "name", "index", "memory_limit", "graphs", "tf32", "unordered", NULL};
    const bool cuda = strcmp(d->part.name, "cuda") == 0;
    const json_node *limit = cuda ? json_get(at, "memory_limit") : NULL;
    faults_unknown_keys(f, at, cuda ? cuda_keys : cpu_keys);
    if (!cuda)
        return;
    read_flag(at, "graphs", &d->cuda.graphs, f);
    read_flag(at, "tf32", &d->cuda.tf32, f);
    read_flag(at, "unordered", &d->cuda.unordered, f);
    if (limit && json_type(limit) != JSON_INT && json_type(limit) != JSON_REAL)
        faults_add(f, limit, "is %s, want a number of GiB", json_type_name(limit));
    else if (limit && !(json_real(limit) > 0.0 && json_real(limit) <= MAX_GIB))
        faults_add(f, limit, "is %g, want a number of GiB above 0 and at most %d",
                   json_real(limit), MAX_GIB);
    else if (limit)
        d->cuda.memory_limit = (uint64_t)(json_real(limit) * (double)(UINT64_C(1) << 30));
}

static void read_object(run_device *d, registry *r, const char *folder, const json_node *at,
                        faults *f)
{
    static const char *const skip[] = {"name", "index", NULL};
    const json_node *name = json_get(at, "name"), *index = json_get(at, "index");
    if (!name || json_type(name) != JSON_STRING) {
        faults_add(f, name ? name : at, "%s, want the name of a device",
                   name ? "the name is not a string" : "has no name");
        return;
    }
    if (index &&
        (json_type(index) != JSON_INT || json_int(index) < 0 || json_int(index) > MAX_INDEX))
        faults_add(f, index, "is no whole number from 0 to %d", MAX_INDEX);
    else
        d->index = (uint32_t)json_int(index);
    if (strcmp(json_string(name), "cuda") == 0 || strcmp(json_string(name), "cpu") == 0) {
        d->part.name = json_string(name);
        read_own(d, at, f);
        return;
    }
    find_object(d, r, json_string(name), name, f);
    if (d->part.object)
        d->part.params = params_from_json(d->part.object, at, skip, folder, f);
}

void run_device_read(run_file *run, registry *r, const char *folder, const json_node *root,
                     faults *f)
{
    const json_node *at = json_get(root, "device");
    const char *text = json_string(at);
    run->device = (run_device){.part = {.name = "cpu", .at = at},
                               .cuda = {.graphs = -1, .tf32 = -1, .unordered = -1}};
    run->device.automatic = !at || (text && strcmp(text, "auto") == 0);
    if (run->device.automatic || (text && strcmp(text, "cpu") == 0))
        return;
    if (json_type(at) == JSON_OBJECT)
        read_object(&run->device, r, folder, at, f);
    else if (!text || !*text)
        faults_add(f, at,
                   "is %s, want auto, cpu, cuda, the name of a device, or an object with it",
                   text ? "empty" : json_type_name(at));
    else
        read_name(&run->device, r, at, f);
}
