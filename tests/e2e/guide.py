#!/usr/bin/env python3
"""guide.py - the code blocks of a page in Markdown, so that tests run them.

guide.py commands PAGE       the lines of its blocks in sh, without comments
guide.py shown PAGE NAME     the block behind the line `NAME`: a file that the page shows
guide.py script PAGE         bash that goes through the page: writes each file that it shows and runs each block in sh.
                             Behind <!-- needs: COMMAND --> a block is left out, and the function `without` called,
                             where `COMMAND --version` fails.  A block of another language without a name is an error, but for text.
"""
import re
import sys

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def blocks(text):
    """(language, content, name that the line before gives it, command that it needs)."""
    end = 0
    for found in BLOCK.finditer(text):
        before = text[end:found.start()].rstrip("\n").rsplit("\n", 1)[-1]
        name = re.match(r"`([^`]+)`", before)
        needs = re.match(r"<!-- needs: (\S+) -->$", before)
        yield found[1], found[2], name and name[1], needs and needs[1]
        end = found.end()


def script(page, text):
    for language, content, name, needs in blocks(text):
        if language == "sh":
            for command in needs.split() if needs else []:
                print(f"if ! {command} --version >/dev/null 2>&1; then without {command}; else")
            for line in joined(content):
                print(f'echo "+ $(cat <<\'LINE\'\n{line}\nLINE\n)"\n{line}')
            if needs:
                print("fi")
        elif name:
            print(f"mkdir -p \"$(dirname '{name}')\"\ncat >'{name}' <<'END_OF_FILE'\n{content}END_OF_FILE")
        elif language != "text":
            sys.exit(f"{page}: a block of {language or 'no language'} that no test runs begins with {content[:60]!r}")


def joined(content):
    """Commands, each whole: a loop is one."""
    whole, depth = "", 0
    for line in content.splitlines():
        whole += line + "\n"
        depth += len(re.findall(r"\bdo$|\bthen$", line)) - len(re.findall(r"^\s*(?:done|fi)\b", line))
        if depth == 0 and not line.endswith("\\"):
            yield whole.rstrip("\n")
            whole = ""
    if whole:
        yield whole.rstrip("\n")


def main():
    what, page = sys.argv[1:3]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if what == "script":
        script(page, text)
    elif what == "shown":
        print(next(content for _, content, name, _ in blocks(text) if name == sys.argv[3]), end="")
    else:
        for language, content, _, _ in blocks(text):
            for line in content.splitlines() if language == "sh" else []:
                line = re.sub(r"\s+#.*$", "", line)
                if line:
                    print(line)


if __name__ == "__main__":
    main()
