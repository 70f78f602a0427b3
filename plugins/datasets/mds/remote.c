/* remote.c - one request by libcurl, and what is done when it fails. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include "digest.h"

#include "../common/whole_file.h"

#include <strings.h>
#include <time.h>

#if MDS_HAS_CURL
#include <curl/curl.h>

enum { CONNECT_S = 10, FIRST_WAIT_MS = 250, LONGEST_WAIT_MS = 30000, ADDRESS_SIZE = 2048 };

struct mds_remote {
    mds_remote_options options;
    char base[ADDRESS_SIZE]; /* of addresses; no "/" at its end */
    char signer[128];        /* "aws:amz:REGION:s3"; "": requests are not signed */
    char credentials[512];   /* "KEY:SECRET" */
    char token_header[2048]; /* "": none */
    int stop;                /* atomic */
    uint32_t fetches;        /* atomic: names of parts */
};

/* One attempt. */
typedef struct attempt {
    const mds_remote *remote;
    FILE *file;
    uint64_t size, most;
    int too_large, disk; /* why writing ended */
    long status;         /* of HTTP; 0: none */
    int64_t wait_s;      /* that the server asks for */
    char why[CURL_ERROR_SIZE];
} attempt;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* ---- addresses ---- */

static const char *from_environment(const char *first, const char *second)
{
    const char *value = getenv(first);
    value = value && *value ? value : second ? getenv(second) : NULL;
    return value && *value ? value : NULL;
}

static void set_signature(mds_remote *r, const char *region)
{
    const char *key = from_environment("AWS_ACCESS_KEY_ID", NULL);
    const char *secret = from_environment("AWS_SECRET_ACCESS_KEY", NULL);
    const char *token = from_environment("AWS_SESSION_TOKEN", NULL);
    if (!key || !secret)
        return;
    (void)snprintf(r->signer, sizeof r->signer, "aws:amz:%s:s3", region);
    (void)snprintf(r->credentials, sizeof r->credentials, "%s:%s", key, secret);
    if (token)
        (void)snprintf(r->token_header, sizeof r->token_header, "x-amz-security-token: %s",
                       token);
}

/* What has a meaning in addresses becomes %20 and the like; 0: there is no room. */
static int escape_text(const char *text, char *to, size_t room)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    size_t n = 0;
    *to = '\0';
    for (; *text && n + 4 < room; text++)
        n += (size_t)snprintf(to + n, room - n, strchr(plain, *text) ? "%c" : "%%%02X",
                              (unsigned char)*text);
    return !*text;
}

/* The address of s3://bucket/folder: below an endpoint, or at Amazon. */
static int set_s3(mds_remote *r)
{
    char place[ADDRESS_SIZE]; /* "bucket/folder" */
    const char *region = from_environment("AWS_REGION", "AWS_DEFAULT_REGION");
    const char *endpoint =
        r->options.endpoint ? r->options.endpoint : from_environment("S3_ENDPOINT_URL", NULL);
    if (!escape_text(r->options.url + strlen("s3://"), place, sizeof place))
        return 0;
    const size_t bucket = strcspn(place, "/");
    region = region ? region : "us-east-1";
    set_signature(r, region);
    const int slash = endpoint && *endpoint && endpoint[strlen(endpoint) - 1] == '/';
    const int n =
        endpoint
            ? snprintf(r->base, sizeof r->base, "%s%s%s", endpoint, slash ? "" : "/", place)
            : snprintf(r->base, sizeof r->base, "https://%.*s.s3.%s.amazonaws.com%s",
                       (int)bucket, place, region, place + bucket);
    return bucket > 0 && n > 0 && (size_t)n < sizeof r->base;
}

static int is_http(const char *address)
{
    return strncmp(address, "https://", 8) == 0 || strncmp(address, "http://", 7) == 0;
}

tutti_status mds_remote_open(const mds_remote_options *options, mds_remote **ret_remote,
                             tutti_error *err)
{
    (void)pthread_once(&once, init_curl);
    mds_remote *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    r->options = *options;
    int sound = 1;
    if (strncmp(options->url, "s3://", 5) == 0)
        sound = set_s3(r);
    else
        sound = strlen(options->url) < sizeof r->base &&
                snprintf(r->base, sizeof r->base, "%s", options->url) > 0;
    const char *host = sound && is_http(r->base) ? strstr(r->base, "://") + 3 : NULL;
    /* A password in an address would stand in logs. */
    if (!host || !*host || memchr(host, '@', strcspn(host, "/")) || strpbrk(host, "?#")) {
        free(r);
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: remote is no address like https://host/folder or "
                          "s3://bucket/folder, without user, \"?\" and \"#\"");
    }
    for (size_t n = strlen(r->base); n > 0 && r->base[n - 1] == '/'; n--)
        r->base[n - 1] = '\0';
    r->options.url = r->options.endpoint = NULL; /* the caller's */
    *ret_remote = r;
    return TUTTI_OK;
}

