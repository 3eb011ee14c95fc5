"""The one table of settings: what the server reads, what `package.json` offers, what `docs/settings.md` says."""

from __future__ import annotations

from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

Scope = Literal["machine", "resource"]
StrategyName = Literal["quick", "standard", "thorough"]


def _setting(
    default: object, description: str, *, scope: Scope = "resource", environment: str = "", **bounds: Any
) -> Any:
    """Return a field of the table.

    *scope* ``machine`` keeps a setting that names a program or an address out of a workspace's own files;
    *environment* names the variable that stands in when the setting is not given.
    """
    extra: dict[str, JsonValue] = {"scope": scope, "environment": environment}
    return Field(default, description=description, json_schema_extra=extra, **bounds)


class SettingGroup(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True)


class ModelSettings(SettingGroup):
    """The language model that answers."""

    name: str = _setting(
        "",
        "The model's name at its endpoint. Empty: the only model the endpoint offers.",
        scope="machine",
        environment="ROLECALL_MODEL",
    )
    base_url: str = _setting(
        "",
        "The address of an OpenAI-compatible endpoint, such as `http://localhost:11434/v1`; `editor:` for the editor's "
        "own models and no other. Empty: OpenAI's own.",
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
    probe_local: bool = _setting(
        True,
        "Where no model is named and the editor has none: use a model server on this machine (Ollama, LM Studio, "
        "llama.cpp, vLLM at their usual ports).",
        scope="machine",
        environment="ROLECALL_PROBE_LOCAL",
    )
    temperature: float | None = _setting(
        None, "How freely the model chooses its words. Not set: as the endpoint has it.", ge=0, le=2
    )
    top_p: float | None = _setting(
        None, "The share of likely words the model chooses from. Not set: as the endpoint has it.", gt=0, le=1
    )
    seed: int | None = _setting(None, "The same seed brings the same reply, where the endpoint heeds it.")
    timeout_seconds: float = _setting(600.0, "How long one reply may take, from request to last word.", gt=0)
    context_tokens: int = _setting(16_000, "How many tokens of your repository a role may be shown.", ge=500)
    reply_tokens: int = _setting(32_000, "How many tokens one reply may have, hidden reasoning included.", ge=100)
    tools: bool = _setting(
        True,
        "Let the Engineer and the QA Engineer look things up while they work: definitions, callers, a search, a test "
        "run. Off: they know what they are shown.",
    )
    prompt_price: float = _setting(
        0.0, "What a million tokens of a prompt cost, in your currency. 0: not known, or free.", ge=0
    )
    completion_price: float = _setting(
        0.0, "What a million tokens of a reply cost, in your currency. 0: not known, or free.", ge=0
    )


class RoleSettings(SettingGroup):
    """The settings of one role; what is not given is as in `rolecall.model`."""

    model: str | None = Field(default=None, description="The model's name, at the same endpoint.")
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    reply_tokens: int | None = Field(default=None, ge=100)
    prompt_price: float | None = Field(default=None, ge=0)
    completion_price: float | None = Field(default=None, ge=0)


_OF_A_ROLE = (
    "its own `model`, with its `promptPrice` and `completionPrice`, its `temperature`, `topP`, `seed` or "
    '`replyTokens`, such as `{"temperature": 0.2}`.'
)


class RolesSettings(SettingGroup):
    """The model that answers for each role, and its parameters."""

    product_manager: RoleSettings = _setting(RoleSettings(), f"The Product Manager: {_OF_A_ROLE}", scope="machine")
    architect: RoleSettings = _setting(RoleSettings(), f"The Architect: {_OF_A_ROLE}", scope="machine")
    project_manager: RoleSettings = _setting(RoleSettings(), f"The Project Manager: {_OF_A_ROLE}", scope="machine")
    engineer: RoleSettings = _setting(RoleSettings(), f"The Engineer: {_OF_A_ROLE}", scope="machine")
    qa_engineer: RoleSettings = _setting(RoleSettings(), f"The QA Engineer: {_OF_A_ROLE}", scope="machine")
    reviewer: RoleSettings = _setting(RoleSettings(), f"The Reviewer: {_OF_A_ROLE}", scope="machine")


class BudgetSettings(SettingGroup):
    """Limits of what models cost you; at one of them Rolecall stops and asks. 0 is no limit."""

    tokens_per_run: int = _setting(400_000, "Tokens that one run may use, sent and received. 0: no limit.", ge=0)
    calls_per_run: int = _setting(40, "Model calls that one run may make. 0: no limit.", ge=0)
    seconds_per_run: int = _setting(3600, "How long one run may keep asking a model. 0: no limit.", ge=0)
    tokens_per_day: int = _setting(0, "Tokens that all runs of a day may use, UTC. 0: no limit.", ge=0)
    money_per_run: float = _setting(
        0.0, "What one run may cost, by `rolecall.model.promptPrice` and `completionPrice`. 0: no limit.", ge=0
    )
    money_per_day: float = _setting(0.0, "What all runs of a day may cost, UTC. 0: no limit.", ge=0)


class ContextSettings(SettingGroup):
    """Things that a model is shown beside the code."""

    house_rules: Literal["committed", "always", "off"] = _setting(
        "committed",
        "Show roles the rules in `.rolecall/rules.md`, `AGENTS.md` and `CLAUDE.md`, and each role its own in "
        "`.rolecall/rules/`: as they were committed (its own also as you accepted them), whatever lies there, or not "
        "at all.",
        scope="machine",
    )


class ExperienceSettings(SettingGroup):
    """Earlier attempts: if they are kept, replayed and exported; all of it stays on this machine."""

    use: Literal["off", "keep", "replay"] = _setting(
        "off",
        "Keep how each attempt of the Engineer and the QA Engineer ended, beside the calls that are logged anyway: "
        "not at all; `keep`, to look at (`rolecall experience`) and to export; or `replay`, which also shows a role "
        "what worked and what failed at similar tasks of the same repository.",
        scope="machine",
        environment="ROLECALL_EXPERIENCE",
    )
    alpha: float = _setting(
        0.5,
        "How much the likelihood that a model gave its own reply counts in the order of what is replayed, beside the "
        "share of tests that passed: 0 to 1.",
        ge=0,
        le=1,
    )
    licences: str = _setting(
        "",
        "The licences of repositories whose experience `rolecall export` may write, by SPDX identifier and with "
        "commas: `MIT, Apache-2.0`; `none` for a repository that names no licence, as your own may. Empty: nothing is "
        "exported.",
        scope="machine",
        environment="ROLECALL_EXPORT_LICENCES",
    )

    @property
    def kept(self) -> bool:
        """Return whether attempts are kept."""
        return self.use != "off"


class TeamSettings(SettingGroup):
    """Ways of the team, and of one role, to work on a brief."""

    at_once: int = _setting(4, "How many roles and tasks may be at work at the same time.", ge=1)
    question_seconds: float = _setting(
        300.0, "How long a run waits for you to answer a question; then what was recommended holds.", ge=0
    )
    strategy: Literal["auto", "quick", "standard", "thorough"] = _setting(
        "auto",
        "How much work a run puts into getting a change right. `quick`, `standard` and `thorough` stand for values of "
        "other settings, which docs/craft.md lists; `auto` chooses one by how hard the work looks and by what your "
        "budget has left. A setting that you changed stays as it is.",
        environment="ROLECALL_STRATEGY",
    )
    repairs: int = _setting(
        3, "How often a change that does not work yet goes back to the model, with what failed.", ge=0, le=10
    )
    feedback: Literal["plain", "fitting"] = _setting(
        "fitting",
        "How a model that mends failing tests is told what failed: `plain`, by what the test says; or `fitting`, from "
        "the second attempt on also by values that lines computed, in the form that fits the failure, and then by a "
        "request to explain the code.",
    )
    plans: int = _setting(
        0,
        "How many plans the Engineer may state before it writes code for a brief; they are carried out, the surest "
        "first, until one works. 0: it writes code at once.",
        ge=0,
        le=3,
    )
    past_changes: int = _setting(
        0,
        "How many changes of this repository's history, those that were described most like a brief, the Engineer is "
        "shown with it.",
        ge=0,
        le=5,
    )
    doubt: bool = _setting(
        False,
        "Before a brief of up to one sprint is carried out: have up to three short solutions of it written (one more "
        "call of the model) and run behind walls; where they do different things, you are asked which one is wanted.",
        environment="ROLECALL_DOUBT",
    )


class TestSettings(SettingGroup):
    """Runs of your tests."""

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
        "then `VIRTUAL_ENV`, then `python3`. One that lies in the workspace is asked about before it is first used; an "
        "absolute path here is an answer.",
        scope="machine",
    )
    timeout_seconds: float = _setting(120.0, "How long one run of the tests may take.", gt=0)
    suite_seconds: float = _setting(
        60.0,
        "After how many seconds of a run no test begins that does not reach the change: those that do come first, and "
        "where all others fit as well, the whole suite runs. Where it is known to take longer, tests that were seen "
        "not to run the change count as others. 0: only tests that reach the change.",
        ge=0,
    )
    worth_seconds: float = _setting(
        30.0,
        "How long new tests are tried on faults put into the code, one at a time, to see which are worth keeping; as "
        "long again at most for tests that a model adds for faults that went unnoticed. 0: not at all.",
        environment="ROLECALL_WORTH_SECONDS",
        ge=0,
    )
    confinement: Literal["required", "off"] = _setting(
        "required",
        "Whether tests run only where they can be confined: without network, without your home directory, with "
        "limits on memory and processes. That needs Linux and bubblewrap. `off`: they run on a copy, as you.",
        scope="machine",
    )


