/* option_groups.h - options that belong together, as the command line gave them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_OPTION_GROUPS_H
#define HOST_CLI_OPTION_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_MAX_OPTIONS = 64 };

/* What `tutti plan` prints. */
typedef struct cli_preview {
    bool dot;
    bool traffic;
    const char *world; /* how many ranks */
    const char *link;  /* between them */
} cli_preview;

/* How long a run lasts. */
typedef struct cli_length {
    const char *duration;
    const char *batches; /* that profile measures */
} cli_length;

/* How training starts. */
typedef struct cli_start {
    const char *repeat; /* the folder of a run */
    bool reset_time;
    bool strict;
    bool accept_bits;
} cli_start;

/* What is shown of runs. */
typedef struct cli_look {
    const char *plot; /* a metric */
    const char *page; /* where a report goes */
    const char *port; /* of a page that is served; NULL: any that is free */
    bool live;
} cli_look;

/* How much a run prints. */
typedef struct cli_talk {
    bool quiet;
    bool verbose;
} cli_talk;

/* What keys and signatures are made with. */
typedef struct cli_signing {
    const char *key;  /* of plugins sign and verify */
    bool no_password; /* of plugins keygen */
} cli_signing;

/* What plugins new makes. */
typedef struct cli_making {
    const char *kind;
    const char *lang;
} cli_making;

/* How generate goes on; numbers as they were given, NULL: not at all. */
typedef struct cli_generating {
    const char *prompt;
    const char *file; /* the prompt's */
    const char *run;  /* run file */
    const char *tokenizer;
    const char *max_tokens, *temperature, *top_k, *top_p, *seed;
    const char *stops[CLI_MAX_OPTIONS + 1];
    size_t nstops;
    bool no_cache;
} cli_generating;

/* How plugins check tries a plugin. */
typedef struct cli_checking {
    const char *members; /* --run */
    const char *device;
} cli_checking;

/* What predict writes, of which data. */
typedef struct cli_predicting {
    const char *data; /* label of an evaluation */
    const char *output;
    const char *format; /* NULL: as the output's name ends */
} cli_predicting;

/* Which data are looked at or written anew, and how. */
typedef struct cli_using_data {
    const char *as;            /* the data set; NULL: told by the path */
    const char *sheet;         /* where a picture goes */
    const char *samples;       /* how many are counted */
    const char *shard_samples; /* of a shard that is written */
    const char *threads;
} cli_using_data;

/* What export writes. */
typedef struct cli_exporting {
    const char *onnx;        /* path */
    const char *batch;       /* how many samples */
    const char *huggingface; /* folder */
    const char *shard_size;  /* bytes, with a unit */
} cli_exporting;

#endif
