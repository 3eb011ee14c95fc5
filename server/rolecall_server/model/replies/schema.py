"""JSON schemas of pydantic models, and places in the objects they describe."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from pydantic import BaseModel, JsonValue

from rolecall_server.model.client import JsonShape

Place = tuple[int | str, ...]
"""The keys and indices that lead to a value: ``("stories", 2, "title")``."""

_Schema = Mapping[str, JsonValue]
_MAX_NAME_CHARACTERS = 64
_BRANCHES = ("anyOf", "oneOf", "allOf")


def shape_of(model_type: type[BaseModel], without: Collection[str] = ()) -> JsonShape:
    """Return the shape of *model_type* as the strict mode of endpoints wants it: no field optional, none besides.

    Fields named in *without* are not in it; the type must have defaults for them.

    Source: https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas".
    """
    name = re.sub(r"\W", "_", model_type.__name__)[:_MAX_NAME_CHARACTERS]
    schema = model_type.model_json_schema()
    if without:
        schema["properties"] = {name: each for name, each in schema["properties"].items() if name not in without}
        schema["$defs"] = _used_definitions(schema["properties"], schema.get("$defs", {}))
    return JsonShape(name, cast("_Schema", _strict(schema)))


def _used_definitions(schema: JsonValue, definitions: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return those of *definitions* that *schema* refers to, directly or not."""
    used: dict[str, JsonValue] = {}
    waiting = [schema]
    while waiting:
        for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(waiting.pop())):
            if name not in used:
                used[name] = definitions[name]
                waiting.append(definitions[name])
    return used


def _strict(schema: JsonValue) -> JsonValue:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    strict: dict[str, JsonValue] = {}
    for key, value in kept.items():
        # Keys in these are names of fields and types, and a field may be called `title` or `default`.
        if key in ("properties", "$defs") and isinstance(value, dict):
            strict[key] = {name: _strict(each) for name, each in value.items()}
        else:
            strict[key] = _strict(value)
    if isinstance(properties := strict.get("properties"), dict):
        strict |= {"required": list(properties), "additionalProperties": False}
    return strict


def show_place(place: Place) -> str:
    """``stories[2].title``; ``the object`` for all of it."""
    shown = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    return shown.removeprefix(".") or "the object"


def distinct(places: Iterable[Place]) -> list[Place]:
    """Return *places* once each and in order, without those that lie within another."""
    unique = list(dict.fromkeys(places))
    return [place for place in unique if not any(place[:n] in unique for n in range(len(place)))]


def pick(data: JsonValue, location: Sequence[int | str]) -> Place:
    """Return the part of *location* (of a pydantic error) that leads through *data*, where the last key may be missing.

    Locations within a union name the branch that was tried, which is no key.
    """
    place: Place = ()
    value = data
    for key in location:
        if isinstance(value, dict) and isinstance(key, str):
            if key in value:
                place, value = (*place, key), value[key]
            elif key == location[-1]:
                return (*place, key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            place, value = (*place, key), value[key]
    return place


def get_at(data: JsonValue, place: Place) -> JsonValue:
    """Return the value at *place*; None where there is none."""
    for key in place:
        if isinstance(data, dict) and isinstance(key, str):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def set_at(data: JsonValue, place: Place, value: JsonValue) -> JsonValue:
    """Return *data* with *value* at *place*."""
    if not place:
        return value
    key, below = place[0], place[1:]
    if isinstance(key, str):
        holder = data if isinstance(data, dict) else {}
        return {**holder, key: set_at(holder.get(key), below, value)}
    items = list(data) if isinstance(data, list) else []
    return [set_at(item, below, value) if number == key else item for number, item in enumerate(items)]


def schema_at(schema: _Schema, place: Place) -> _Schema:
    """Return the part of *schema* for the value at *place*; an empty one, which allows anything, if it cannot
    be told.
    """
    options = _options(schema, schema)
    for key in place:
        options = [found for option in options for found in _options(schema, _below(option, key))]
    if len(options) == 1:
        return options[0]
    return {"anyOf": [dict(option) for option in options]} if options else {}


def _below(schema: _Schema, key: int | str) -> JsonValue:
    if isinstance(key, int):
        fixed = schema.get("prefixItems")
        return fixed[key] if isinstance(fixed, list) and key < len(fixed) else schema.get("items")
    properties = schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    return schema.get("additionalProperties")


def _options(whole: _Schema, part: JsonValue | _Schema) -> list[_Schema]:
    """Return the branches of *part*, with references followed."""
    if not isinstance(part, Mapping):
        return []
    if isinstance(reference := part.get("$ref"), str):
        definitions = whole.get("$defs")
        named = definitions.get(reference.rpartition("/")[2]) if isinstance(definitions, dict) else None
        return _options(whole, named)
    branches = [branch for key in _BRANCHES if isinstance(found := part.get(key), list) for branch in found]
    if not branches:
        return [part]
    return [option for branch in branches for option in _options(whole, branch)]
