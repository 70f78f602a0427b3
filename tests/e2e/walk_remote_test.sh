#!/usr/bin/env bash
# walk_remote_test.sh - docs/walks/remote.sh does what it says.
. "$(dirname "$0")/lib.sh"
wants_curl
check "the walk goes to its end" bash "$SOURCE/docs/walks/remote.sh" walk
cp check.out out.txt
check "the server was gone" grep -q '^the server is gone after 20 requests$' out.txt
check "the run said so in one sentence" grep -Eq '^tutti: http://127.0.0.1:[0-9]+/set/shard.000[01][0-9].mds: cannot be fetched: .*; tried 4 times$' out.txt
check "and ended behind a checkpoint" grep -q '^the run ended with status 1$' out.txt
check "shards are within the limit, and not all of them" awk '/^kept: / { found = $2 <= 2 * 1048576 && $2 < $5 } END { exit !found }' out.txt
check "losses are those of a run on the files" grep -q '^both runs have the same losses$' out.txt
check "which learns something, where guesses have 0.33" awk '/^train accuracy/ { found = $NF > 0.8 } END { exit !found }' out.txt
finish
