/* plugins_sign.c - tutti plugins keygen, sign and verify: keys, and signatures of plugins' folders. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "plugin/trust/signed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { PASSWORD_SIZE = 1024, KEY_BYTES = 4096, MANIFEST_BYTES = 1 << 20 };

static int tell(const tutti_error *e, int status)
{
    (void)fprintf(stderr, "tutti: %s\n", e->text);
    return status;
}

/* ---- files ---- */

/* Writes a file that is not there yet.  False after saying why not. */
static bool write_new(const char *path, const char *text, mode_t mode)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    const size_t size = strlen(text);
    const bool good = fd >= 0 && write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    const int why = errno;
    if (fd >= 0)
        (void)close(fd);
    if (!good)
        (void)fprintf(stderr, "tutti: %s: %s\n", path, strerror(why));
    if (!good && fd >= 0)
        (void)unlink(path);
    return good;
}

/* Puts a file in the place of one that may be there. */
static bool write_over(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX], whole[PATH_MAX];
    const int size = snprintf(path, sizeof path, "%s/%s.new", folder, name);
    (void)snprintf(whole, sizeof whole, "%s/%s", folder, name);
    if (size >= (int)sizeof path) {
        (void)fprintf(stderr, "tutti: %s: the path is too long\n", folder);
        return false;
    }
    (void)unlink(path);
    if (!write_new(path, text, 0644))
        return false;
    if (rename(path, whole) == 0)
        return true;
    (void)fprintf(stderr, "tutti: %s: %s\n", whole, strerror(errno));
    (void)unlink(path);
    return false;
}

/* ---- passwords ---- */

/* A line of standard input; a terminal does not show it.  False after saying that there is none. */
static bool read_password(const char *prompt, char *to)
{
    struct termios before, quiet;
    const bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    (void)fprintf(stderr, "%s: ", prompt);
    if (terminal) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    const bool got = fgets(to, PASSWORD_SIZE, stdin) != NULL;
    if (terminal)
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    (void)fprintf(stderr, "\n");
    if (!got)
        (void)fprintf(stderr, "tutti: there is no password on standard input\n");
    else
        to[strcspn(to, "\r\n")] = '\0';
    return got;
}

static bool choose_password(char *to)
{
    char again[PASSWORD_SIZE];
    if (!read_password("Password", to) || !read_password("Password once more", again))
        return false;
    const bool same = strcmp(to, again) == 0;
    explicit_bzero(again, sizeof again);
    if (!same || !*to)
        (void)fprintf(stderr, "tutti: %s\n",
                      same ? "an empty password hides nothing; --no-password leaves the key "
                             "unencrypted"
                           : "the passwords differ");
    return same && *to;
}

/* ---- keygen ---- */

static int write_keys(const char *name, const char *secret, const char *public)
{
    char path[2][PATH_MAX];
    for (int k = 0; k < 2; k++)
        if (snprintf(path[k], sizeof path[k], "%s.%s", name, k ? "pub" : "key") >=
            (int)sizeof path[k]) {
            (void)fprintf(stderr, "tutti: %s: the path is too long\n", name);
            return CLI_USAGE;
        }
    if (!write_new(path[0], secret, 0600))
        return CLI_FAILED;
    if (!write_new(path[1], public, 0644)) {
        (void)unlink(path[0]);
        return CLI_FAILED;
    }
    (void)printf("%s: the secret key; keep it to yourself\n"
                 "%s: the public key; who trusts it puts it into /etc/tutti/trusted.d or "
                 "~/.config/tutti/trusted.d\n",
                 path[0], path[1]);
    return CLI_OK;
}

int plugins_keygen(const cli_options *o, const tutti_op *const *ops)
{
    tutti_error e = TUTTI_ERROR_INIT;
    char password[PASSWORD_SIZE], *secret = NULL, *public = NULL;
    secret_key k;
    public_key p;
    if (secret_key_make(&k, &p, &e))
        return tell(&e, CLI_FAILED);
    int status = o->signing.no_password || choose_password(password) ? CLI_OK : CLI_USAGE;
    if (!status &&
        (secret_key_write(&k, o->signing.no_password ? NULL : password, &secret, &e) ||
         public_key_write(&p, &public, &e)))
        status = tell(&e, CLI_FAILED);
    explicit_bzero(password, sizeof password);
    secret_key_forget(&k);
    if (!status)
        status = write_keys(o->words[1], secret, public);
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
    free(public);
    return status;
}

/* ---- sign ---- */

static tutti_status read_file(const char *path, size_t limit, bytes *ret, tutti_error *err)
{
    held file = {0};
    tutti_status status = trust_path(path, (trust_rule){0}, &file, err);
    if (!status)
        status = bytes_read(&file, limit, ret, err);
    held_close(&file);
    return status;
}

