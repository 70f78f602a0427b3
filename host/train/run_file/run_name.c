/* run_name.c - names of runs that have none. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_file.h"

#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const char *const qualities[] = {
    "amber", "brave", "brisk",  "calm",   "clear", "copper",  "crisp", "deep",
    "eager", "early", "gentle", "golden", "green", "humble",  "keen",  "kind",
    "light", "lucid", "mellow", "misty",  "noble", "patient", "plain", "proud",
    "quick", "quiet", "silver", "steady", "sunny", "swift",   "warm",  "wise"};
static const char *const animals[] = {
    "badger", "beaver", "bison",  "crane", "dolphin", "eagle",  "falcon", "finch",
    "fox",    "gecko",  "hare",   "heron", "ibis",    "jackal", "koala",  "lark",
    "lemur",  "lynx",   "marten", "mole",  "newt",    "otter",  "owl",    "puffin",
    "raven",  "robin",  "seal",   "stork", "swan",    "tapir",  "vole",   "wren"};
enum { WORDS = 32 }; /* of each, a power of 2 */

const char *run_name_generate(char *text)
{
    uint16_t draw;
    if (getrandom(&draw, sizeof draw, GRND_NONBLOCK) != sizeof draw)
        draw = (uint16_t)(getpid() * 40503u); /* no entropy yet */
    (void)snprintf(text, RUN_NAME_SIZE, "%lld-%s-%s", (long long)time(NULL),
                   qualities[draw % WORDS], animals[draw / WORDS % WORDS]);
    return text;
}
