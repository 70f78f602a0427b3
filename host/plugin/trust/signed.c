/* signed.c - reading a folder's signature, listing a folder's files, comparing the two. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/signed.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUMS_BYTES = 1 << 24, SIGNATURE_BYTES = 1 << 16, MAX_DEPTH = 16, MAX_FILES = 10000 };

void signed_fini(signed_sums *s)
{
    hashes_free(s->sums);
    free(s->comment);
    *s = (signed_sums){0};
}

static tutti_status read_below(const held *folder, const char *name, trust_rule rule,
                               size_t limit, bytes *ret, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    held file = {0};
    tutti_status status = trust_file(folder, name, rule, &file, &cause);
    if (!status)
        status = bytes_read(&file, limit, ret, &cause);
    held_close(&file);
    if (status == TUTTI_E_NOTFOUND)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: not signed: has no %s, which `tutti plugins sign` makes",
                          folder->path, name);
    return status ? tutti_fail(err, status, "%s", cause.text) : TUTTI_OK;
}

/* Finds the key and verifies; `name` is the signature's file. */
static tutti_status verify(const char *name, const bytes *sums, const bytes *text,
                           const keyring *keys, signed_sums *ret, tutti_error *err)
{
    signature *s = malloc(sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to verify it", name);
    tutti_status status = signature_read(name, (const char *)text->data, s, err);
    const trusted_key *k = status ? NULL : keyring_find(keys, s->id);
    if (!status) {
        key_id_text(s->id, ret->signer);
        status = k ? signature_verify(name, s, &k->key, sums->data, sums->size, err)
                   : tutti_fail(err, TUTTI_E_TRUST,
                                "%s: made by key %s, which is not trusted; who trusts it puts "
                                "its .pub file into trusted.d",
                                name, ret->signer);
    }
    if (!status && !(ret->comment = strdup(s->comment)))
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to verify it", name);
    free(s);
    return status;
}

tutti_status signed_read(const held *folder, trust_rule rule, const keyring *keys,
                         signed_sums *ret, tutti_error *err)
{
    bytes sums = {.fd = -1}, text = {.fd = -1};
    char name[PATH_MAX + 32];
    signed_sums s = {0};
    tutti_status status =
        read_below(folder, SIGNED_SIGNATURE, rule, SIGNATURE_BYTES, &text, err);
    if (!status)
        status = read_below(folder, SIGNED_SUMS, rule, SUMS_BYTES, &sums, err);
    if (!status) {
        (void)snprintf(name, sizeof name, "%s/" SIGNED_SIGNATURE, folder->path);
        status = verify(name, &sums, &text, keys, &s, err);
    }
    if (!status) {
        (void)snprintf(name, sizeof name, "%s/" SIGNED_SUMS, folder->path);
        status = hashes_read(name, &sums, false, &s.sums, err);
    }
    bytes_free(&sums);
    bytes_free(&text);
    if (status)
        signed_fini(&s);
    else
        *ret = s;
    return status;
}

tutti_status signed_admit(const signed_sums *s, const char *folder, const char *path,
                          const char *hex, tutti_error *err)
{
    const size_t n = strlen(folder);
    if (strncmp(path, folder, n) != 0 || path[n] != '/')
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: lies outside of the signed folder %s, want it inside", path,
                          folder);
    const char *listed = hashes_find(s->sums, path + n + 1);
    if (!listed)
        return tutti_fail(err, TUTTI_E_TRUST, "%s: not among the files that %s lists", path,
                          hashes_name(s->sums));
    if (strcmp(listed, hex) != 0)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: has SHA-256 %s, but %s, signed by %s, has %s", path, hex,
                          hashes_name(s->sums), s->signer, listed);
    return TUTTI_OK;
}

/* ---- all files of a folder ---- */

/* A walk below a folder; each file's path below it goes to `take`. */
typedef struct listing {
    const held *folder;
    size_t files;
    tutti_status (*take)(void *ctx, const held *folder, const char *path, tutti_error *err);
    void *ctx;
} listing;

static int is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static tutti_status list_folder(listing *l, const char *below, int depth, tutti_error *err);

