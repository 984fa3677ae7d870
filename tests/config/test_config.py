"""Configuration: the committed policy, personal settings on top of it, and where each value comes from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from git_taskctx.config import Config, flatten, load_config
from git_taskctx.config.committed import CommittedPolicy, find_in_pyproject, parse_file
from git_taskctx.config.keys import RULES, kinds
from git_taskctx.config.personal import Setting, personal_policy
from git_taskctx.errors import BadConfig
from git_taskctx.model.policy import (
    ChainPolicy,
    CommitPolicy,
    DriftPolicy,
    HooksPolicy,
    LifecyclePolicy,
    LimitsPolicy,
    Policy,
    ProofPolicy,
    QaPolicy,
    ScopePolicy,
    SecretsPolicy,
    StandardsPolicy,
    StandardsRule,
    TaskPolicy,
)
from git_taskctx.report.advice import advise

FILE = ".taskctx.toml"
LOCAL = "file:.git/config"
GLOBAL = "file:/home/u/.gitconfig"
GIVEN = "command line:"

EVERYTHING = b"""\
agents = ["maker", "checker"]
[task]
roots = ["work"]
require_status = ["ready"]
volatile = ["status"]
[chain]
may_edit = ["maker"]
distinct_actors = true
[standards]
require = true
[[standards.rule]]
area = "mobile"
priority = ["P0"]
file = "standards/ui.md"
sections = ["state"]
[scope]
outside = "block"
macros_file = "macros.json"
[scope.macros]
":ui" = ["mobile/**/*.{ts,tsx}"]
[qa]
default = ["make test"]
require = true
[qa.tier]
mobile = ["make mobile"]
[drift]
allowance = 2
strict = true
[commit]
require = "budget"
partial = true
allow_bypass = ["no-verify"]
[hooks]
fail_closed = true
pre_push = true
remote_seconds = 20
[proof]
scope = "every"
by_patch = true
require_signed = true
allowed_signers = "team/signers"
[limits]
context_kib = 32
enforce = true
[secrets]
allow_paths = ["tests/fixtures/**"]
[lifecycle]
archive_days = 30
"""

AS_POLICY = Policy(
    agents=("maker", "checker"),
    task=TaskPolicy(roots=("work",), require_status=("ready",), volatile=("status",)),
    chain=ChainPolicy(may_edit=("maker",), distinct_actors=True),
    standards=StandardsPolicy(True, (StandardsRule("standards/ui.md", ("state",), "mobile", ("P0",)),)),
    scope=ScopePolicy(outside="block", macros_file="macros.json", macros={":ui": ("mobile/**/*.{ts,tsx}",)}),
    qa=QaPolicy(default=("make test",), require=True, tier={"mobile": ("make mobile",)}),
    drift=DriftPolicy(allowance=2, strict=True),
    commit=CommitPolicy(require="budget", partial=True, allow_bypass=("no-verify",)),
    hooks=HooksPolicy(fail_closed=True, pre_push=True, remote_seconds=20),
    proof=ProofPolicy(scope="every", by_patch=True, require_signed=True, allowed_signers="team/signers"),
    limits=LimitsPolicy(context_kib=32, enforce=True),
    secrets=SecretsPolicy(allow_paths=("tests/fixtures/**",)),
    lifecycle=LifecyclePolicy(archive_days=30),
)


def load(toml: bytes | None = None, *personal: Setting, pyproject: bytes | None = None) -> Config:
    return load_config(
        taskctx_toml=toml, pyproject=pyproject, committed_name=".taskctx.toml at 1a2b3c4", personal=personal
    )


def test_every_key_is_read() -> None:
    """All keys of the model are read, and every key that the model has is one that the file may hold."""
    assert parse_file(EVERYTHING, FILE).policy == AS_POLICY
    assert {key for key, value in flatten(Policy()).items() if value == flatten(AS_POLICY)[key]} == set()


def test_an_empty_file_is_the_defaults() -> None:
    """Nothing said is the built-in policy."""
    assert parse_file(b"", FILE).policy == Policy()


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf" + EVERYTHING, EVERYTHING.replace(b"\n", b"\r\n")])
def test_bom_and_crlf(data: bytes) -> None:
    """A byte order mark and CRLF change nothing."""
    assert parse_file(data, FILE).policy == AS_POLICY


def test_flatten_is_plain_and_complete() -> None:
    """Every key stands by its dotted name, with values that JSON knows."""
    assert flatten(AS_POLICY) == {
        "agents": ["maker", "checker"],
        "task.roots": ["work"],
        "task.require_status": ["ready"],
        "task.volatile": ["status"],
        "chain.may_edit": ["maker"],
        "chain.distinct_actors": True,
        "standards.require": True,
        "standards.rule": [{"file": "standards/ui.md", "sections": ["state"], "area": "mobile", "priority": ["P0"]}],
        "scope.outside": "block",
        "scope.macros_file": "macros.json",
        "scope.macros": {":ui": ["mobile/**/*.{ts,tsx}"]},
        "qa.default": ["make test"],
        "qa.require": True,
        "qa.tier": {"mobile": ["make mobile"]},
        "drift.allowance": 2,
        "drift.strict": True,
        "commit.require": "budget",
        "commit.partial": True,
        "commit.allow_bypass": ["no-verify"],
        "hooks.fail_closed": True,
        "hooks.pre_push": True,
        "hooks.remote_seconds": 20,
        "proof.scope": "every",
        "proof.by_patch": True,
        "proof.require_signed": True,
        "proof.allowed_signers": "team/signers",
        "limits.context_kib": 32,
        "limits.enforce": True,
        "secrets.allow_paths": ["tests/fixtures/**"],
        "lifecycle.archive_days": 30,
    }


def test_every_key_has_a_rule() -> None:
    """The one table says for each key of the model which side is the stricter one."""
    assert set(RULES) == set(kinds())


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (b"[drift]\nalowance = 1", "unknown key drift.alowance", "did you mean drift.allowance?"),
        (b"[drft]\nx = 1", "unknown table drft", "did you mean drift?"),
        (b'"a\\u001bb" = 1', 'unknown key "a\\u001bb"', "git taskctx help   # CONFIGURATION lists every key"),
        (b"drift = 1", "drift: expected a table, found the number 1", None),
        (b"[drift]\nallowance = true", "drift.allowance: expected a whole number, found the boolean true", None),
        (b"[drift]\nallowance = '3'", 'drift.allowance: expected a whole number, found the string "3"', None),
        (b"[drift]\nallowance = 2026-01-01", "drift.allowance: expected a whole number, found a date or time", None),
        (b"[drift]\nallowance = -1", "drift.allowance: must be 0 or more, not -1", None),
        (b"[drift]\nstrict = 1", "drift.strict: expected true or false, found the number 1", None),
        (
            b"[commit]\nallow_bypass = ['all']",
            "commit.allow_bypass: 'all' is not one of attest, force-secrets, no-verify",
            None,
        ),
        (b"[limits]\ncontext_kib = 0", "limits.context_kib: must be 1 or more, not 0", None),
        (b"[scope]\noutside = 'wran'", "scope.outside: expected 'warn' or 'block', found the string \"wran\"", None),
        (b"[scope]\noutside = []", "scope.outside: expected 'warn' or 'block', found a list", None),
        (b"[scope.macros]\nui = ['a']", "scope.macros: 'ui' is not a macro name: write ':name'", None),
        (
            b"[scope.macros]\n':ui' = 'a'",
            'scope.macros.":ui": expected a table of lists of strings, found the string "a"',
            None,
        ),
        (b"agents = 'a'", 'agents: expected a list of strings, found the string "a"', None),
        (b"agents = ['a', 3]", "agents[1]: expected a string that is not empty, found the number 3", None),
        (b"agents = ['a', '']", 'agents[1]: expected a string that is not empty, found the string ""', None),
        (b"agents = []", "agents: must name 1 to 16 agents, not 0", None),
        (b"agents = ['a', 'b', 'a']", "agents: names 'a' twice", None),
        (
            b"agents = ['init']",
            "agents: 'init' cannot name an agent (a lower-case letter, then letters, digits and '-', 32 at most; "
            "init, saved, taskctx are reserved)",
            None,
        ),
        (
            b"[chain]\nmay_edit = ['revewer']",
            "chain.may_edit names 'revewer', which is not one of implementer, reviewer, validator",
            "did you mean reviewer?",
        ),
        (b"[task]\nroots = ['../x']", "task.roots: '../x' is not inside the worktree", None),
        (b"[task]\nroots = ['/etc']", "task.roots: '/etc' is not inside the worktree", None),
        (b"a = " + b"[" * 5000, "nested too deeply", None),
        (b"a = " + b"1" * 5000, "a number has too many digits", None),
        (b"agents = [0x" + b"f" * 5000 + b"]", "a number has too many digits", None),
        (b"#" * 262145, None, None),
    ],
)
def test_bad_policies(data: bytes, message: str | None, hint: str | None) -> None:
    """An error names the dotted key, what is expected and what was found, and the nearest known key."""
    with pytest.raises(BadConfig) as caught:
        parse_file(data, FILE)
    expected = f"{FILE}: {message}" if message else f"{FILE} has 262145 bytes, more than 262144"
    assert (caught.value.message, advise(caught.value).hint) == (expected, hint)


def test_too_many_agents() -> None:
    """Sixteen agents are the most."""
    names = [f"a{n}" for n in range(17)]
    assert parse_file(f"agents = {names[:16]}".encode(), FILE).policy.agents == tuple(names[:16])
    with pytest.raises(BadConfig, match="must name 1 to 16 agents, not 17"):
        parse_file(f"agents = {names}".encode(), FILE)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a = ", "1:5: "),
        (b"\r\na = [1,\r\n", "3:1: "),
        (b"x = 1\nx = 2", "2:6: "),
        (b"x = 1\ny = \xff", "2: not UTF-8"),
    ],
)
def test_bad_toml_has_a_place(data: bytes, place: str) -> None:
    """TOML that does not read is told with line and column."""
    with pytest.raises(BadConfig) as caught:
        parse_file(data, FILE)
    assert caught.value.message.startswith(f"{FILE}:{place}")


def test_pyproject() -> None:
    """`[tool.taskctx]` is read like the file; a project without it, or with other tools only, has no policy."""
    data = b"[tool.taskctx]\nagents = ['a']\n[tool.taskctx.drift]\nallowance = 1\n"
    assert find_in_pyproject(data, "pyproject.toml").policy == Policy(agents=("a",), drift=DriftPolicy(allowance=1))
    assert find_in_pyproject(b"[tool.ruff]\n", "pyproject.toml") is None
    assert find_in_pyproject(b"[project]\ndependencies = ['git-taskctx']\n", "pyproject.toml") is None
    assert find_in_pyproject(b"broken, but not ours", "pyproject.toml") is None
    with pytest.raises(BadConfig) as caught:
        find_in_pyproject(b"[tool.taskctx.drift]\nalowance = 1\n", "pyproject.toml")
    assert caught.value.message == "pyproject.toml: unknown key tool.taskctx.drift.alowance"
    with pytest.raises(BadConfig, match=r"tool\.taskctx: expected a table, found the number 1"):
        find_in_pyproject(b"[tool]\ntaskctx = 1\n", "pyproject.toml")


def test_the_file_wins_over_pyproject() -> None:
    """With both, `.taskctx.toml` holds and a warning says that the other does not, even where that is broken."""
    both = load(b"[drift]\nallowance = 1", pyproject=b"[tool.taskctx.drift]\nallowance = 2")
    assert both.policy.drift.allowance == 1
    assert both.warnings == ("[tool.taskctx] in pyproject.toml is ignored: .taskctx.toml at 1a2b3c4 is there",)
    assert load(b"", pyproject=b"[tool.ruff]\n# taskctx\n").warnings == ()
    assert load(b"", pyproject=b"taskctx [[ broken").warnings == ()
    alone = load(pyproject=b"[tool.taskctx.drift]\nallowance = 2")
    assert (alone.policy.drift.allowance, alone.origins["drift.allowance"]) == (2, "pyproject.toml at 1a2b3c4")


def test_origins() -> None:
    """Every key says where its value in force comes from: the default, the committed file, or git's own text."""
    config = load(
        b"[drift]\nallowance = 1\nstrict = false",
        ("taskctx.drift.allowance", "1", GLOBAL),
        ("taskctx.drift.strict", None, GIVEN),
        ("taskctx.limits.contextkib", "64", LOCAL),
        ("taskctx.actor", " Ada ", GLOBAL),
    )
    assert config.actor == "Ada"
    assert {key: origin for key, origin in config.origins.items() if origin != "default"} == {
        "drift.allowance": ".taskctx.toml at 1a2b3c4",
        "drift.strict": GIVEN,
        "limits.context_kib": LOCAL,
        "actor": GLOBAL,
    }
    assert set(config.origins) == {*flatten(config.policy), "actor", "lifecycle.on_complete"}


