"""What is published about the package: the metadata of the installation, and who to cite."""

import re
from importlib.metadata import metadata
from pathlib import Path

import softmargin

ROOT = Path(__file__).parent.parent


def test_metadata_names_the_pages():
    urls = dict(line.split(", ") for line in metadata("softmargin").get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Changelog"} <= urls.keys()
    site = re.search(r"^site_url: (\S+)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert urls["Homepage"] == site[1]
    assert all(url.startswith(site[1]) for url in urls.values())


def test_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", citation, re.MULTILINE))
    assert fields["version"] == softmargin.__version__ == metadata("softmargin")["Version"]
    assert fields["license"] == metadata("softmargin")["License-Expression"]
    assert fields["url"] in metadata("softmargin").get_all("Project-URL")[0]
    for name in ("cff-version", "message", "title", "type", "abstract"):
        assert fields[name]
