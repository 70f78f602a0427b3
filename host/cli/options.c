/* options.c - command lines by argp: one table of options, from which each command takes its groups. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"
#include "base/nearest.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST(member, number) offsetof(cli_options, member), offsetof(cli_options, number)
#define ONE(member) offsetof(cli_options, member), 0

const cli_option cli_option_table[] = {
    {"set", "PATH=VALUE", CLI_VALUE_ANY, CLI_TAKES_RUN,
     "Overrides a value of the file: train.dataset.path=data, eval.0.batch_size=100; files and "
     "folders are relative to where you stand",
     LIST(sets, nsets), NULL},
    {"device", "NAME", CLI_VALUE_DEVICE, CLI_TAKES_RUN,
     "Runs on auto, cpu, cuda, cuda:1 or a plugin's device", LIST(sets, nsets), "device="},
    {"threads", "N", CLI_VALUE_ANY, CLI_TAKES_RUN, "Computes with so many threads",
     LIST(sets, nsets), "threads="},
    {"resume", "auto|FILE", CLI_VALUE_FILE, CLI_TAKES_RESUME,
     "Goes on from that checkpoint, a file or an address such as s3://bucket/name; auto: from "
     "the run's latest one if there is one",
     ONE(resume), NULL},
    {"checkpoint", "auto|FILE", CLI_VALUE_FILE, CLI_TAKES_CHECKPOINT,
     "Takes the weights of that checkpoint, a file or an address such as s3://bucket/name; "
     "auto: of the run's latest one",
     ONE(resume), NULL},
    {"duration", "TIME", CLI_VALUE_ANY, CLI_TAKES_DURATION,
     "Trains so much longer (2ep, 500ba, 1h30m) instead of max_duration", ONE(length.duration),
     NULL},
    {"reset-time", NULL, CLI_VALUE_NONE, CLI_TAKES_DURATION,
     "With the checkpoint's weights, but all clocks at zero", ONE(start.reset_time), NULL},
    {"accept-different-bits", NULL, CLI_VALUE_NONE, CLI_TAKES_RESUME,
     "Goes on from a checkpoint of another CPU or other kernels, whose last bits differ",
     ONE(start.accept_bits), NULL},
    {"strict", NULL, CLI_VALUE_NONE, CLI_TAKES_DURATION,
     "Refuses a checkpoint that was written with other settings", ONE(start.strict), NULL},
    {"repeat", "RUN_FOLDER", CLI_VALUE_FOLDER, CLI_TAKES_DURATION,
     "Instead of RUN.json: the run of that folder once more, with the kernels, threads and "
     "settings that its record has, as NAME-repeat",
     ONE(start.repeat), NULL},
    {"check-plugins", NULL, CLI_VALUE_NONE, CLI_TAKES_RESUME,
     "Looks, around each call of a plugin, for changes of the process: rounding, locale, "
     "folder, "
     "signals, clock, files, threads, memory; slow",
     ONE(check), NULL},
    {"batches", "N", CLI_VALUE_ANY, CLI_TAKES_BATCHES,
     "Measures so many batches, 8 without it, after two that are not measured",
     ONE(length.batches), NULL},
    {"quiet", NULL, CLI_VALUE_NONE, CLI_TAKES_TALK,
     "Prints results, warnings and errors alone: no table of the run, no loggers on the "
     "terminal",
     ONE(talk.quiet), NULL},
    {"verbose", NULL, CLI_VALUE_NONE, CLI_TAKES_TALK,
     "Prints all that is told to loggers, on standard error", ONE(talk.verbose), NULL},
    {"output", "FILE", CLI_VALUE_FILE, CLI_TAKES_OUTPUT,
     "Where the outputs go: FILE.npy, FILE.csv or FILE.jsonl", ONE(predicting.output), NULL},
    {"format", "npy|csv|jsonl", CLI_VALUE_ANY, CLI_TAKES_OUTPUT,
     "How the outputs are written, whatever the file is called", ONE(predicting.format), NULL},
    {"data", "LABEL", CLI_VALUE_ANY, CLI_TAKES_OUTPUT,
     "The data of this evaluation of the run file; the first one without it",
     ONE(predicting.data), NULL},
    {"onnx", "FILE", CLI_VALUE_FILE, CLI_TAKES_EXPORT, "Writes this ONNX file",
     ONE(exporting.onnx), NULL},
    {"batch", "N", CLI_VALUE_ANY, CLI_TAKES_EXPORT,
     "The file takes batches of N samples and no others", ONE(exporting.batch), NULL},
    {"huggingface", "FOLDER", CLI_VALUE_FOLDER, CLI_TAKES_EXPORT,
     "Writes config.json, model.safetensors and the tokenizer's files into this folder",
     ONE(exporting.huggingface), NULL},
    {"shard-size", "SIZE", CLI_VALUE_ANY, CLI_TAKES_EXPORT,
     "Weights of more than this, such as 2GB, go to several files; 5GB without it",
     ONE(exporting.shard_size), NULL},
    {"prompt", "TEXT", CLI_VALUE_ANY, CLI_TAKES_GENERATE, "The text to go on from",
     ONE(generating.prompt), NULL},
    {"file", "FILE", CLI_VALUE_FILE, CLI_TAKES_GENERATE,
     "The same out of a file; -: standard input", ONE(generating.file), NULL},
    {"run", "RUN.json", CLI_VALUE_RUN, CLI_TAKES_GENERATE,
     "The run file of the model and its data; without it the one that the checkpoint keeps, "
     "whose "
     "files count from where you stand",
     ONE(generating.run), NULL},
    {"tokenizer", "FILE", CLI_VALUE_FILE, CLI_TAKES_GENERATE,
     "The tokenizer.json, in the place of the data's or the folder's",
     ONE(generating.tokenizer), NULL},
    {"max-tokens", "N", CLI_VALUE_ANY, CLI_TAKES_GENERATE, "How far to go on; 200 without it",
     ONE(generating.max_tokens), NULL},
    {"temperature", "X", CLI_VALUE_ANY, CLI_TAKES_GENERATE,
     "What logits are divided by before a token is drawn; 0, and without it, the likeliest is "
     "taken",
     ONE(generating.temperature), NULL},
    {"top-k", "K", CLI_VALUE_ANY, CLI_TAKES_GENERATE, "Draws among the K likeliest tokens",
     ONE(generating.top_k), NULL},
    {"top-p", "P", CLI_VALUE_ANY, CLI_TAKES_GENERATE,
     "Draws among the fewest of the likeliest tokens that together have the probability P",
     ONE(generating.top_p), NULL},
    {"seed", "N", CLI_VALUE_ANY, CLI_TAKES_GENERATE, "Of the draws; 0 without it",
     ONE(generating.seed), NULL},
    {"stop", "TEXT", CLI_VALUE_ANY, CLI_TAKES_GENERATE,
     "Ends where this text would come; may be given more than once",
     LIST(generating.stops, generating.nstops), NULL},
    {"no-cache", NULL, CLI_VALUE_NONE, CLI_TAKES_GENERATE,
     "Computes every token from all before it, which gives the same and takes longer",
     ONE(generating.no_cache), NULL},
    {"as", "NAME", CLI_VALUE_OBJECT, CLI_TAKES_DATA,
     "The data set that reads PATH, where the path does not tell", ONE(data.as), NULL},
    {"set", "KEY=VALUE", CLI_VALUE_ANY, CLI_TAKES_DATA,
     "A setting of the data set: classes=10, tokenizer_file=tokenizer.json", LIST(sets, nsets),
     NULL},
    {"sheet", "FILE.png", CLI_VALUE_FILE, CLI_TAKES_DATA,
     "Of inspect: writes a picture of up to 64 samples side by side, by their classes",
     ONE(data.sheet), NULL},
    {"samples", "N", CLI_VALUE_ANY, CLI_TAKES_DATA,
     "Of inspect: counts the classes of so many samples, 10000 without it", ONE(data.samples),
     NULL},
    {"shard-samples", "N", CLI_VALUE_ANY, CLI_TAKES_DATA,
     "Of convert: so many samples a shard; as many as make some 32 MiB without it",
     ONE(data.shard_samples), NULL},
    {"threads", "N", CLI_VALUE_ANY, CLI_TAKES_DATA,
     "Of convert: so many threads; one a processor without it", ONE(data.threads), NULL},
    {"dot", NULL, CLI_VALUE_NONE, CLI_TAKES_DRAWING,
     "The nodes as a drawing for Graphviz instead", ONE(preview.dot), NULL},
    {"traffic", NULL, CLI_VALUE_NONE, CLI_TAKES_DRAWING,
     "What operations read and write in a step instead, by bytes, as if no cache held them",
     ONE(preview.traffic), NULL},
    {"world", "N[:L]", CLI_VALUE_ANY, CLI_TAKES_DRAWING,
     "What a step over N processes, L of them a machine, would take instead: memory, bytes "
     "between them, time",
     ONE(preview.world), NULL},
    {"link", "GBITS:US", CLI_VALUE_ANY, CLI_TAKES_DRAWING,
     "With --world: the machines' links in Gbit/s and microseconds, 10:30 without it",
     ONE(preview.link), NULL},
    {"run", "FILE.json", CLI_VALUE_FILE, CLI_TAKES_CHECK,
     "Of check: a JSON object whose members take the place of those of the run in which "
     "objects "
     "are tried; check.json beside the manifest without it",
     ONE(checking.members), NULL},
    {"device", "NAME", CLI_VALUE_DEVICE, CLI_TAKES_CHECK,
     "Of check: trains on this device too, and compares with the CPU", ONE(checking.device),
     NULL},
    {"json", NULL, CLI_VALUE_NONE, CLI_TAKES_CHECK, "Of check: prints its results as JSON",
     ONE(json), NULL},
    {"json", NULL, CLI_VALUE_NONE, CLI_TAKES_JSON, "Prints it as JSON", ONE(json), NULL},
    {"page", "FILE.html", CLI_VALUE_FILE, CLI_TAKES_PAGE,
     "Where the report goes, report.html without it", ONE(look.page), NULL},
    {"live", NULL, CLI_VALUE_NONE, CLI_TAKES_PAGE,
     "Serves the page to this machine while the runs train, and follows what they log",
     ONE(look.live), NULL},
    {"port", "N", CLI_VALUE_ANY, CLI_TAKES_PAGE,
     "Of --live: the port of 127.0.0.1, one that is free without it", ONE(look.port), NULL},
    {"plot", "METRIC", CLI_VALUE_ANY, CLI_TAKES_PLOT,
     "Draws the curves of METRIC over the batch, as loss/train/total", ONE(look.plot), NULL},
    {"kind", "K", CLI_VALUE_KIND, CLI_TAKES_NEW,
     "Of new: what the plugin is, algorithm without it", ONE(making.kind), NULL},
    {"lang", "c|cpp|rust|cuda", CLI_VALUE_ANY, CLI_TAKES_NEW,
     "Of new: what it is written in, c without it", ONE(making.lang), NULL},
    {"plugin-path", "DIR", CLI_VALUE_FOLDER, CLI_TAKES_PLUGINS, "Looks for plugins there first",
     LIST(plugin_paths, npaths), NULL},
    {"plugin-lock", "FILE", CLI_VALUE_FILE, CLI_TAKES_PLUGINS,
     "Uses only plugins that stand in FILE (tutti plugins lock), unchanged", ONE(lock), NULL},
    {"plugin-policy", "FILE", CLI_VALUE_FILE, CLI_TAKES_PLUGINS,
     "Uses only plugins that FILE allows as well: beside the policies of /etc/tutti and the "
     "user",
     ONE(policy), NULL},
    {"key", "FILE", CLI_VALUE_FILE, CLI_TAKES_SIGN,
     "Of sign: the secret key; of verify: the public key that is trusted, instead of those in "
     "trusted.d",
     ONE(signing.key), NULL},
    {"no-password", NULL, CLI_VALUE_NONE, CLI_TAKES_SIGN,
     "Of keygen: leaves the secret key unencrypted", ONE(signing.no_password), NULL},
    {NULL, NULL, 0, 0, NULL, 0, 0, NULL},
};

enum { ROWS = sizeof cli_option_table / sizeof *cli_option_table - 1 };
/* Of one command: its options, those for help and version, and the end. */
enum { FIRST_KEY = 256, HELP = '?', SHORT_HELP = 'h', VERSION = 'V', MOST = ROWS + 4 };