class NavigationSettings(SettingGroup):
    """An editor's own questions about code that the graph answers."""

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


class ReviewSettings(SettingGroup):
    """Marks and lenses of proposals, and of what became of them, in the text."""

    code_lens: bool = _setting(
        True,
        "Show *accept*, *reject* and *diff* above each proposed hunk, and *what the model was told* above the first of "
        "a proposal, where the editor draws code lenses.",
    )
    test_lens: bool = _setting(
        False,
        "Show *generate tests* above functions and classes that no test calls, where the editor draws code lenses.",
    )
    symbol_lens: bool = _setting(
        False,
        "Show *tests* and *implement* above each function and class, and *callers* for an editor that draws the graph, "
        "where it draws code lenses.",
    )
    trace: Literal["off", "hover", "hoverAndLens"] = _setting(
        "hover", "Say where an accepted line came from: not at all, when you point at it, or also in a code lens."
    )

    @property
    def hover(self) -> bool:
        """Return whether pointing at an accepted line says where it came from."""
        return self.trace != "off"

    @property
    def trace_lens(self) -> bool:
        """Return whether a code lens says where an accepted line came from."""
        return self.trace == "hoverAndLens"

    @property
    def lenses(self) -> bool:
        """Return whether there is any code lens."""
        return self.code_lens or self.trace_lens or self.test_lens or self.symbol_lens


class ServerSettings(SettingGroup):
    """The start of the server by the VS Code client; other editors start it themselves."""

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


class Settings(SettingGroup):
    """Everything that can be set, complete."""

    model: ModelSettings = ModelSettings()
    roles: RolesSettings = RolesSettings()
    budget: BudgetSettings = BudgetSettings()
    context: ContextSettings = ContextSettings()
    experience: ExperienceSettings = ExperienceSettings()
    team: TeamSettings = TeamSettings()
    tests: TestSettings = TestSettings()
    navigation: NavigationSettings = NavigationSettings()
    review: ReviewSettings = ReviewSettings()
    server: ServerSettings = ServerSettings()

    def of_role(self, role: str) -> RoleSettings:
        """Return the settings that are different for *role* (``qa_engineer``)."""
        return cast("RoleSettings", getattr(self.roles, role, RoleSettings()))

    def for_role(self, role: str) -> Settings:
        """These settings with what is different for *role* in their place."""
        given = self.of_role(role).model_dump(exclude_none=True)
        named = {"name": given.pop("model")} if given.get("model") else {}
        return self.model_copy(update={"model": self.model.model_copy(update={**given, **named})})
