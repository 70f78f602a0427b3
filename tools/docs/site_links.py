"""site_links - finds links of a folder of HTML that lead nowhere within it: no file, or no such place in it."""
import html.parser
import pathlib
import urllib.parse


class Page(html.parser.HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(folder):
    """A line for each, "page: link"."""
    folder = pathlib.Path(folder).resolve()
    pages = {file: Page(file.read_text(errors="replace")) for file in sorted(folder.rglob("*.html"))}
    faults = []
    for file, page in pages.items():
        for link in sorted(set(page.links)):
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (file.parent / urllib.parse.unquote(address.path)).resolve() if address.path else file
            place = urllib.parse.unquote(address.fragment)
            there = target.is_file() and (not place or target not in pages or place in pages[target].places)
            if not there:
                faults.append(f"{file.relative_to(folder)}: links to {link}, which is not there")
    return faults
