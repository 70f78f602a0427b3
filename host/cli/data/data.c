/* data.c - tutti data: data sets without a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/convert.h"
#include "cli/data/inspect.h"
#include "cli/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

enum { SHOWN = 3, COUNTED = 10000, MOST = 1 << 30, MOST_THREADS = 1024 };

static int inspect(const cli_options *o, const tutti_op *const *ops)
{
    data_set d = {.instance = NULL};
    text_buffer b = {.data = NULL};
    tutti_error e = TUTTI_ERROR_INIT;
    int64_t counted = COUNTED;
    int status = CLI_USAGE;
    const char *path = o->words[1];
    registry *r = NULL;
    (void)ops;
    if (!number_whole("--samples", o->data.samples, 1, MOST, &counted) ||
        !(r = cli_registry(o)) || !data_set_open(&d, r, path, o->data.as, o->sets, o->nsets))
        goto end;
    tutti_status s = o->json ? inspect_json(&d, path, SHOWN, counted, &b, &e)
                             : inspect_text(&d, path, SHOWN, counted, &b, &e);
    if (!s && o->data.sheet) {
        cli_tell_closed_pipes();
        s = sheet_write(&d, o->data.sheet, &e);
    }
    if (!s)
        (void)fwrite(b.data, 1, b.size, o->data.sheet ? cli_notes(o->data.sheet) : stdout);
    else
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    status = s ? CLI_FAILED : CLI_OK;

end:
    free(b.data);
    data_set_close(&d);
    registry_destroy(r);
    return status;
}

static bool is_token_file(const char *path)
{
    const size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".bin") == 0;
}

/* The data set mds has an input and a target; further columns are in the shards for other readers. */
static void tell_unread(const data_set *d, const char *to)
{
    uint32_t unread = 0;
    if (shard_is_text(d))
        return;
    for (uint32_t k = 0; k < d->info.ncolumns; k++) {
        const char *name = d->info.columns[k].name;
        if (strcmp(name, "input") != 0 && strcmp(name, "target") != 0)
            (void)(unread++
                       ? fprintf(stderr, ", %s", name)
                       : fprintf(stderr, "tutti: %s: mds does not read back %s", to, name));
    }
    if (unread)
        (void)fprintf(stderr,
                      ": it takes one column as its input (input_column) and one as its "
                      "target (target_column)\n");
}

static int convert(const cli_options *o, const tutti_op *const *ops)
{
    data_set d = {.instance = NULL};
    tutti_error e = TUTTI_ERROR_INIT;
    int64_t threads = omp_get_num_procs(), shard = 0;
    int status = CLI_USAGE;
    registry *r = NULL;
    (void)ops;
    if (!number_whole("--threads", o->data.threads, 1, MOST_THREADS, &threads) ||
        !number_whole("--shard-samples", o->data.shard_samples, 1, MOST, &shard) ||
        !(r = cli_registry(o)) ||
        !data_set_open(&d, r, o->words[1], o->data.as, o->sets, o->nsets))
        goto end;
    const convert_options options = {.from = o->words[1],
                                     .to = o->words[2],
                                     .sets = o->sets,
                                     .nsets = o->nsets,
                                     .shard_samples = shard,
                                     .threads = threads};
    const tutti_status s = is_token_file(o->words[2]) ? convert_tokens(&d, &options, &e)
                                                      : convert_data(&d, &options, &e);
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    else if (!is_token_file(o->words[2]))
        tell_unread(&d, o->words[2]);
    status = s ? CLI_FAILED : CLI_OK;

end:
    data_set_close(&d);
    registry_destroy(r);
    return status;
}

static const cli_use uses[] = {
    {"inspect", "PATH", CLI_VALUE_FILE,
     "prints what the file or folder PATH holds: which data set reads it, columns, the first "
     "samples, how many samples each class has.",
     1, 1, inspect},
    {"convert", "SRC DST", CLI_VALUE_FILE,
     "writes the data of SRC as shards of MosaicML Streaming (MDS) into the folder DST: "
     "pictures "
     "as the JPEG and PNG files that they are, else as PNG, numbers, arrays, tokens, and in "
     "classes.txt "
     "what classes are called.  Begun again after it was stopped, it goes on where it "
     "was.  Where DST ends in .bin, tokens become a file of tokens.",
     2, 2, convert},
    {NULL, NULL, 0, NULL, 0, 0, NULL}};

const cli_command cli_data = {
    .name = "data",
    .kind = CLI_VALUE_FILE,
    .summary = "look at data, write them as shards",
    .doc = "Looks at data without a run, through the data set that reads them, and writes them "
           "anew.",
    .more = "What a path is, is told by its ending or by what lies in the folder; --as names a "
            "data "
            "set.\n"
            "Exit status: 0 done, 1 a sample cannot be read or a file not be written,\n"
            "             2 wrong usage, or no such data.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_DATA | CLI_TAKES_JSON,
    .uses = uses,
};
