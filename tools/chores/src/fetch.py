"""Fetches a file of a project from the index that pip uses: project, file, place."""

import json
import re
import sys
import urllib.parse
import urllib.request

from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI

project, file, place = sys.argv[1:]
configuration = Configuration(isolated=False)
configuration.load()
settings = dict(configuration.items())
# Of newer versions the settings lie one level deeper, by file.
flat = {key: value for part in settings.values() if isinstance(part, dict) for key, value in part.items()} | settings
named = (flat.get(key) for key in (":env:.index-url", "global.index-url", "download.index-url"))
index = next((url for url in named if url), PyPI.simple_url)
accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
page = urllib.request.Request(f"{index.rstrip('/')}/{project}/", headers={"Accept": accept})
with urllib.request.urlopen(page, timeout=60) as answer:
    base, kind, text = answer.url, answer.headers["Content-Type"], answer.read().decode()
if "json" in kind:
    links = [(one["filename"], one["url"]) for one in json.loads(text)["files"]]
else:
    links = [(name.strip(), link) for link, name in re.findall(r'href="([^"]+)"[^>]*>([^<]+)<', text)]
link = next((link for name, link in links if name == file), None)
if link is None:
    sys.exit(f"the index has no `{file}`")
with urllib.request.urlopen(urllib.parse.urljoin(base, link).split("#")[0], timeout=60) as answer, open(place, "wb") as into:
    into.write(answer.read())
