"""The optional questions that the editor sends: those that are turned on, and no others while it runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.lsp.client import Feature, Handler, Selector
from rolecall_server.lsp.pages.names import is_page
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.settings import NavigationSettings

_IDS = itertools.count(1)


def announce_navigation(ls: RolecallServer) -> None:
    """Take what is turned on into the reply to `initialize`, for a client that cannot be told of it later."""
    for feature in ls.optional_features:
        is_wanted = not feature.unasked or _capability(ls, feature) is not None
        if is_wanted and _is_on(ls, feature) and not _can_register(ls, feature):
            _answer(ls, feature)


async def follow_navigation(ls: RolecallServer) -> None:
    """Have the editor send what the settings turn on, and no more."""
    # One after the other: two changes of the settings would both begin from the same registrations.
    async with ls.registering:
        wanted = {
            feature.method: feature.options(_selector(feature, ls.session.settings.navigation))
            for feature in ls.optional_features
            if _is_on(ls, feature) and _can_register(ls, feature)
        }
        known = ls.registrations
        try:
            await _unregister(ls, [each for each in known.values() if wanted.get(each.method) != each.register_options])
            await _register(ls, [each for each in _registrations(wanted) if each.method not in known])
        except JsonRpcException as error:
            ls.tell(f"the editor does not follow the settings: {error}.", types.MessageType.Warning)


async def follow_pages(ls: RolecallServer) -> None:
    """Have the editor ask about documents of the team, whatever the settings say of code; once for a session."""
    if ls.session.follows_pages:
        return
    ls.session.follows_pages = True
    selector = [types.TextDocumentFilterPattern(f"{ls.session.pages.as_posix()}/*.md", scheme="file")]
    new: list[types.Registration] = []
    for feature in ls.page_features:
        _answer(ls, feature)
        if _can_register(ls, feature) and not _is_asked_anyway(ls, feature):
            new += _registrations({feature.method: feature.options(selector)})
    if new:
        await ls.client_register_capability_async(types.RegistrationParams(new))


def _is_asked_anyway(ls: RolecallServer, feature: Feature) -> bool:
    """Return whether *feature* is registered for every file."""
    registration = ls.registrations.get(feature.method)
    selector = getattr(registration and registration.register_options, "document_selector", None)
    return selector == [types.TextDocumentFilterScheme("file")]


async def _unregister(ls: RolecallServer, gone: Sequence[types.Registration]) -> None:
    if gone:
        ended = [types.Unregistration(each.id, each.method) for each in gone]
        await ls.client_unregister_capability_async(types.UnregistrationParams(ended))
        for each in gone:
            del ls.registrations[each.method]


async def _register(ls: RolecallServer, new: Sequence[types.Registration]) -> None:
    if new:
        for feature in ls.optional_features:
            if any(each.method == feature.method for each in new):
                _answer(ls, feature)
        await ls.client_register_capability_async(types.RegistrationParams(new))
        ls.registrations.update({each.method: each for each in new})


def _registrations(wanted: Mapping[str, object]) -> Iterator[types.Registration]:
    for method, options in wanted.items():
        yield types.Registration(f"rolecall-{next(_IDS)}", method, options)


def _answer(ls: RolecallServer, feature: Feature) -> None:
    """Answer the methods of *feature* from now on, while it is turned on."""
    known = cast("Mapping[str, Any]", ls.protocol.fm.features)  # pyright: ignore[reportUnknownMemberType]
    for method, handler in feature.handlers.items():
        if method not in known:
            ls.feature(method)(_while_on(feature, handler))


def _while_on(feature: Feature, handler: Handler) -> Handler:
    """Wrap *handler* so that it finds nothing while *feature* is turned off: a request may arrive just as the setting
    changes.
    """

    async def answer(ls: RolecallServer, params: Any) -> Any:
        document = getattr(params, "text_document", None)
        is_wanted = _is_on(ls, feature) or (document is not None and is_page(ls.session, document.uri))
        return await handler(ls, params) if is_wanted else None

    return answer


def _is_on(ls: RolecallServer, feature: Feature) -> bool:
    return bool(feature.setting and attrgetter(feature.setting)(ls.session.settings))


def _can_register(ls: RolecallServer, feature: Feature) -> bool:
    """Return whether the client can be told to begin and to stop sending requests of *feature*."""
    return bool(getattr(_capability(ls, feature), "dynamic_registration", False))


def _capability(ls: RolecallServer, feature: Feature) -> object | None:
    """Return the client's capability for the feature; ``None`` if the client says nothing of it."""
    found: object = ls.client_capabilities
    for name in feature.capability.split("."):
        found = getattr(found, name, None)
    return found


def _selector(feature: Feature, settings: NavigationSettings) -> Selector:
    if not settings.languages or not feature.by_language:
        return [types.TextDocumentFilterScheme("file")]
    return [types.TextDocumentFilterLanguage(language, scheme="file") for language in settings.languages]