/* One parse. */
typedef struct reading {
    const cli_command *command;
    cli_options *options;
    struct argp_option known[MOST];
    bool help;
    bool version;
    bool told; /* what is wrong */
} reading;

/* "device=cpu" out of --device cpu; lives as long as the program. */
static const char *joined(const char *prefix, const char *value)
{
    static char *texts[2 * CLI_MAX_OPTIONS];
    static size_t count;
    const size_t size = strlen(prefix) + strlen(value) + 1;
    char *text = count < sizeof texts / sizeof *texts ? malloc(size) : NULL;
    if (text) {
        (void)snprintf(text, size, "%s%s", prefix, value);
        texts[count++] = text;
    }
    return text;
}

static error_t add(reading *r, const char **list, size_t *count, const char *value)
{
    if (value && *count < CLI_MAX_OPTIONS) {
        list[(*count)++] = value;
        list[*count] = NULL;
        return 0;
    }
    (void)fprintf(stderr, "tutti: more than %d options of one kind\n", CLI_MAX_OPTIONS);
    r->told = true;
    return EINVAL;
}

static error_t take(reading *r, const cli_option *option, const char *value)
{
    char *at = (char *)r->options + option->list;
    if (option->count) {
        size_t *count = (size_t *)(void *)((char *)r->options + option->count);
        const char *text = option->prefix ? joined(option->prefix, value) : value;
        return add(r, (const char **)(void *)at, count, text);
    }
    if (option->value)
        *(const char **)(void *)at = value;
    else
        *(bool *)(void *)at = true;
    return 0;
}

