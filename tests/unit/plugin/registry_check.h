/* registry_check.h - a registry over fixture folders, with what it reports. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REGISTRY_CHECK_H
#define REGISTRY_CHECK_H

#include "plugin/instance.h"
#include "tutti_check.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_OF_(number) #number
#define TEXT_OF(number) TEXT_OF_(number)
#define HOST_ABI "1." TEXT_OF(TUTTI_MINOR) /* of the host under test, in sentences */

/* Everything reported, one line each, with folders as shorten() writes them. */
static char reported[16384];

/* Copies `text` with the folder of fixtures as "@" and `temporary` (may be NULL) as "#". */
static const char *temporary;
static inline const char *shorten(const char *text)
{
    static char shorter[4096];
    size_t used = 0;
    while (text && *text && used < sizeof shorter - 1) {
        char mark = 0;
        if (temporary && strncmp(text, temporary, strlen(temporary)) == 0) {
            text += strlen(temporary);
            mark = '#';
        } else if (strncmp(text, FIXTURES, strlen(FIXTURES)) == 0) {
            text += strlen(FIXTURES);
            mark = '@';
        }
        shorter[used++] = mark ? mark : *text++;
    }
    shorter[used] = '\0';
    return shorter;
}

static inline void note_report(void *ctx, int level, const char *text)
{
    const size_t used = strlen(reported);
    (void)snprintf(reported + used, sizeof reported - used, "%d %s\n", level, shorten(text));
}

/* A registry over `folders` (NULL-terminated) and nothing else. */
static inline registry *registry_over_with(const char *const *folders, int trust,
                                           const char *lock_file)
{
    const registry_options options = {
        .plugin_paths = folders, .trust = trust, .lock_file = lock_file, .report = note_report};
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = NULL;
    reported[0] = '\0';
    /* Folders without a plugin, whoever runs this. */
    ck_assert_int_eq(setenv("TUTTI_PLUGIN_PATH", "/proc/self/task", 1), 0);
    ck_assert_ok(registry_create(&options, &r, &err), err);
    return r;
}

static inline registry *registry_over(const char *folder)
{
    const char *const folders[] = {folder, NULL};
    return registry_over_with(folders, TRUST_OWNER, NULL);
}

/* Makes a folder that only this test uses; `temporary` stands for it from then on. */
static inline const char *make_temporary(void)
{
    static char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s/tmp-XXXXXX", FIXTURES);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    temporary = folder;
    return folder;
}

/* Runs a shell command, its text made by printf. */
TUTTI_PRINTF(1, 2)
static inline void shell(const char *format, ...)
{
    char command[4 * PATH_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static inline void drop_temporary(void)
{
    shell("rm -rf '%s'", temporary);
    temporary = NULL;
}

/* The plugin with this folder name; the test fails without one. */
static inline plugin_info plugin_in(const registry *r, const char *folder)
{
    plugin_info p = {0};
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        registry_plugin(r, k, &p);
        const char *last = strrchr(p.folder, '/');
        if (last && strcmp(last + 1, folder) == 0)
            return p;
    }
    ck_abort_msg("no plugin in a folder called %s", folder);
    return p;
}

static inline const object *find(registry *r, const char *kind, const char *name)
{
    const object *o = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(registry_find(r, kind, name, &o, &err), err);
    return o;
}

/* Writes the good manifest with `from` changed, beside the good library, to the temporary folder. */
static inline void write_changed(const char *from, const char *to)
{
    static char text[8192];
    char path[PATH_MAX];
    shell("umask 022; mkdir '%s/a'; cp '%s/good/good/good.so' '%s/a/'", temporary, FIXTURES,
          temporary);
    FILE *in = fopen(FIXTURES "/good/good/plugin.json", "r");
    ck_assert_ptr_nonnull(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "the good manifest has no %s", from);
    (void)snprintf(path, sizeof path, "%s/a/plugin.json", temporary);
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    fclose(out);
}

#endif