def test_personal_settings_change_defaults_freely() -> None:
    """What the team did not commit, a person sets to either side; git's spellings of values are read as git does."""
    config = load(
        None,
        ("taskctx.agents", "maker, checker", LOCAL),
        ("taskctx.task.requirestatus", "ready", LOCAL),
        ("taskctx.task.requirestatus", "doing", LOCAL),
        ("taskctx.chain.mayedit", "maker", LOCAL),
        ("taskctx.chain.distinctactors", "yes", LOCAL),
        ("taskctx.scope.outside", "block", LOCAL),
        ("taskctx.scope.macros.ui", "mobile/**/*.{ts,{js,jsx}},docs", LOCAL),
        ("taskctx.qa.default", "pytest -k 'a,b'", LOCAL),
        ("taskctx.qa.tier.mobile", "make mobile", LOCAL),
        ("taskctx.drift.allowance", "3", LOCAL),
        ("taskctx.limits.contextkib", "1k", LOCAL),
        ("taskctx.limits.enforce", "", LOCAL),
        ("taskctx.secrets.allowpaths", "a,b", LOCAL),
        ("taskctx.lifecycle.archivedays", "2", LOCAL),
    )
    assert config.warnings == ()
    assert config.policy == Policy(
        agents=("maker", "checker"),
        task=TaskPolicy(require_status=("ready", "doing")),
        chain=ChainPolicy(may_edit=("maker",), distinct_actors=True),
        scope=ScopePolicy(outside="block", macros={":ui": ("mobile/**/*.{ts,{js,jsx}}", "docs")}),
        qa=QaPolicy(default=("pytest -k 'a,b'",), tier={"mobile": ("make mobile",)}),
        drift=DriftPolicy(allowance=3),
        limits=LimitsPolicy(context_kib=1024),
        secrets=SecretsPolicy(allow_paths=("a", "b")),
        lifecycle=LifecyclePolicy(archive_days=2),
    )


