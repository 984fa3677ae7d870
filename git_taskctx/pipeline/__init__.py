"""The engine bound to a task: agents and checks as stages on the verified handoff, with everything on record."""
