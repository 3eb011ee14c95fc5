"""The licence of a repository, and whether it may be exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.team.experience.licences import allows, licences_of, marked_in, named_in
from rolecall_server.workspace import Workspace
from support.workspaces import write_workspace

MIT = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\nof this software"
APACHE = "                                 Apache License\n                           Version 2.0, January 2004\n"
GPL = "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007\n"
BSD = "Redistributions of source code must retain the above ... Neither the name of the copyright holder nor"


@pytest.mark.parametrize(
    ("files", "licences"),
    [
        ({"a.py": ""}, {"none"}),
        ({"LICENSE": MIT}, {"MIT"}),
        ({"COPYING": GPL}, {"GPL-3.0-only"}),
        ({"LICENSE.txt": BSD}, {"BSD-3-Clause"}),
        ({"LICENSE": "All rights reserved."}, {"unknown"}),
        ({"pyproject.toml": '[project]\nlicense = "MIT OR Apache-2.0"\n'}, {"MIT OR Apache-2.0"}),
        ({"pyproject.toml": '[project]\nlicense = {text = "MIT"}\n', "LICENSE": APACHE}, {"MIT", "Apache-2.0"}),
        ({"pyproject.toml": '[project]\nclassifiers = ["License :: OSI Approved :: MIT License"]\n'}, {"MIT"}),
        ({"pyproject.toml": '[project]\nclassifiers = ["License :: Other/Proprietary License"]\n'}, {"unknown"}),
        ({"package.json": '{"license": "ISC"}', "Cargo.toml": '[package]\nlicense = "MIT"\n'}, {"ISC", "MIT"}),
        ({"pyproject.toml": "[", "package.json": "{", "LICENSE": MIT}, {"MIT"}),
    ],
)
def test_the_licences_are_those_that_the_repository_names(
    tmp_path: Path, files: dict[str, str], licences: set[str]
) -> None:
    assert licences_of(Workspace(write_workspace(tmp_path / "work", files))) == licences


@pytest.mark.parametrize(
    ("licence", "is_allowed"),
    [
        ("MIT", True),
        ("mit", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND Apache-2.0", True),
        ("(MIT OR GPL-3.0-only) AND Apache-2.0", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("none", False),
        ("unknown", False),
    ],
)
def test_of_a_choice_one_is_enough_and_of_several_all_have_to_be_allowed(licence: str, is_allowed: bool) -> None:
    assert allows(named_in("MIT, Apache-2.0"), licence) is is_allowed


def test_a_file_that_came_from_elsewhere_says_so() -> None:
    assert marked_in(["# SPDX-License-Identifier: GPL-2.0-only\nx = 1\n", "y = 2"]) == {"GPL-2.0-only"}
