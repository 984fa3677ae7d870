"""What the chain must answer: a plain dictionary for each agent, and the rules of the handoff written once more."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from stateful.witness import Entries, Seen, Witness

Agent = dict[str, Any]
YES, NO, UNKNOWN = 0, 1, 3
FATAL, USAGE = 128, 129
FILE = b"tasks/the.task.yaml"
"""Where the task file lies, in runs that have one."""


@dataclass
class Task:
    """One context, as it must stand."""

    name: str
    id: str
    agents: tuple[str, ...]
    begun: Seen
    """The worktree at `init`."""
    witness: Witness
    owner: str = ""
    at_work: bool = True
    tenure: str = ""
    """The tree that the owner was handed."""
    start: str = ""
    """The tree when the owner started, or came back to work."""
    handed: int = 0
    """How many snapshots the owner had then."""
    head: str | None = None
    parent: str | None = None
    counted: set[Any] = field(default_factory=set)
    saved: list[str] = field(default_factory=list)
    findings: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Who found it, and whether it is open."""
    sealed: str | None = None
    captured: bytes | None = None
    """The task file as it was read; None where there was none."""
    seats: dict[str, Agent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.owner = self.agents[0]
        self.tenure = self.start = self.begun.tree
        self.head = self.parent = self.begun.head
        self.seats = {agent: {"taken": [], "done": None, "stale": False, "budget": 0} for agent in self.agents}

    def copy(self) -> Task:
        """Return a task to try something on."""
        other = copy.copy(self)
        other.seats = {agent: {**seat, "taken": list(seat["taken"])} for agent, seat in self.seats.items()}
        other.counted, other.saved, other.findings = set(self.counted), list(self.saved), dict(self.findings)
        return other

    # What follows from the state

    @property
    def expected(self) -> Seen | None:
        """The owner's last snapshot since it was handed the tree."""
        taken = self.seats[self.owner]["taken"]
        return taken[-1] if len(taken) > self.handed else None

    @property
    def settled(self) -> str:
        """The last tree on record for the owner."""
        return self.expected.tree if self.expected else self.tenure

    @property
    def blocked(self) -> bool:
        """Return whether a drift budget stands."""
        return any(seat["budget"] for seat in self.seats.values())

    @property
    def validated(self) -> bool:
        """Return whether every agent is done with the tree."""
        done = all(seat["done"] and not seat["stale"] for seat in self.seats.values())
        return done and self.owner == self.agents[-1] and not self.open() and not self.at_work

    def open(self, by: str | None = None) -> list[str]:
        """List the open findings, of one agent or of all."""
        return [name for name, (found, is_open) in self.findings.items() if is_open and by in (None, found)]

    def place(self, agent: str) -> int:
        """Return an agent's place in the order."""
        return self.agents.index(agent)

    def is_later(self, agent: str) -> bool:
        """Return whether `agent` comes after the owner."""
        return self.place(agent) > self.place(self.owner)

    def status(self, agent: str) -> str:
        """Return an agent's status."""
        if self.open(agent):
            return "blocked"
        if self.seats[agent]["done"]:
            return "done"
        return "in_progress" if agent == self.owner else "pending"

    def commit_entries(self, tree: str, parent: str | None) -> Entries:
        """Return what the task's commit must hold: the tree, but for dirt from before the task."""
        witness = self.witness
        begun, now, before = (witness.entries(one) for one in (self.begun.tree, tree, parent))
        dirt = {path for path in witness.changed(self.begun.head, self.begun.tree) if now.get(path) == begun.get(path)}
        held = {path: entry for path, entry in now.items() if path not in dirt}
        back = {path: before[path] for path in dirt if path in before}
        for path in [path for path in back if _is_in_the_way(path, held)]:
            del back[path]
            if path in now:
                back[path] = now[path]
        return held | back

    def is_committed(self) -> bool:
        """Return whether HEAD is the commit of the validated tree, where the task must sit."""
        head = self.witness.head()
        if self.blocked or not self.validated or self.expected is None or head in (None, self.parent):
            return False
        first = next(iter(self.witness.parents(str(head))), None)
        return first == self.parent and self.witness.entries(head) == self.commit_entries(
            self.expected.tree, self.parent
        )

    # Verdicts

    def verdict(self, seen: Seen, expect: str | None = None, *, strict: bool = False) -> int:
        """Return whether the worktree is as the snapshot has it."""
        expected = self.expected
        if expect not in (None, self.owner):
            expected = next(reversed(self.seats[str(expect)]["taken"]), None)
        elif self.at_work:
            return UNKNOWN
        if expected is None:
            return UNKNOWN
        same = self._is_same_tree(expected, seen) and _rest(expected) == _rest(seen)
        return YES if same and not (strict and expected.index_tree != seen.index_tree) else NO

    def count(self, seen: Seen, *, strict: bool = False) -> int:
        """Count a drift of the owner's snapshot, once per difference; return the verdict."""
        verdict = self.verdict(seen, strict=strict)
        if verdict == NO and self.expected is not None:
            staged = seen.index_tree if strict and seen.index_tree != self.expected.index_tree else None
            key = (seen.tree, seen.head, seen.operation, seen.hidden, staged)
            if key not in self.counted:
                self.counted.add(key)
                self.seats[self.owner]["budget"] += 1
        return verdict

    # Verbs: each returns the exit code, and changes the state only where that is 0

    def begin_to(self, agent: str, seen: Seen | None, note: bool) -> int:
        """`start --agent A [--take-over NOTE]`."""
        if self.blocked:
            return NO
        if agent == self.owner:
            if not self.at_work:
                self.at_work, self.start = True, self.settled
            return YES
        if self.place(agent) > self.place(self.owner) + 1:
            return NO
        if self.is_stale:
            return NO
        if seen is None:
            return FATAL
        if self.at_work:
            if self._is_unchanged(agent, seen):
                self._hand_over(agent, seen.tree)
                return YES
            return self._take_over(agent, seen) if note else NO
        if self.count(seen) != YES or (self.is_later(agent) and self.open(self.owner)):
            return NO
        self._hand_over(agent, seen.tree)
        return YES

    def snapshot(self, agent: str, seen: Seen | None, flags: set[str]) -> int:
        """`snapshot --agent A` with some of done, wip, allow-clean, attest."""
        if {"done", "wip"} <= flags:
            return USAGE
        if (self.blocked and "attest" not in flags) or ("done" in flags and self.is_stale):
            return NO
        if agent != self.owner and self.place(agent) > self.place(self.owner) + 1 and seen is not None:
            return NO
        if seen is None:
            return FATAL
        if agent != self.owner:
            if self.is_stale:
                return NO
            if self.at_work and not self._is_unchanged(agent, seen):
                return NO
            if not self.at_work and "attest" not in flags and self.count(seen) != YES:
                return NO
            if not self.at_work and self.is_later(agent) and self.open(self.owner):
                return NO
        tried = self.copy()
        if agent != self.owner:
            tried._hand_over(agent, self.settled if "attest" in flags and not self.at_work else seen.tree)
        if agent == self.agents[0] and "allow-clean" not in flags and seen.tree == self.begun.tree:
            return NO
        if "done" in flags and not tried.may_be_done(agent, seen.tree):
            return NO
        if tried.would_revert(seen):
            return NO
        tried.take(agent, seen, done="done" in flags, wip="wip" in flags)
        if "attest" in flags:
            tried.settle()
        self.__dict__.update(tried.__dict__)
        return YES

    def resolve(self, seen: Seen | None, *, accept: bool) -> int:
        """`resolve-drift --note N [--accept]`."""
        if self.at_work or (seen is not None and self.verdict(seen) == YES):
            return self.settle() if self.blocked else NO
        if seen is None:
            return FATAL
        if not accept:
            return NO
        replaced = self.settled
        for seat in self.seats.values():
            if seat["done"] == replaced != seen.tree:
                seat["stale"] = True
        self.take(self.owner, seen)
        return self.settle()

    def update(self, agent: str, status: str, seen: Seen | None) -> int:
        """`update --agent A --status S`."""
        if self.blocked:
            return NO
        if status != "done":
            return YES if status == self.status(agent) else NO
        seat = self.seats[agent]
        if seat["done"] and not seat["stale"] and not self.open(agent):
            return YES
        if agent != self.owner or self.is_stale:
            return NO
        if seen is None:
            return FATAL
        if self.verdict(seen) != YES or not self.may_be_done(agent, seen.tree):
            return NO
        if seat["done"] is None:
            seat.update(done=self.settled, stale=False)
        return YES

    def block(self, agent: str) -> str:
        """`block --agent A`: return the id of the finding."""
        name = f"F{len(self.findings) + 1}"
        self.findings[name] = (agent, True)
        self.seats[agent]["done"] = None
        return name

    def unblock(self, agent: str, name: str) -> int:
        """`unblock --agent A --finding F`."""
        if name not in self.findings:
            return FATAL
        if self.findings[name] != (agent, True):
            return NO
        self.findings[name] = (agent, False)
        return YES

    # Steps of the verbs

    def may_be_done(self, agent: str, tree: str) -> bool:
        """Return whether `done` would be given."""
        edits = agent == self.agents[-1] and len(self.agents) > 1 and tree != self.tenure
        earlier = [self.seats[name] for name in self.agents[: self.place(agent)]]
        return not self.open() and not edits and all(seat["done"] and not seat["stale"] for seat in earlier)

    def would_revert(self, seen: Seen) -> bool:
        """Return whether HEAD moved, and a path that changed there still holds the old content."""
        if seen.head == self.head:
            return False
        old, held = self.witness.entries(self.head), self.witness.entries(seen.tree)
        return any(held.get(path) == old.get(path) for path in self.witness.changed(self.head, seen.head))

    def take(self, agent: str, seen: Seen, *, done: bool = False, wip: bool = False) -> None:
        """Record a snapshot."""
        seat = self.seats[agent]
        seat["taken"].append(seen)
        if done:
            seat.update(done=seen.tree, stale=False)
        elif seat["done"] != seen.tree:
            seat["done"] = None
        for later in self.agents[self.place(agent) :]:
            if self.seats[later]["done"] not in (None, seen.tree):
                self.seats[later]["stale"] = True
        self.at_work, self.head = wip, seen.head

    def settle(self) -> int:
        """Put every budget back to nothing."""
        for seat in self.seats.values():
            seat["budget"] = 0
        self.counted.clear()
        return YES

    def rebuild(self, data: bytes) -> None:
        """Capture the task file anew; only another text counts."""
        if lasting(data) != lasting(self.captured):
            self.captured = data
            for seat in self.seats.values():
                seat["stale"] = seat["done"] is not None

    @property
    def is_stale(self) -> bool:
        """Return whether the task file holds another text than the captured one."""
        if self.captured is None:
            return False
        file = self.witness.repo.at(FILE)
        return lasting(file.read_bytes() if file.is_file() else None) != lasting(self.captured)

    def _is_same_tree(self, then: Seen, now: Seen) -> bool:
        if then.tree == now.tree or self.captured is None:
            return then.tree == now.tree
        old, new = (self.witness.entries(one.tree).get(FILE, ("", "")) for one in (then, now))
        if self.witness.changed(then.tree, now.tree) != {FILE} or old[0] != new[0]:
            return False
        texts = (self.witness.ask("cat-file", "blob", oid).encode() + b"\n" for _, oid in (old, new))
        return len({lasting(text) for text in texts}) == 1

    def _is_unchanged(self, agent: str, seen: Seen) -> bool:
        return not self.is_later(agent) and seen.tree == self.start and seen.head == self.head

    def _take_over(self, agent: str, seen: Seen) -> int:
        if (self.is_later(agent) and self.open(self.owner)) or self.would_revert(seen):
            return NO
        self.take(self.owner, seen)
        self._hand_over(agent, seen.tree)
        return YES

    def _hand_over(self, agent: str, tree: str) -> None:
        before = self.seats[self.owner]
        if self.is_later(agent):
            if self.expected is not None:
                before.update(done=self.settled, stale=False)
        else:
            before.update(done=None, stale=False)
        self.owner, self.at_work, self.tenure, self.start = agent, True, tree, tree
        self.handed = len(self.seats[agent]["taken"])
        self.seats[agent].update(done=None, stale=False)


def lasting(data: bytes | None) -> bytes | None:
    """Return a task file without the lines that may change while the task runs."""
    if data is None:
        return None
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith((b"status:", b"agent_")))


def _rest(seen: Seen) -> tuple[object, ...]:
    return seen.head, seen.operation, seen.hidden


def _is_in_the_way(path: bytes, held: Entries) -> bool:
    """Return whether `path` would be a folder and a file at once."""
    return any(other.startswith(path + b"/") or path.startswith(other + b"/") for other in held)
