/* encode.c - the ids of a text, one a line, and on stderr the seconds that encoding took. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char *read_all(const char *path, uint64_t *ret_size)
{
    char *data = NULL;
    uint64_t size = 0, room = 0, n = 0;
    FILE *f = fopen(path, "rb");
    do {
        room = size + (1 << 20);
        char *more = f ? realloc(data, room) : NULL;
        if (!more) {
            (void)fprintf(stderr, "%s: cannot be read\n", path);
            exit(1);
        }
        data = more;
        n = fread(data + size, 1, room - size, f);
        size += n;
    } while (n);
    (void)fclose(f);
    *ret_size = size;
    return data;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each line by itself if `lines`, as data sets of documents have them; else the whole text. */
static tutti_status encode(const tokenizer *t, const char *text, uint64_t size, int lines,
                           tokenizer_ids *ids, tutti_error *err)
{
    tokenizer_encoder *e = NULL;
    tutti_status s = tokenizer_encoder_create(t, &e, err);
    for (uint64_t at = 0, end; at < size && s == TUTTI_OK; at = end) {
        end = at;
        while (end < size && !(lines && text[end] == '\n'))
            end++;
        s = tokenizer_encode(e, "the text", text + at, end - at, 1, ids, err);
        end += lines;
    }
    tokenizer_encoder_destroy(e);
    return s;
}

int main(int argc, char **argv)
{
    tokenizer *t = NULL;
    tokenizer_ids ids = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t size = 0;
    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s TOKENIZER.JSON TEXT [lines]\n", argv[0]);
        return 2;
    }
    if (tokenizer_open(argv[1], &t, &err)) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    char *text = read_all(argv[2], &size);
    const double start = now();
    const tutti_status s = encode(t, text, size, argc > 3, &ids, &err);
    const double seconds = now() - start;
    for (uint64_t k = 0; k < ids.count; k++)
        printf("%d\n", ids.data[k]);
    (void)fprintf(stderr, "%s\n%.6f\n", s ? err.text : "", seconds);
    free(ids.data);
    free(text);
    tokenizer_close(t);
    return s != TUTTI_OK;
}