static tutti_status list_entry(listing *l, const char *path, int depth, tutti_error *err)
{
    struct stat s;
    if (strcmp(path, SIGNED_SUMS) == 0 || strcmp(path, SIGNED_SIGNATURE) == 0)
        return TUTTI_OK;
    if (strchr(path, '\n'))
        return tutti_fail(err, TUTTI_E_ARG, "%s/%s: a name with a line break cannot be signed",
                          l->folder->path, path);
    if (fstatat(l->folder->fd, path, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: cannot be looked at", l->folder->path, path);
    if (S_ISDIR(s.st_mode))
        return list_folder(l, path, depth + 1, err);
    if (!S_ISREG(s.st_mode))
        return tutti_fail(err, TUTTI_E_TRUST, "%s/%s: neither a file nor a folder",
                          l->folder->path, path);
    if (l->files++ == MAX_FILES)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: has more than %d files", l->folder->path,
                          MAX_FILES);
    return l->take(l->ctx, l->folder, path, err);
}

static tutti_status list_folder(listing *l, const char *below, int depth, tutti_error *err)
{
    struct dirent **entries = NULL;
    tutti_status status = TUTTI_OK;
    if (depth > MAX_DEPTH)
        return tutti_fail(err, TUTTI_E_RANGE, "%s/%s: lies more than %d folders deep",
                          l->folder->path, below, MAX_DEPTH);
    const int count =
        scandirat(l->folder->fd, *below ? below : ".", &entries, is_entry, by_bytes);
    if (count < 0)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: cannot be listed", l->folder->path, below);
    for (int k = 0; k < count; k++) {
        char path[PATH_MAX];
        const int size =
            snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", entries[k]->d_name);
        if (!status && size >= (int)sizeof path)
            status = tutti_fail(err, TUTTI_E_RANGE, "%s/%s: a path below it is too long",
                                l->folder->path, below);
        if (!status)
            status = list_entry(l, path, depth, err);
        free(entries[k]);
    }
    free(entries);
    return status;
}

static tutti_status hash_below(const held *folder, const char *path, char *hex,
                               tutti_error *err)
{
    held file = {0};
    bytes b = {.fd = -1};
    tutti_status status = trust_file(folder, path, (trust_rule){0}, &file, err);
    if (!status)
        status = bytes_read(&file, SIZE_MAX - 1, &b, err);
    if (!status)
        status = bytes_sha256(&b, file.path, hex, err);
    bytes_free(&b);
    held_close(&file);
    return status;
}

static tutti_status add_line(void *ctx, const held *folder, const char *path, tutti_error *err)
{
    char hex[BYTES_HEX_SIZE];
    const tutti_status status = hash_below(folder, path, hex, err);
    if (!status)
        text_add(ctx, "%s  %s\n", hex, path);
    return status;
}

tutti_status signed_list(const held *folder, char **ret_text, tutti_error *err)
{
    text_buffer text = {0};
    listing l = {.folder = folder, .take = add_line, .ctx = &text};
    tutti_status status = list_folder(&l, "", 0, err);
    if (!status && (text.failed || !text.data))
        status = text.failed
                     ? tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to list it", folder->path)
                     : tutti_fail(err, TUTTI_E_TRUST, "%s: has no files to sign", folder->path);
    if (status)
        free(text.data);
    else
        *ret_text = text.data;
    return status;
}

static tutti_status check_line(void *ctx, const held *folder, const char *path,
                               tutti_error *err)
{
    const signed_sums *s = ctx;
    char hex[BYTES_HEX_SIZE], whole[2 * PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s/%s", folder->path, path);
    const tutti_status status = hash_below(folder, path, hex, err);
    return status ? status : signed_admit(s, folder->path, whole, hex, err);
}

tutti_status signed_verify(const held *folder, const signed_sums *s, tutti_error *err)
{
    signed_sums copy = *s;
    listing l = {.folder = folder, .take = check_line, .ctx = &copy};
    tutti_status status = list_folder(&l, "", 0, err);
    const char *path;
    for (size_t k = 0; !status && (path = hashes_path(s->sums, k)); k++)
        if (faccessat(folder->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            status = tutti_fail(err, TUTTI_E_TRUST, "%s/%s: is missing, and %s lists it",
                                folder->path, path, hashes_name(s->sums));
    return status;
}
