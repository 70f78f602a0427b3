/* run_device.c - the device that a run file names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX = 1023, MAX_GIB = 1 << 20 };

static const json_member device_rows[] = {
    {.name = "name",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .want = "the name of a device",
     MEMBER_AT(run_device, part.name)},
    {.name = "index", .type = MEMBER_INT, .max = MAX_INDEX, MEMBER_AT(run_device, index)},
    {.name = NULL},
};

static const char *const required[] = {"nothing", "libraries", NULL};

/* The settings of the host's own devices, which have no manifest. */
static const json_member cuda_rows[] = {
    {.name = "graphs", .type = MEMBER_BOOL, MEMBER_AT(run_device, cuda.graphs)},
    {.name = "tf32", .type = MEMBER_BOOL, MEMBER_AT(run_device, cuda.tf32)},
    {.name = "unordered", .type = MEMBER_BOOL, MEMBER_AT(run_device, cuda.unordered)},
    {.name = "require",
     .type = MEMBER_CHOICE,
     .words = required,
     MEMBER_AT(run_device, cuda.require)},
    {.name = NULL},
};

static const json_member limit_rows[] = {
    {.name = "memory_limit",
     .type = MEMBER_REAL,
     .flags = MEMBER_ABOVE,
     .size = sizeof(double),
     .max = MAX_GIB,
     .want = "a number of GiB above 0 and of at most 1048576"},
    {.name = NULL},
};

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

/* The CPU has none of cuda's settings. */
static void refuse_rows(const json_node *at, const json_member *rows, faults *f)
{
    for (; rows->name; rows++)
        if (json_get(at, rows->name))
            faults_add(f, json_get(at, rows->name),
                       "is a setting of the device cuda, cpu does not have it");
}

static void read_own(run_device *d, const json_node *at, faults *f)
{
    static const json_member *const tables[] = {device_rows, cuda_rows, limit_rows, NULL};
    double gib = 0.0;
    json_members_known(at, tables, f);
    if (strcmp(d->part.name, "cuda") != 0) {
        refuse_rows(at, cuda_rows, f);
        refuse_rows(at, limit_rows, f);
        return;
    }
    json_members_read(at, cuda_rows, d, f);
    json_members_read(at, limit_rows, &gib, f);
    d->cuda.memory_limit = (uint64_t)(gib * (double)(UINT64_C(1) << 30));
}

static void read_object(run_reader *r, run_device *d, const json_node *at)
{
    static const char *const skip[] = {"name", "index", NULL};
    const json_node *name = json_get(at, "name");
    d->part.name = NULL;
    /* Without a name nothing is known of the other keys, but that one may be meant for it. */
    if (json_member_misspelt(at, "name", r->faults))
        return;
    json_members_read(at, device_rows, d, r->faults);
    if (!d->part.name)
        return;
    if (strcmp(d->part.name, "auto") == 0) {
        faults_add(r->faults, name,
                   "auto has no settings, want \"device\": \"auto\", or the name cpu, cuda or "
                   "that of a plugin's device here");
        return;
    }
    if (strcmp(d->part.name, "cuda") == 0 || strcmp(d->part.name, "cpu") == 0) {
        read_own(d, at, r->faults);
        return;
    }
    find_object(d, r->registry, json_string(name), name, r->faults);
    if (d->part.object)
        d->part.params = params_from_json(d->part.object, at, skip, r->folder, r->faults);
}

void run_read_device(run_reader *r, const json_node *root)
{
    run_device *d = &r->run->device;
    const json_node *at = json_get(root, "device");
    const char *text = json_string(at);
    *d = (run_device){.part = {.name = "cpu", .at = at},
                      .cuda = {.graphs = -1, .tf32 = -1, .unordered = -1}};
    d->automatic = !at || (text && strcmp(text, "auto") == 0);
    if (d->automatic || (text && strcmp(text, "cpu") == 0))
        return;
    if (json_type(at) == JSON_OBJECT)
        read_object(r, d, at);
    else if (text && *text)
        read_name(d, r->registry, at, r->faults);
    else
        (void)json_want(at, JSON_OBJECT,
                        "auto, cpu, cuda, the name of a device, or an object with it",
                        r->faults);
}
