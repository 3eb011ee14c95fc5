"""The one table of settings: what the server reads, what `package.json` offers, what `docs/settings.md` says.

What a client sends is options: partial, perhaps wrong. What the server works with is `Settings`: frozen and
complete. A bad option is told once and replaced by its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

Scope = Literal["machine", "resource"]


def _setting(
    default: object, description: str, *, scope: Scope = "resource", environment: str = "", **bounds: Any
) -> Any:
    """A field of the table.

    *scope* ``machine`` keeps a setting that names a program or an address out of a workspace's own files;
    *environment* names the variable that stands in when the setting is not given.
    """
    extra: dict[str, JsonValue] = {"scope": scope, "environment": environment}
    return Field(default, description=description, json_schema_extra=extra, **bounds)


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True)


class ModelSettings(_Group):
    """Which language model answers."""

    name: str = _setting(
        "",
        "The model's name at its endpoint. Empty: the only model the endpoint offers.",
        scope="machine",
        environment="ROLECALL_MODEL",
    )
    base_url: str = _setting(
        "",
        "The address of an OpenAI-compatible endpoint, such as `http://localhost:11434/v1`. Empty: OpenAI's own.",
        scope="machine",
        environment="ROLECALL_BASE_URL",
    )
    api_key_variable: str = _setting(
        "OPENAI_API_KEY",
        "The name of the environment variable that holds the API key. The key itself is never a setting.",
        scope="machine",
    )
    replay: str = _setting(
        "",
        "A recorded conversation (a `.jsonl` file) that answers instead of a model.",
        scope="machine",
        environment="ROLECALL_REPLAY",
    )
    timeout_seconds: float = _setting(600.0, "How long one reply may take, from request to last word.", gt=0)
    context_tokens: int = _setting(16_000, "How many tokens of your repository a role may be shown.", ge=500)


class TestSettings(_Group):
    """How your tests are run."""

    __test__ = False  # pytest would collect the name

    run: bool = _setting(
        True,
        "Run your tests on a copy of the workspace before a proposal is shown. "
        "Off: proposals say that nothing was run.",
        scope="machine",
    )
    interpreter: str = _setting(
        "",
        "The Python that runs your tests. Empty: the workspace's `.venv` or `venv`, "
        "then `VIRTUAL_ENV`, then `python3`.",
        scope="machine",
    )
    timeout_seconds: float = _setting(120.0, "How long one run of the tests may take.", gt=0)


class NavigationSettings(_Group):
    """Which of an editor's own questions about code the graph answers."""

    definition: bool = _setting(False, "Answer *Go to Definition* from Rolecall's code graph.")
    references: bool = _setting(False, "Answer *Find All References* from Rolecall's code graph.")
    document_symbol: bool = _setting(False, "Give the outline of a file from Rolecall's code graph.")
    workspace_symbol: bool = _setting(False, "Answer *Go to Symbol in Workspace* from Rolecall's code graph.")
    call_hierarchy: bool = _setting(False, "Show callers and callees from Rolecall's code graph.")
    type_hierarchy: bool = _setting(False, "Show supertypes and subtypes from Rolecall's code graph.")
    possible: bool = _setting(
        False,
        "Add what the code graph holds for possible but could not follow for certain, such as a method of the same "
        "name on an unknown object. It comes after what is certain.",
    )
    languages: tuple[str, ...] = _setting(
        (),
        "The languages these settings are for, by identifier: `python`, `go`. Empty: every language the graph reads.",
    )


class ServerSettings(_Group):
    """How the VS Code client starts the server; other editors start it themselves."""

    interpreter: str = _setting(
        "",
        "A Python (3.11 or later) to start the server with. Empty: `python3` on your PATH.",
        scope="machine",
    )
    import_strategy: Literal["useBundled", "fromEnvironment"] = _setting(
        "useBundled",
        "Use the server that comes with the extension, or the one installed for the interpreter.",
        scope="machine",
    )


class Settings(_Group):
    """Everything that can be set, complete."""

    model: ModelSettings = ModelSettings()
    tests: TestSettings = TestSettings()
    navigation: NavigationSettings = NavigationSettings()
    server: ServerSettings = ServerSettings()


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
    """Every setting, in the order of the table."""
    for group_name, group in Settings.model_fields.items():
        assert isinstance(group.annotation, type)
        assert issubclass(group.annotation, _Group)
        properties = group.annotation.model_json_schema()["properties"]
        for field in group.annotation.model_fields.values():
            schema = properties[field.alias]
            extra = cast("dict[str, JsonValue]", field.json_schema_extra)
            value_schema = {
                key: schema[key] for key in ("type", "items", "enum", "minimum", "exclusiveMinimum") if key in schema
            }
            yield SettingRow(
                key=f"rolecall.{group_name}.{field.alias}",
                default=schema["default"],
                description=field.description or "",
                scope="machine" if extra["scope"] == "machine" else "resource",
                environment=str(extra["environment"]),
                schema=value_schema,
            )


def read_settings(options: object, environ: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """The settings that *options* (what a client sent) and *environ* amount to, and what was wrong with them.

    An option that is given wins over its variable; a wrong one is named in the second value and replaced
    by its default.
    """
    problems: list[str] = []
    given: dict[str, Any] = {}
    for row in setting_rows():
        _, group_name, name = row.key.split(".")
        value = _option(options, group_name, name)
        if value in (None, "") and row.environment and environ.get(row.environment):
            value = environ[row.environment]
        if value is not None:
            given.setdefault(group_name, {})[name] = value
    while True:
        try:
            return Settings.model_validate(given), tuple(problems)
        except ValidationError as error:
            for detail in error.errors():
                group_name, name = str(detail["loc"][0]), str(detail["loc"][1])
                if given[group_name].pop(name, None) is not None:
                    problems.append(f"rolecall.{group_name}.{name}: {detail['msg']}; the default is used.")


def _option(options: object, group_name: str, name: str) -> Any:
    group: Any = options.get(group_name) if isinstance(options, Mapping) else None  # pyright: ignore
    return group.get(name) if isinstance(group, Mapping) else None  # pyright: ignore