void mds_remote_close(mds_remote *r)
{
    free(r);
}

void mds_remote_stop(mds_remote *r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
}

static int is_stopped(const mds_remote *r)
{
    return __atomic_load_n(&r->stop, __ATOMIC_RELAXED);
}

/* base/name */
static tutti_status make_address(const mds_remote *r, const char *name, char ret[ADDRESS_SIZE],
                                 tutti_error *err)
{
    const int n = snprintf(ret, ADDRESS_SIZE, "%s/", r->base);
    if (n < ADDRESS_SIZE && escape_text(name, ret + n, ADDRESS_SIZE - (size_t)n))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "%s: an address of more than %d bytes", r->base,
                      ADDRESS_SIZE);
}

/* ---- one attempt ---- */

static size_t take_bytes(char *data, size_t one, size_t n, void *ctx)
{
    attempt *a = ctx;
    (void)one;
    a->size += n;
    a->too_large = a->size > a->most;
    a->disk = !a->too_large && fwrite(data, 1, n, a->file) != n ? errno : 0;
    return a->too_large || a->disk ? 0 : n;
}

/* libcurl asks at least once a second. */
static int must_end(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                    curl_off_t up)
{
    (void)down_all, (void)down, (void)up_all, (void)up;
    return is_stopped(((attempt *)ctx)->remote);
}

/* Fails only for want of memory, or in a libcurl without the option, which are told by the request. */
#define SET(curl, option, value) (void)curl_easy_setopt(curl, option, value)

static void set_limits(CURL *curl, const mds_remote *r)
{
    const long silence_s = (long)(r->options.silence_s + 0.999);
    SET(curl, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    SET(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    SET(curl, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(curl, CURLOPT_CONNECTTIMEOUT, silence_s < CONNECT_S ? silence_s : (long)CONNECT_S);
    SET(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(curl, CURLOPT_LOW_SPEED_TIME, silence_s);
    SET(curl, CURLOPT_FOLLOWLOCATION, 1L);
    SET(curl, CURLOPT_MAXREDIRS, 5L);
    SET(curl, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(curl, CURLOPT_FAILONERROR, 1L);
    SET(curl, CURLOPT_USERAGENT, "tutti");
}

static struct curl_slist *set_request(CURL *curl, const mds_remote *r)
{
    /* Of a body of no bytes. */
    static const char hash[] =
        "x-amz-content-sha256: "
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    if (!r->signer[0])
        return NULL;
    struct curl_slist *headers = curl_slist_append(NULL, hash);
    if (headers && r->token_header[0])
        (void)curl_slist_append(headers, r->token_header);
#if LIBCURL_VERSION_NUM >= 0x074b00
    SET(curl, CURLOPT_AWS_SIGV4, r->signer);
#endif
    SET(curl, CURLOPT_USERPWD, r->credentials);
    SET(curl, CURLOPT_HTTPHEADER, headers);
    return headers;
}

static CURLcode run_attempt(attempt *a, const char *address)
{
    curl_off_t wait_s = 0;
    CURL *curl = curl_easy_init();
    if (!curl)
        return CURLE_OUT_OF_MEMORY;
    set_limits(curl, a->remote);
    struct curl_slist *headers = set_request(curl, a->remote);
    SET(curl, CURLOPT_URL, address);
    SET(curl, CURLOPT_ERRORBUFFER, a->why);
    SET(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    SET(curl, CURLOPT_WRITEDATA, a);
    SET(curl, CURLOPT_NOPROGRESS, 0L);
    SET(curl, CURLOPT_XFERINFOFUNCTION, must_end);
    SET(curl, CURLOPT_XFERINFODATA, a);
    const CURLcode code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &a->status);
    (void)curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait_s);
    a->wait_s = wait_s;
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return code;
}

/* What came of it: TUTTI_OK, or a sentence; *ret_again whether another attempt may do better. */
static tutti_status judge_attempt(const attempt *a, CURLcode code, const char *address,
                                  int *ret_again, tutti_error *err)
{
    *ret_again = 0;
    if (code == CURLE_OK)
        return TUTTI_OK;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "%s: not fetched, the set is being closed",
                          address);
    if (a->disk)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be kept: %s", address,
                          strerror(a->disk));
    if (a->too_large) {
        *ret_again = 1;
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has more than %llu bytes", address,
                          (unsigned long long)a->most);
    }
    if (code == CURLE_HTTP_RETURNED_ERROR) {
        *ret_again = a->status >= 500 || a->status == 408 || a->status == 429;
        return tutti_fail(err, TUTTI_E_IO, "%s: the server answers with status %ld", address,
                          a->status);
    }
    *ret_again = code != CURLE_OUT_OF_MEMORY && code != CURLE_URL_MALFORMAT &&
                 code != CURLE_UNSUPPORTED_PROTOCOL;
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot be fetched: %s", address,
                      a->why[0] ? a->why : curl_easy_strerror(code));
}

