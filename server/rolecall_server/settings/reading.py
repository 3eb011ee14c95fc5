"""Settings read from what a client sent and from the environment, and listed for clients and documents.

What a client sends is options: partial, perhaps wrong. What the server works with is `Settings`: frozen and complete. A
bad option is told once and replaced by its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from rolecall_server.settings.table import Scope, SettingGroup, Settings


@dataclass(frozen=True)
class SettingRow:
    """One setting, as the documents and the VS Code client list it."""

    key: str
    """Dotted, as in an editor's settings: ``rolecall.model.baseUrl``."""
    default: object
    """As JSON has it."""
    description: str
    scope: Scope
    environment: str
    """The variable that stands in for it, or empty."""
    schema: Mapping[str, Any]
    """The JSON schema of its value."""


def setting_rows() -> Iterator[SettingRow]:
    """Yield every setting, in the order of the table."""
    for group_name, group in _groups():
        properties = group.model_json_schema()["properties"]
        for field in group.model_fields.values():
            schema = properties[field.alias]
            extra = cast("dict[str, JsonValue]", field.json_schema_extra)
            yield SettingRow(
                key=f"rolecall.{group_name}.{field.alias}",
                default={} if "$ref" in schema else schema["default"],
                description=field.description or "",
                scope="machine" if extra["scope"] == "machine" else "resource",
                environment=str(extra["environment"]),
                schema=_value_schema(schema),
            )


def _groups() -> Iterator[tuple[str, type[SettingGroup]]]:
    """Return the groups of settings with their names, in the order of the table."""
    for name, group in Settings.model_fields.items():
        assert isinstance(group.annotation, type)
        assert issubclass(group.annotation, SettingGroup)
        yield name, group.annotation


def _variables() -> Iterator[tuple[str, str, str]]:
    """Return the group, the name and the variable of each setting; schemas are slow to make, and not needed to read."""
    for group_name, group in _groups():
        for field in group.model_fields.values():
            extra = cast("dict[str, JsonValue]", field.json_schema_extra)
            yield group_name, str(field.alias), str(extra["environment"])


_KEPT = ("type", "items", "enum", "minimum", "maximum", "exclusiveMinimum")


def _value_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a property's schema that clients use."""
    if "$ref" in schema:
        return {"type": "object"}
    branches = [branch for branch in schema.get("anyOf", ()) if branch["type"] != "null"]
    if not branches:
        return {key: schema[key] for key in _KEPT if key in schema}
    (branch,) = branches
    return {**_value_schema(branch), "type": [branch["type"], "null"]}


def read_editor_settings(options: object, environ: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Read settings as `read_settings` does, of a client that sends every one: those count as given that differ from
    their defaults.
    """
    settings, problems = read_settings(options, environ)
    return Settings.model_validate(settings.model_dump(exclude_defaults=True)), problems


def read_settings(options: object, environ: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings that *options* (what a client sent) and *environ* amount to, and what was wrong with them.

    An option that is given wins over its variable; a wrong one is named in the second value and replaced
    by its default.
    """
    problems: list[str] = []
    given: dict[str, Any] = {}
    for group_name, name, variable in _variables():
        value = _given(_given(options, group_name), name)
        if value in (None, "") and variable and environ.get(variable):
            value = environ[variable]
        if value is not None:
            given.setdefault(group_name, {})[name] = value
    # This ends: each round takes out at least one option.
    while True:
        try:
            return Settings.model_validate(given), tuple(problems)
        except ValidationError as error:
            for detail in error.errors():
                group_name, name = str(detail["loc"][0]), str(detail["loc"][1])
                if given[group_name].pop(name, None) is not None:
                    problems.append(f"rolecall.{group_name}.{name}: {detail['msg']}; the default is used.")


def with_defaults(settings: Settings, defaults: Mapping[str, object]) -> Settings:
    """Return *settings* with other *defaults*, by key without ``rolecall.``, such as ``team.repairs``; what was given
    stays.
    """
    changed: dict[str, SettingGroup] = {}
    for group_name, kind in _groups():
        group: SettingGroup = getattr(settings, group_name)
        names = {f"{group_name}.{field.alias}": name for name, field in kind.model_fields.items()}
        known = {names[key]: value for key, value in defaults.items() if key in names}
        changed[group_name] = group.model_copy(
            update={name: value for name, value in known.items() if name not in group.model_fields_set}
        )
    return settings.model_copy(update=changed)


def _given(options: object, name: str) -> Any:
    return cast("Mapping[str, Any]", options).get(name) if isinstance(options, Mapping) else None