def test_the_last_origin_counts() -> None:
    """Git names the most specific value last: it replaces a number, and a list as a whole."""
    config = load(
        None,
        ("taskctx.drift.allowance", "1", GLOBAL),
        ("taskctx.agents", "a,b", GLOBAL),
        ("taskctx.agents", "c", LOCAL),
        ("taskctx.agents", "d", LOCAL),
        ("taskctx.drift.allowance", "2", GIVEN),
    )
    assert (config.policy.agents, config.policy.drift.allowance) == (("c", "d"), 2)
    assert (config.origins["agents"], config.origins["drift.allowance"]) == (LOCAL, GIVEN)


STRICTER = [
    # key, committed as TOML, stricter (or equal) personal values, looser ones
    ("task.requireStatus", "['a', 'b']", ["a", "b,a"], ["c", "a,c", ""]),
    ("task.requireStatus", "[]", ["a", ""], []),
    ("task.volatile", "['a', 'b']", ["a", ""], ["c", "a,*"]),
    ("chain.mayEdit", "['implementer', 'reviewer']", ["reviewer", ""], ["validator"]),
    ("chain.distinctActors", "true", ["true"], ["false", "no", ""]),
    ("chain.distinctActors", "false", ["true", "false"], []),
    ("scope.outside", "'block'", ["block"], ["warn"]),
    ("scope.outside", "'warn'", ["block", "warn"], []),
    ("drift.allowance", "1", ["0", "1"], ["2"]),
    ("drift.strict", "true", ["on"], ["off"]),
    ("commit.require", "'snapshot'", ["snapshot", "validated"], ["budget"]),
    ("commit.partial", "true", ["true", "false"], []),
    ("commit.partial", "false", ["false"], ["true"]),
    ("commit.allowBypass", "['attest', 'no-verify']", ["no-verify", ""], ["attest,force-secrets"]),
    ("hooks.failClosed", "true", ["true"], ["false"]),
    ("limits.contextKib", "64", ["1", "64"], ["65", "1k"]),
    ("limits.enforce", "true", ["1"], ["0"]),
    ("secrets.allowPaths", "['a/**']", ["a/**", ""], ["b", "a/**,b"]),
    ("lifecycle.archiveDays", "14", ["14", "30"], ["13", "0"]),
    ("agents", "['implementer', 'validator']", ["implementer,validator"], ["validator,implementer", "implementer"]),
    ("task.roots", "['tasks', 'docs']", ["tasks,docs"], ["tasks", "src"]),
    ("qa.default", "['make']", ["make"], ["true", ""]),
    ("qa.require", "true", ["true"], ["false"]),
    ("qa.require", "false", ["true", "false"], []),
]