/* Whether the file is what the index says. */
static tutti_status check_file(const char *path, const char *address, const attempt *a,
                               const mds_file *want, int32_t verify, tutti_error *err)
{
    char have[MDS_DIGEST_SIZE] = "";
    void *data = NULL;
    uint64_t size = 0;
    if (!want)
        return TUTTI_OK;
    if (a->size != want->bytes)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %llu bytes, the index says %llu",
                          address, (unsigned long long)a->size,
                          (unsigned long long)want->bytes);
    if (!verify || !want->hash)
        return TUTTI_OK;
    tutti_status s = whole_file(path, &data, &size, err);
    if (s == TUTTI_OK &&
        (!mds_digest(want->hash_kind, data, size, have) || strcasecmp(have, want->hash) != 0))
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: its %s is %s, the index says %s", address,
                       want->hash_kind, have, want->hash);
    free(data);
    return s;
}

static tutti_status fetch_once(mds_remote *r, const char *address, const char *part,
                               const mds_file *want, int32_t verify, int *ret_again,
                               int64_t *ret_wait_s, tutti_error *err)
{
    attempt a = {.remote = r, .most = want ? want->bytes : UINT64_C(1) << 30};
    *ret_again = 0;
    *ret_wait_s = 0;
    a.file = fopen(part, "wbe");
    if (!a.file)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    const CURLcode code = run_attempt(&a, address);
    const int lost = fclose(a.file) != 0;
    *ret_wait_s = a.wait_s;
    tutti_status s = judge_attempt(&a, code, address, ret_again, err);
    if (s)
        return s;
    if (lost)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be written", part);
    s = check_file(part, address, &a, want, verify, err);
    *ret_again = s == TUTTI_E_FORMAT;
    return s;
}

/* ---- until it is there ---- */

/* Waits, in small steps; longer after each attempt, and as long as the server asks for. */
static void wait_for(const mds_remote *r, int64_t turn, int64_t asked_s)
{
    const struct timespec step = {0, 50000000};
    int64_t ms = FIRST_WAIT_MS;
    for (int64_t k = 0; k < turn && ms < LONGEST_WAIT_MS; k++)
        ms *= 2;
    ms = 1000 * asked_s > ms ? 1000 * asked_s : ms;
    ms = ms < LONGEST_WAIT_MS ? ms : LONGEST_WAIT_MS;
    for (int64_t waited = 0; waited < ms && !is_stopped(r); waited += 50)
        (void)nanosleep(&step, NULL);
}

static void make_folders(const char *path)
{
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *c = strchr(folder + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        (void)mkdir(folder, 0777); /* what fails is told when the file is opened */
        *c = '/';
    }
}

tutti_status mds_remote_fetch(mds_remote *r, const char *name, const char *path,
                              const mds_file *want, int32_t verify, tutti_error *err)
{
    char address[ADDRESS_SIZE], part[4096];
    tutti_error cause = TUTTI_ERROR_INIT;
    int64_t tries = 0, wait_s = 0;
    int again = 1;
    tutti_status s = make_address(r, name, address, err);
    if (s)
        return s;
    const uint32_t number = __atomic_fetch_add(&r->fetches, 1, __ATOMIC_RELAXED);
    if ((size_t)snprintf(part, sizeof part, "%s.part-%ld-%u", path, (long)getpid(), number) >=
        sizeof part)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the path is too long", path);
    make_folders(path);
    for (s = TUTTI_E_IO; s && again && tries <= r->options.retries; tries++) {
        if (tries > 0)
            wait_for(r, tries - 1, wait_s);
        cause = (tutti_error)TUTTI_ERROR_INIT;
        s = fetch_once(r, address, part, want, verify, &again, &wait_s, &cause);
    }
    if (s == TUTTI_OK && rename(part, path) != 0)
        s = tutti_fail(&cause, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    if (s == TUTTI_OK)
        return s;
    (void)unlink(part);
    return tries > 1 ? tutti_fail(err, s, "%s; tried %lld times", cause.text, (long long)tries)
                     : tutti_fail(err, s, "%s", cause.text);
}

#else

tutti_status mds_remote_open(const mds_remote_options *options, mds_remote **ret_remote,
                             tutti_error *err)
{
    (void)ret_remote;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "mds: %s cannot be fetched, this build is without libcurl (Debian's "
                      "libcurl4-openssl-dev)",
                      options->url);
}

void mds_remote_close(mds_remote *r)
{
    (void)r;
}

void mds_remote_stop(mds_remote *r)
{
    (void)r;
}

tutti_status mds_remote_fetch(mds_remote *r, const char *name, const char *path,
                              const mds_file *want, int32_t verify, tutti_error *err)
{
    (void)r, (void)name, (void)path, (void)want, (void)verify;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "mds: this build is without libcurl");
}

#endif
