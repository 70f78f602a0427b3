# files.sh - the project's own files for the lints, from a checkout and from a tarball alike: git looks at what
# lies here and asks no repository.  A lint without git is skipped.
command -v git >/dev/null || { echo "skipped: git is not installed"; exit 77; }
# grep_files <arguments of git grep...>: regular expressions are extended.
grep_files() { git grep --no-index --exclude-standard -E "$@"; }
# list_files <pathspec...>: one a line.
list_files() { grep_files -l '' -- "$@"; }