/* The secret key of --key, with its password if it has one; the exit status. */
static int open_key(const char *path, secret_key *ret)
{
    char password[PASSWORD_SIZE];
    tutti_error e = TUTTI_ERROR_INIT;
    bytes text = {.fd = -1};
    if (!path) {
        (void)fprintf(stderr, "tutti: sign needs --key FILE, a secret key of `tutti plugins "
                              "keygen` or of minisign\n");
        return CLI_USAGE;
    }
    if (read_file(path, KEY_BYTES, &text, &e))
        return tell(&e, CLI_USAGE);
    const bool encrypted = secret_key_is_encrypted((const char *)text.data);
    int status = !encrypted || read_password("Password", password) ? CLI_OK : CLI_USAGE;
    if (!status &&
        secret_key_read(path, (const char *)text.data, encrypted ? password : NULL, ret, &e))
        status = tell(&e, CLI_USAGE);
    explicit_bzero(password, sizeof password);
    explicit_bzero(text.data, text.size);
    bytes_free(&text);
    return status;
}

/* When, and what the manifest calls the plugin. */
static tutti_status make_comment(const held *folder, char *to, size_t size, tutti_error *err)
{
    held file = {0};
    bytes text = {.fd = -1};
    json_doc *doc = NULL;
    tutti_status status = trust_file(folder, "plugin.json", (trust_rule){0}, &file, err);
    if (!status)
        status = bytes_read(&file, MANIFEST_BYTES, &text, err);
    if (!status)
        status = json_parse(file.path, (const char *)text.data, text.size, &doc, err);
    if (!status) {
        const char *id = json_string(json_get(json_root(doc), "id"));
        const char *version = json_string(json_get(json_root(doc), "version"));
        (void)snprintf(to, size, "timestamp:%lld\tfile:" SIGNED_SUMS "\tplugin:%s %s",
                       (long long)time(NULL), id ? id : "?", version ? version : "?");
        to[strcspn(to, "\r\n")] = '\0';
    }
    json_free(doc);
    bytes_free(&text);
    held_close(&file);
    return status;
}

static int sign_folder(const held *folder, const secret_key *k)
{
    char comment[1024], *sums = NULL, *text = NULL, id[KEY_ID_SIZE];
    tutti_error e = TUTTI_ERROR_INIT;
    int status = CLI_OK;
    if (make_comment(folder, comment, sizeof comment, &e) || signed_list(folder, &sums, &e) ||
        signature_make(k, sums, strlen(sums), comment, &text, &e))
        status = tell(&e, CLI_FAILED);
    else if (!write_over(folder->path, SIGNED_SUMS, sums) ||
             !write_over(folder->path, SIGNED_SIGNATURE, text))
        status = CLI_FAILED;
    else {
        key_id_text(k->id, id);
        (void)printf("%s/" SIGNED_SIGNATURE ": signed by %s\n", folder->path, id);
    }
    free(sums);
    free(text);
    return status;
}

int plugins_sign(const cli_options *o, const tutti_op *const *ops)
{
    tutti_error e = TUTTI_ERROR_INIT;
    held folder = {0};
    secret_key k;
    public_key none;
    if (!signature_is_available() && public_key_read("", "", &none, &e))
        return tell(&e, CLI_FAILED); /* before anybody types a password */
    if (trust_folder(o->words[1], (trust_rule){0}, &folder, &e))
        return tell(&e, CLI_USAGE);
    int status = open_key(o->signing.key, &k);
    if (!status)
        status = sign_folder(&folder, &k);
    secret_key_forget(&k);
    held_close(&folder);
    return status;
}

/* ---- verify ---- */

static void tell_key(void *ctx, const char *text)
{
    (void)ctx;
    (void)fprintf(stderr, "tutti: a key is not trusted: %s\n", text);
}

static tutti_status read_keys(const char *key, keyring *ret, tutti_error *err)
{
    config_folders where = {0};
    if (key)
        return keyring_add(ret, key, err);
    tutti_status status = config_find(&where, err);
    if (!status)
        status = keyring_read(ret, &where, tell_key, NULL, err);
    config_fini(&where);
    return status;
}

int plugins_verify(const cli_options *o, const tutti_op *const *ops)
{
    tutti_error e = TUTTI_ERROR_INIT;
    held folder = {0};
    keyring keys = {0};
    signed_sums s = {0};
    size_t files = 0;
    int status = CLI_OK;
    if (trust_folder(o->words[1], (trust_rule){0}, &folder, &e) ||
        read_keys(o->signing.key, &keys, &e))
        status = tell(&e, CLI_USAGE);
    else if (signed_read(&folder, (trust_rule){0}, &keys, &s, &e) ||
             signed_verify(&folder, &s, &e))
        status = tell(&e, CLI_FAILED);
    else {
        while (hashes_path(s.sums, files))
            files++;
        (void)printf("%s: %zu files, signed by %s\n%s\n", folder.path, files, s.signer,
                     s.comment);
    }
    signed_fini(&s);
    keyring_fini(&keys);
    held_close(&folder);
    return status;
}
