/* http.c - one libcurl handle, which keeps its connection. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_S = 10, SILENCE_S = 30, LONGEST_WAIT_S = 120 };

struct http {
    const char *who;
    CURL *curl;
    outbox *outbox; /* of the request under way */
    char host[256];
    char why[CURL_ERROR_SIZE];
    char *body;
    size_t size, capacity;
    bool too_large;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t http_take(char *data, size_t one, size_t n, void *ctx)
{
    http *h = ctx;
    (void)one;
    if (h->size + n + 1 > h->capacity) {
        const size_t capacity = 2 * (h->size + n) + 1;
        char *grown = h->size + n < HTTP_LARGEST_ANSWER ? realloc(h->body, capacity) : NULL;
        h->too_large = !grown;
        if (!grown)
            return 0;
        h->body = grown;
        h->capacity = capacity;
    }
    memcpy(h->body + h->size, data, n);
    h->size += n;
    h->body[h->size] = '\0';
    return n;
}

/* libcurl asks at least once a second. */
static int must_end(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                    curl_off_t up)
{
    (void)down_all, (void)down, (void)up_all, (void)up;
    return outbox_must_end(((http *)ctx)->outbox);
}

/* Both fail only for want of memory, or in a libcurl without the option, which are told by the request. */
#define SET(h, option, value) (void)curl_easy_setopt((h)->curl, option, value)

/* What all requests have. */
static void set_common(http *h)
{
    SET(h, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(h, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(h, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    SET(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(h, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
    SET(h, CURLOPT_ERRORBUFFER, h->why);
    SET(h, CURLOPT_WRITEFUNCTION, http_take);
    SET(h, CURLOPT_WRITEDATA, h);
    SET(h, CURLOPT_NOPROGRESS, 0L);
    SET(h, CURLOPT_XFERINFOFUNCTION, must_end);
    SET(h, CURLOPT_XFERINFODATA, h);
    SET(h, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(h, CURLOPT_USERAGENT, "tutti");
}

tutti_status http_create(const char *who, http **ret_http, tutti_error *err)
{
    (void)pthread_once(&once, init_curl);
    http *h = calloc(1, sizeof *h);
    if (h) {
        h->who = who;
        h->body = calloc(1, 1);
        h->capacity = 1;
        h->curl = h->body ? curl_easy_init() : NULL;
    }
    if (!h || !h->curl) {
        free(h ? h->body : NULL);
        free(h);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", who);
    }
    set_common(h);
    *ret_http = h;
    return TUTTI_OK;
}

void http_destroy(http *h)
{
    if (!h)
        return;
    curl_easy_cleanup(h->curl);
    free(h->body);
    free(h);
}

const char *http_host(const http *h)
{
    return h->host;
}

/* The part of the address that may be shown. */
static void set_host(http *h, const char *address)
{
    const char *from = strstr(address, "://");
    from = from ? from + 3 : address;
    const size_t whole = strcspn(from, "/?#");
    const char *user = memchr(from, '@', whole);
    const size_t skip = user ? (size_t)(user - from) + 1 : 0;
    (void)snprintf(h->host, sizeof h->host, "%.*s", (int)(whole - skip), from + skip);
}

static bool add_headers(const http_request *r, struct curl_slist **list)
{
    bool whole = true;
    for (int k = -1; whole && k < HTTP_HEADERS && (k < 0 || r->headers[k]); k++) {
        /* No waiting for permission to send a body. */
        struct curl_slist *longer = curl_slist_append(*list, k < 0 ? "Expect:" : r->headers[k]);
        whole = longer != NULL;
        *list = longer ? longer : *list;
    }
    return whole;
}

static tutti_status fail_request(const http *h, CURLcode code, tutti_error *err)
{
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "%s: %s did not answer in time", h->who,
                          h->host);
    if (h->too_large)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s answers with more than %d bytes", h->who,
                          h->host, HTTP_LARGEST_ANSWER);
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot send to %s: %s", h->who, h->host,
                      h->why[0] ? h->why : curl_easy_strerror(code));
}

tutti_status http_send(http *h, outbox *o, const http_request *request, http_answer *ret_answer,
                       tutti_error *err)
{
    struct curl_slist *headers = NULL;
    curl_off_t wait_s = 0;
    long status = 0;
    h->outbox = o;
    h->size = 0;
    h->body[0] = h->why[0] = '\0';
    h->too_large = false;
    set_host(h, request->url);
    if (!add_headers(request, &headers)) {
        curl_slist_free_all(headers);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", h->who);
    }
    SET(h, CURLOPT_URL, request->url);
    SET(h, CURLOPT_HTTPHEADER, headers);
    SET(h, CURLOPT_HTTPGET, 1L);
    if (request->body) {
        SET(h, CURLOPT_POST, 1L);
        SET(h, CURLOPT_POSTFIELDS, request->body);
        SET(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
    }
    SET(h, CURLOPT_CUSTOMREQUEST, request->method);
    const CURLcode code = curl_easy_perform(h->curl);
    (void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &wait_s);
    SET(h, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    if (code != CURLE_OK)
        return fail_request(h, code, err);
    *ret_answer = (http_answer){status, wait_s, h->body, h->size};
    return TUTTI_OK;
}

tutti_status http_judge(http *h, outbox *o, const http_answer *answer, const char *what,
                        tutti_error *err)
{
    const long status = answer->status;
    const size_t line = strcspn(answer->body, "\r\n");
    const int shown = line < 200 ? (int)line : 200;
    if (status >= 200 && status < 300)
        return TUTTI_OK;
    const bool for_good = status >= 400 && status < 500 && status != 408 && status != 429;
    const tutti_status s = tutti_fail(err, for_good ? TUTTI_E_ARG : TUTTI_E_IO,
                                      "%s: %s %s %s with status %ld%s%.*s", h->who, h->host,
                                      for_good ? "refuses" : "does not take", what, status,
                                      shown ? ": " : "", shown, answer->body);
    if (answer->retry_after > 0 && !for_good)
        (void)outbox_wait(o, 1000 * (answer->retry_after < LONGEST_WAIT_S ? answer->retry_after
                                                                          : LONGEST_WAIT_S));
    return s;
}
