"""Verdicts on commits, from raw commits, trees and records alone.

Nothing above the ledger is imported here: a proof never reads the worktree.
"""