@pytest.mark.parametrize(("key", "committed", "stricter", "looser"), STRICTER)
def test_committed_keys_change_to_the_stricter_side_only(
    key: str, committed: str, stricter: list[str], looser: list[str]
) -> None:
    """A personal value that would loosen a committed key is left out and warned about; a stricter one holds."""
    dotted = {"".join(name.split("_")): name for name in kinds()}[key.lower()]
    toml = f"{dotted} = {committed}".encode()
    before = flatten(load(toml).policy)[dotted]
    setting = f"taskctx.{key.lower()}"
    for value in stricter:
        config = load(toml, (setting, value, LOCAL))
        assert config.warnings == ()
        assert (config.origins[dotted] == LOCAL) == (flatten(config.policy)[dotted] != before)
    for value in looser:
        config = load(toml, (setting, value, LOCAL))
        assert flatten(config.policy)[dotted] == before
        assert config.origins[dotted] == ".taskctx.toml at 1a2b3c4"
        (warning,) = config.warnings
        assert warning.startswith(f"taskctx.{key} = {value} ({LOCAL}) is ignored: .taskctx.toml at 1a2b3c4 sets ")


def test_what_a_warning_says() -> None:
    """A warning names the setting, its origin, the committed value and the rule."""
    config = load(
        b"[drift]\nallowance = 1\n[qa]\ndefault = ['x']\n[scope.macros]\n':ui' = ['a']\n",
        ("taskctx.drift.allowance", "2", LOCAL),
        ("taskctx.qa.tier.mobile", "true", GIVEN),
        ("taskctx.scope.macros.more", "b", LOCAL),
    )
    assert config.warnings == (
        "taskctx.drift.allowance = 2 (file:.git/config) is ignored: "
        ".taskctx.toml at 1a2b3c4 sets 1, and a personal setting may only be stricter",
        "taskctx.qa.tier.mobile = true (command line) is ignored: "
        ".taskctx.toml at 1a2b3c4 sets qa.default, and personal settings cannot change it",
        "taskctx.scope.macros.more = b (file:.git/config) is ignored: "
        ".taskctx.toml at 1a2b3c4 sets scope.macros, and personal settings cannot change it",
    )