/* An option that is not known, or has no value: the nearest one that is, or what it wants. */
static void explain_word(reading *r, const char *word)
{
    const char *names[MOST + 1] = {NULL};
    char texts[MOST][32];
    size_t n = 0;
    for (const struct argp_option *o = r->known; o->name || o->key; o++) {
        if (!o->name)
            continue;
        (void)snprintf(texts[n], sizeof texts[n], "--%s", o->name);
        names[n] = texts[n];
        if (strcmp(word, texts[n++]) == 0 && o->arg) {
            (void)fprintf(stderr, "tutti: %s needs a value\n", word);
            return;
        }
    }
    (void)fprintf(stderr, "tutti: %s is no option%s\n", word, suggest_word(word, names).text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    reading *r = state->input;
    switch (key) {
    case HELP:
    case SHORT_HELP:
        r->help = true;
        return 0;
    case VERSION:
        r->version = true;
        return 0;
    case ARGP_KEY_ARG:
        return add(r, r->options->words, &r->options->nwords, arg);
    case ARGP_KEY_ERROR:
        if (!r->told)
            explain_word(r, state->argv[state->next > 0 ? state->next - 1 : 0]);
        r->told = true;
        return 0;
    default:
        return key < FIRST_KEY || key >= FIRST_KEY + ROWS
                   ? ARGP_ERR_UNKNOWN
                   : take(r, &cli_option_table[key - FIRST_KEY], arg);
    }
}

/* The table's options of the command's groups, as argp wants them. */
static void list_options(const cli_command *c, struct argp_option *known)
{
    size_t n = 0;
    for (int k = 0; cli_option_table[k].name; k++) {
        const cli_option *o = &cli_option_table[k];
        if (o->group & c->takes)
            known[n++] = (struct argp_option){
                .name = o->name, .key = FIRST_KEY + k, .arg = o->value, .doc = o->doc};
    }
    known[n++] = (struct argp_option){
        .name = "help", .key = HELP, .doc = "Prints this text", .group = -1};
    known[n++] = (struct argp_option){.key = SHORT_HELP, .flags = OPTION_HIDDEN, .group = -1};
    known[n++] = (struct argp_option){
        .name = "version", .key = VERSION, .doc = "Prints the program's version", .group = -1};
    known[n] = (struct argp_option){.name = NULL};
}

const cli_use *cli_find_use(const cli_command *c, const char *name)
{
    const cli_use *u = c->uses;
    while (u && u->name && strcmp(u->name, name) != 0)
        u++;
    return u && u->name ? u : NULL;
}

const char *cli_command_args(const cli_command *c)
{
    static char text[512];
    size_t n = 0;
    if (!c->uses)
        return c->args;
    for (const cli_use *u = c->uses; u->name && n < sizeof text; u++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s%s", u == c->uses ? "" : "|",
                              u->name, *u->args ? " " : "", u->args);
    return text;
}

/* What the words ask for; says what is missing. */
static cli_function *find_function(const cli_command *c, const cli_options *o)
{
    const cli_use *u = o->nwords ? cli_find_use(c, o->words[0]) : NULL;
    if (u && o->nwords - 1 >= u->least && o->nwords - 1 <= u->most)
        return u->run;
    if (!c->uses && o->nwords >= c->least && o->nwords <= c->most)
        return c->run;
    const char *args = cli_command_args(c);
    (void)fprintf(stderr,
                  "tutti: usage: tutti %s [OPTION...]%s%s; `tutti help %s` tells more\n",
                  c->name, *args ? " " : "", args, c->name);
    return NULL;
}

/* What --help says before the options, and behind \v after them. */
static void write_doc(const cli_command *c, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%s", c->doc);
    for (const cli_use *u = c->uses; u && u->name && n < size; u++)
        n += (size_t)snprintf(text + n, size - n, "\n%s %s", u->name, u->doc);
    if (n < size)
        (void)snprintf(text + n, size - n, "\v%s", c->more);
}

int cli_run_command(const cli_command *const *commands, const cli_command *c, int argc,
                    char **argv, const tutti_op *const *ops)
{
    static char name[64];
    char doc[8192];
    cli_options o;
    reading r = {.command = c, .options = &o};
    memset(&o, 0, sizeof o);
    o.commands = commands;
    (void)snprintf(name, sizeof name, "tutti %s", c->name);
    write_doc(c, doc, sizeof doc);
    list_options(c, r.known);
    const struct argp argp = {
        .options = r.known, .parser = parse, .args_doc = cli_command_args(c), .doc = doc};
    argv[0] = name;
    const error_t failed =
        argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &r);
    if (failed == ENOMEM)
        (void)fprintf(stderr, "tutti: no memory to read the command line\n");
    if (failed)
        return CLI_USAGE;
    if (r.help) {
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
        return CLI_OK;
    }
    if (r.version) {
        (void)printf("tutti %s\n", TUTTI_VERSION);
        return CLI_OK;
    }
    o.run = o.nwords ? o.words[0] : NULL;
    cli_function *function = find_function(c, &o);
    return function ? function(&o, ops) : CLI_USAGE;
}
