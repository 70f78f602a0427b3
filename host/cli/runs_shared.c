/* runs_shared.c - what the commands share that look at runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/runs.h"

#include <stdio.h>
#include <stdlib.h>

bool runs_open(const cli_options *o, size_t first, run_list *ret)
{
    const char *const here[] = {"runs", NULL};
    const char *const *folders = o->nwords > first ? &o->words[first] : here;
    for (size_t k = 0; folders[k]; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        const size_t before = ret->count;
        if (run_list_add(ret, folders[k], &e)) {
            (void)fprintf(stderr, "tutti: %s\n", e.text);
            return false;
        }
        if (ret->count == before)
            (void)fprintf(stderr, "tutti: %s: has no runs\n", folders[k]);
    }
    for (size_t k = 0; k < ret->nleft_out; k++)
        (void)fprintf(stderr, "tutti: %s; the run is left out\n", ret->left_out[k]);
    return true;
}

bool runs_read_logs(run_list *l)
{
    for (size_t k = 0; k < l->count; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (run_folder_read_log(&l->items[k], &e)) {
            (void)fprintf(stderr, "tutti: %s\n", e.text);
            return false;
        }
    }
    return true;
}

const char *runs_duration(double seconds, char *text, size_t size)
{
    const long long s = (long long)(seconds + 0.5);
    if (seconds < 10)
        (void)snprintf(text, size, "%.1fs", seconds);
    else if (s < 60)
        (void)snprintf(text, size, "%llds", s);
    else if (s < 3600)
        (void)snprintf(text, size, "%lldm%02llds", s / 60, s % 60);
    else
        (void)snprintf(text, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
    return text;
}

int runs_print(text_buffer *b)
{
    const bool failed = b->failed;
    if (failed)
        (void)fprintf(stderr, "tutti: no memory for what is printed\n");
    else if (b->data)
        (void)fputs(b->data, stdout);
    free(b->data);
    return failed ? CLI_FAILED : CLI_OK;
}
