/* remote.c - where files lie: addresses, and who may have them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_internal.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static const char *from_environment(const char *first, const char *second)
{
    const char *value = getenv(first);
    value = value && *value ? value : second ? getenv(second) : NULL;
    return value && *value ? value : NULL;
}

static void set_signature(remote *r, const char *region)
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

/* What has a meaning in addresses becomes %20 and the like; false: there is no room. */
static bool escape_text(const char *text, char *to, size_t room)
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
static bool set_s3(remote *r, const remote_options *options)
{
    char place[REMOTE_ADDRESS]; /* "bucket/folder" */
    const char *region = from_environment("AWS_REGION", "AWS_DEFAULT_REGION");
    const char *endpoint =
        options->endpoint ? options->endpoint : from_environment("S3_ENDPOINT_URL", NULL);
    if (!escape_text(options->url + strlen("s3://"), place, sizeof place))
        return false;
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

static bool is_http(const char *address)
{
    return strncmp(address, "https://", 8) == 0 || strncmp(address, "http://", 7) == 0;
}

tutti_status remote_open(const remote_options *options, remote **ret_remote, tutti_error *err)
{
    (void)pthread_once(&once, init_curl);
    remote *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", options->who);
    r->retries = options->retries;
    r->log = options->log;
    r->silence_s = options->silence_s;
    bool sound = true;
    if (strncmp(options->url, "s3://", 5) == 0)
        sound = set_s3(r, options);
    else
        sound = strlen(options->url) < sizeof r->base &&
                snprintf(r->base, sizeof r->base, "%s", options->url) > 0;
    const char *host = sound && is_http(r->base) ? strstr(r->base, "://") + 3 : NULL;
    /* A password in an address would stand in logs. */
    if (!host || !*host || memchr(host, '@', strcspn(host, "/")) || strpbrk(host, "?#")) {
        free(r);
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s is no address like https://host/folder or "
                          "s3://bucket/folder, without user, \"?\" and \"#\"",
                          options->who);
    }
    for (size_t n = strlen(r->base); n > 0 && r->base[n - 1] == '/'; n--)
        r->base[n - 1] = '\0';
    *ret_remote = r;
    return TUTTI_OK;
}

void remote_close(remote *r)
{
    free(r);
}

void remote_stop(remote *r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
}

bool remote_is_stopped(const remote *r)
{
    return __atomic_load_n(&r->stop, __ATOMIC_RELAXED);
}

bool remote_must_end(const remote *r, const remote_check *check)
{
    return remote_is_stopped(r) || (check->must_end && check->must_end(check->ctx));
}

tutti_status remote_address(const remote *r, const char *name, const char *query,
                            char ret[REMOTE_ADDRESS], tutti_error *err)
{
    const int n = snprintf(ret, REMOTE_ADDRESS, "%s/", r->base);
    if (n < REMOTE_ADDRESS && escape_text(name, ret + n, REMOTE_ADDRESS - (size_t)n)) {
        const size_t at = strlen(ret);
        const int more = query ? snprintf(ret + at, REMOTE_ADDRESS - at, "?%s", query) : 0;
        if (at + (size_t)more < REMOTE_ADDRESS)
            return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_ARG, "%s: an address of more than %d bytes", r->base,
                      REMOTE_ADDRESS);
}
