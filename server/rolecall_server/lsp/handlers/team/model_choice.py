"""`rolecall/model/choices`, `rolecall/model/key` and `rolecall/model/test`: a model is chosen in an editor."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import RolecallError
from rolecall_server.lsp.handlers.team.status import STATUS_NOTIFICATION, check_subject, model_state
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.model.endpoint import Endpoint, find_endpoint
from rolecall_server.model.selection.local_servers import LocalService, describe_service, find_local_services

_LIST_TIMEOUT_S = 10.0


async def model_choices(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the model servers on this machine with their models; with an `address`, the one that listens there."""
    address = _address(params)
    if not address:
        return {"servers": [_server(service) for service in await find_local_services()]}
    session = ls.session
    settings = session.settings.model.model_copy(update={"base_url": address})
    key = session.keys.get(address, "")
    try:
        endpoint = find_endpoint(settings, {settings.api_key_variable: key})
        if (known := await describe_service(endpoint)) is not None:
            return {"servers": [_server(known)]}
        return {"servers": [{"name": "", "address": address, "models": await _offered(endpoint), "problem": ""}]}
    except RolecallError as error:
        return {"servers": [{"name": "", "address": address, "models": [], "problem": str(error)}]}


async def model_key(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Keep the `key` for an `address` while this process runs; forget it where it is empty."""
    address, key = _address(params), fields_of(params).get("key") or ""
    if not isinstance(key, str):
        raise JsonRpcInvalidParams("`key` is a text.")
    if key:
        ls.session.keys[address] = key
    else:
        ls.session.keys.pop(address, None)
    ls.notify_client(STATUS_NOTIFICATION, {})
    return {}


async def model_test(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Try with a few short calls what the model can do that answers by the settings, and remember it."""
    return {"model": await model_state(check_subject(ls), ask=True, try_it=True)}


async def _offered(endpoint: Endpoint) -> list[dict[str, Any]]:
    from rolecall_server.model.chat_completions.openai_chat import OpenAIChat  # the SDK takes long to import

    client = OpenAIChat(endpoint, "", _LIST_TIMEOUT_S)
    try:
        return [{"name": name, "loaded": False, "contextTokens": None} for name in await client.offered()]
    finally:
        await client.aclose()


def _server(service: LocalService) -> dict[str, Any]:
    models = [
        {"name": model.name, "loaded": model.loaded, "contextTokens": model.context_tokens} for model in service.models
    ]
    return {"name": service.name, "address": service.endpoint.base_url, "models": models, "problem": ""}


def _address(params: Any) -> str:
    address = fields_of(params).get("address") or ""
    if not isinstance(address, str):
        raise JsonRpcInvalidParams("`address` is the address of an endpoint.")
    return address.strip().rstrip("/")
