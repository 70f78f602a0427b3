/* arguments.c - holds device code that nvcc made to the arguments that its callers pass.
 *
 * usage: cuda_arguments [--plugins FOLDER] [IMAGE=FATBIN]...
 *
 * Each kernel of IMAGE, as the emulator has it, must take the same arguments in FATBIN: the host's code
 * is held to the emulator's by the tests of operations.  Below FOLDER lie manifests, whose kernels must
 * agree with the files that they name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator.h"
#include "plugin/elf/cubin.h"
#include "plugin/registry_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 512 };

static int wrong, functions, cubins;
static char
    seen[4096]; /* names of images, with a line's end behind each: one has several files */

static void tell(const char *text)
{
    (void)fprintf(stderr, "%s\n", text);
    wrong = 1;
}

static void count_once(const char *image, size_t length, size_t count)
{
    char line[128];
    (void)snprintf(line, sizeof line, "\n%.*s\n", (int)length, image);
    if (strstr(seen, line))
        return;
    functions += (int)count;
    const size_t used = strlen(seen);
    (void)snprintf(seen + used, sizeof seen - used, "%s", line);
}

static void check_image(const char *image, size_t length, const char *fatbin)
{
    static cubin_function list[MOST_KERNELS];
    tutti_error err = TUTTI_ERROR_INIT;
    size_t count = 0;
    for (const emulator_kernel *k = emulator_kernels(); k && count < MOST_KERNELS; k = k->next)
        if (strlen(k->image) == length && strncmp(k->image, image, length) == 0)
            list[count++] = (cubin_function){k->name, "the source", k->sizes, k->nargs, 0};
    count_once(image, length, count);
    if (cubin_check(fatbin, list, count, &err))
        tell(err.text);
    for (size_t k = 0; k < count && !err.status; k++)
        if (!list[k].checked) {
            (void)fprintf(stderr, "%s: has no cubin with %s\n", fatbin, list[k].entry);
            wrong = 1;
        }
    for (size_t k = 0; k < count; k++)
        cubins += (int)list[k].checked;
}

/* A manifest that something else is wrong with is other tests' business. */
static void check_manifest(const char *folder, const char *name)
{
    static registry r;
    tutti_error err = TUTTI_ERROR_INIT;
    char path[4096];
    faults *f = faults_create(), *notes = faults_create();
    plugin *p = calloc(1, sizeof *p);
    if (!f || !notes || !p)
        abort();
    p->registry = &r;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    p->folder = strdup(path);
    (void)snprintf(path, sizeof path, "%s/%s/plugin.json", folder, name);
    p->manifest = strdup(path);
    if (!json_read(p->manifest, MANIFEST_LIMIT, &p->doc, NULL)) {
        manifest_read(p, f, notes);
        held at = {0};
        if (!faults_count(f) &&
            (trust_folder(p->folder, p->trust.rule, &at, &err) || codes_judge(p, &at, &err)))
            tell(err.text);
        held_close(&at);
    }
    plugin_free(p);
    faults_destroy(f);
    faults_destroy(notes);
}

static void check_plugins(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) {
        tell(folder);
        return;
    }
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.')
            check_manifest(folder, e->d_name);
    (void)closedir(d);
}

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        const char *mark = strchr(argv[k], '=');
        if (strcmp(argv[k], "--plugins") == 0 && k + 1 < argc) {
            check_plugins(argv[++k]);
        } else if (mark) {
            check_image(argv[k], (size_t)(mark - argv[k]), mark + 1);
        } else {
            tell("usage: cuda_arguments [--plugins FOLDER] [IMAGE=FATBIN]...");
            return 2;
        }
    }
    (void)printf("%d kernels take in %d cubins what their callers pass\n", functions, cubins);
    return wrong;
}