@pytest.mark.parametrize(
    ("name", "value", "message", "hint"),
    [
        ("taskctx.drift.alowance", "1", "unknown key taskctx.drift.alowance", "did you mean taskctx.drift.allowance?"),
        (
            "taskctx.task.requirestate",
            "x",
            "unknown key taskctx.task.requirestate",
            "did you mean taskctx.task.requireStatus?",
        ),
        ("taskctx.acter", "x", "unknown key taskctx.acter", "did you mean taskctx.actor?"),
        (
            "taskctx.drift.allowance",
            "x",
            'taskctx.drift.allowance: expected a whole number, found the string "x"',
            None,
        ),
        ("taskctx.drift.allowance", None, "taskctx.drift.allowance: expected a whole number, found no value", None),
        ("taskctx.drift.allowance", "-1", "taskctx.drift.allowance: must be 0 or more, not -1", None),
        (
            "taskctx.drift.strict",
            "maybe",
            'taskctx.drift.strict: expected true or false, found the string "maybe"',
            None,
        ),
        ("taskctx.scope.outside", None, "taskctx.scope.outside: expected 'warn' or 'block', found no value", None),
        ("taskctx.agents", None, "taskctx.agents: expected a list of strings, found no value", None),
        ("taskctx.agents", "a,a", "taskctx.agents: names 'a' twice", None),
        ("taskctx.actor", None, "taskctx.actor: expected a name, found no value", None),
        (
            "taskctx.chain.mayedit",
            "tester",
            "chain.may_edit names 'tester', which is not one of implementer, reviewer, validator",
            None,
        ),
    ],
)
def test_bad_settings(name: str, value: str | None, message: str, hint: str | None) -> None:
    """An error about a personal setting names where git read it, and spells keys as git takes them."""
    with pytest.raises(BadConfig) as caught:
        load(None, (name, value, GIVEN))
    assert (caught.value.message, advise(caught.value).hint) == (f"command line: {message}", hint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, True), ("", False), ("TRUE", True), ("Yes", True), ("on", True), ("1", True), ("-1", True), ("1k", True),
     ("false", False), ("NO", False), ("off", False), ("0", False)],
)  # fmt: skip
def test_booleans_as_git_reads_them(text: str | None, expected: bool) -> None:
    """A key without a value is true, an empty one false, and any number but zero is true."""
    assert load(None, ("taskctx.drift.strict", text, LOCAL)).policy.drift.strict is expected


