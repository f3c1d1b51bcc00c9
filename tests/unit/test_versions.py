"""A version stands in one place, and whatever repeats it agrees."""

from __future__ import annotations

import re
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import polyseme
from tools.check_wheels import complaints, missing

ROOT = Path(__file__).parents[2]
FILES = {
    "CITATION.cff": r"^version: (\S+)$",
    "compose.yaml": r"image: polyseme:(\S+)$",
    "packaging/conda/recipe.yaml": r'^  version: "(\S+)"$',
}
SYSTEMS = (
    *("manylinux_2_28_x86_64", "manylinux_2_28_aarch64.manylinux_2_27_aarch64"),
    *("macosx_11_0_arm64", "macosx_11_0_x86_64", "win_amd64"),
)


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_repeats_the_version_agrees(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.findall(FILES[file], text, re.M) == [polyseme.__version__]


def test_the_installed_package_has_that_version():
    assert version("polyseme") == polyseme.__version__


def test_the_build_takes_the_version_from_the_package():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in text
    assert 'input = "src/polyseme/__init__.py"' in text


def test_the_recipe_for_conda_wants_what_the_package_wants():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = re.search(r"^dependencies = \[$(.*?)^\]$", project, re.M | re.S)
    bounds = r'"([\w-]+)>=([\d.]+)'
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    wanted = dict(re.findall(r"([\w-]+) >=([\d.]+)", recipe.replace("pytorch", "torch")))
    assert dict(re.findall(bounds, needed[1])).items() <= wanted.items()
    optional = dict(re.findall(bounds, project))
    assert {name: optional[name] for name in wanted.keys() & optional} == {
        name: bound for name, bound in wanted.items() if name not in ("python", "cmake")
    }


def test_the_changelog_has_a_section_of_the_version_or_one_to_come():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert polyseme.__version__ in headings or headings[0] == "Unreleased"


def test_what_a_release_lacks_is_named():
    tags = ("cp310-cp310", "cp311-cp311", "cp312-abi3")
    names = [f"polyseme-1.0-{tag}-{system}.whl" for tag in tags for system in SYSTEMS]
    assert missing(names) == []
    assert missing(names[:-1]) == ["there is no cp312-abi3 for Windows on x86-64"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("polyseme-1.0.tar.gz", "no name of a wheel"),
        ("polyseme-99.0-cp311-cp311-win_amd64.whl", "another version"),
        (f"polyseme-{polyseme.__version__}-cp313-cp313-win_amd64.whl", "none of those we build"),
        (
            f"polyseme-{polyseme.__version__}-cp311-cp311-linux_x86_64.whl",
            "no system we build for",
        ),
        (f"polyseme-{polyseme.__version__}-cp311-cp311-win_amd64.whl", "_native.pyi is missing"),
    ],
)
def test_a_wheel_that_is_not_as_it_should_be_is_refused(tmp_path, name, complaint):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("polyseme/_native.abi3.so", b"")
    assert any(complaint in sentence for sentence in complaints(tmp_path / name))
