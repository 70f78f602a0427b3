#!/usr/bin/env bash
# helgrind_test.sh - why races are looked for by the thread sanitizer: Helgrind reports one where C11 atomics make an order.
. "$SOURCE/tests/e2e/lib.sh"
for program in valgrind clang; do
  command -v $program >/dev/null || skip_all "there is no $program"
done
build() { "$1" -std=c11 -gdwarf-4 -O1 -pthread "$SOURCE/tests/campaigns/handed_over.c" "${@:3}" -o "$2"; }
helgrind() { valgrind -q --tool=helgrind --error-exitcode=9 --log-file=helgrind.txt "$@"; }
# fails <status> <text> <file> <command...>: it ends so, and the file has the text.
fails() {
  "${@:4}" 2>sanitizer.txt
  test $? = "$1" && grep -q "$2" "$3"
}

build clang locked >build.txt 2>&1 && valgrind -q --tool=none ./locked || skip_all "valgrind runs no program here"
build clang sanitized -fsanitize=thread >build.txt 2>&1 && ./sanitized 2>/dev/null || skip_all "clang has no thread sanitizer here"
check "Helgrind knows the order that a lock makes" helgrind ./locked
check "an atomic that releases and one that acquires" build clang atomic -DORDER=memory_order_acquire
check "make no order for Helgrind" fails 9 'is 0 bytes inside data symbol "data"' helgrind.txt helgrind ./atomic
check "the same for the thread sanitizer" build clang atomic -DORDER=memory_order_acquire -fsanitize=thread
check "is an order" ./atomic
check "atomics that make none" build clang relaxed -DORDER=memory_order_relaxed -fsanitize=thread
check "are a race to it" fails 66 'WARNING: ThreadSanitizer: data race' sanitizer.txt ./relaxed
finish