def test_personal_agents_must_fit_the_committed_rules() -> None:
    """A personal chain that lacks an agent of the committed `chain.may_edit` is an error that names both."""
    with pytest.raises(BadConfig) as caught:
        load(b"[chain]\nmay_edit = ['implementer']", ("taskctx.agents", "a,b", LOCAL))
    assert caught.value.message == (
        ".taskctx.toml at 1a2b3c4: chain.may_edit names 'implementer', which is not one of a, b"
    )


def test_nothing_committed_and_nothing_personal() -> None:
    """Without any file or setting, the defaults hold and no actor is known."""
    config = personal_policy([], CommittedPolicy())
    assert (config.policy, config.actor, set(config.origins.values()), config.warnings) == (
        Policy(),
        None,
        {"default"},
        (),
    )


def test_toml_is_imported_only_for_a_file() -> None:
    """A repository without a policy does not pay for the parser."""
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; from git_taskctx.config import load_config; "
        "load_config(taskctx_toml=None, pyproject=b'[tool.ruff]', committed_name='x', personal=[]); "
        "print(sorted({'tomllib', 'difflib', 'ruamel.yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 100_000 + " = 1",
        "[" + "a." * 100_000 + "a]",
        '"a"' + " . 'b'" * 40_000 + " = 1",
        "x = {" + "a." * 90_000 + "a = 1}",
    ],
    ids=["key", "table", "quoted", "inline"],
)
def test_a_key_of_many_parts_is_refused_at_once(text: str) -> None:
    """What would cost time by the square of its parts is not parsed; prose, versions and dots in strings are."""
    with pytest.raises(BadConfig, match="a key has more than 32 parts"):
        parse_file(f"agents = ['a']\n{text}\n".encode(), ".taskctx.toml")


def test_dots_that_are_no_key_are_read() -> None:
    """Strings and comments may hold as many as they like."""
    dots = "One. Two words. " * 40 + "." * 100 + " 1.2.3"
    text = f"# {dots}\n[standards]\nalways = [\"{dots}\", '''\n{dots}\n''']\n"
    with pytest.raises(BadConfig, match=r"standards\.always"):  # a key of no policy: it was read
        parse_file(text.encode(), ".taskctx.toml")
