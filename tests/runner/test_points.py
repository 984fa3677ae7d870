"""The points of the three designs that the engine makes one, each with the tests that hold it."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

BUFFERED_WRITES = {
    "a task is isolated, without a clone or a snapshot": [
        "store:a_task_sees_the_seed_and_its_ancestors_only", "store:what_is_read_is_the_object_that_is_stored"],
    "the outputs are deterministic": ["schedules:a_random_graph_comes_to_the_same_end_everywhere"],
    "concurrency is safe": ["schedules:a_wide_graph_comes_to_the_same_end_every_time"],
    "the reader is read-only, without set_raw": [
        "store:a_reader_has_no_way_to_write", "store:nothing_changes_the_store_through_what_was_read"],
    "the writer is buffered, and prefixes": ["store:set_prefixes_and_set_global_does_not"],
    "drain_writes hands the buffer over": ["store:a_buffer_is_handed_over_once"],
    "only the buffer is merged, on completion, in dependency order": [
        "store:a_further_attempt_replaces_the_earlier_one", "store:the_last_in_the_order_counts_with_ties_by_id"],
    "no accidental overwrites": ["store:a_descendant_replaces_only_when_it_says_so"],
    "a failed task's outputs are dropped": ["dag:what_fails_fails_no_more_than_what_comes_after_it"],
    "stdout, stderr and exit_code of a command are still written": [
        "command_task:the_three_keys_are_there_whatever_the_code"],
    "edge case: set_global for keys without a prefix": ["store:set_prefixes_and_set_global_does_not"],
    "edge case: collisions are detected": [
        "store:two_unordered_writers_collide_at_the_first_join",
        "store:without_a_join_a_collision_is_found_at_the_end",
        "dag:a_collision_fails_the_first_join_and_is_named_in_the_result"],
    "edge case: logs are captured and emitted as events": ["command_task:output_goes_out_as_events"],
}  # fmt: skip

STAGE_REVIEW = {
    "1.2.1 handlers that set flags on the context work": ["old_handlers:attributes_that_are_set_become_flags"],
    "1.2.2 handlers that share context.output work": ["old_handlers:output_is_mirrored_under_both_names"],
    "1.2.3 stages without a return value lose nothing": [
        "old_handlers:what_is_changed_in_output_is_not_lost",
        "old_handlers:a_stage_that_returns_nothing_and_sets_nothing_brings_nothing"],
    "1.2.4 io and llm are shared by reference": [
        "stage:shared_resources_are_the_same_objects",
        "stage:a_shared_resource_does_not_reach_another_process"],
    "2.1 no stage overwrites unrelated fields": [
        "old_handlers:what_is_the_runners_cannot_be_set", "stage:a_flag_of_another_type_is_refused"],
    "2.2 what a stage must return is verified": ["stage:a_stage_cannot_skip_what_its_schema_requires"],
    "2.3 a retry clears the last error": [
        "stage:a_retry_clears_every_trace_of_the_last_error", "dag:a_failure_hands_back_to_where_it_says"],
    "2.4 listeners go in failures too": ["stage:what_a_stage_registers_is_released_when_it_fails"],
    "2.5 a status map, with the reason of a skip": [
        "dag:what_fails_fails_no_more_than_what_comes_after_it", "dag:a_second_run_skips_what_is_known"],
    "2.6 hashes of the state at each stage": [
        "dag:a_hash_is_over_definition_needs_and_own_writes",
        "dag:events_are_counted_and_timed_by_the_clock"],
    "3.1 a response of data, flags and logs": ["stage:a_response_goes_where_it_belongs"],
    "3.2 helpers for stages": ["stage:stage_context_makes_the_function_of_a_task"],
    "3.3 returned structures are validated": [
        "stage:all_violations_are_reported_at_once", "response_schema:it_agrees_with_jsonschema"],
    "3.4 old and new paths of the seed side by side": ["old_handlers:the_seed_is_found_under_both_names"],
    "3.5 clean-up in any case, and the final context is kept": [
        "stage:what_a_stage_registers_is_released_when_it_fails",
        "dag:the_final_context_is_kept_when_a_run_fails"],
}  # fmt: skip

HIERARCHICAL_CONTEXTS = {
    "it is typed": ["points:the_engine_is_typed"],
    "all tests pass": ["points:every_point_has_its_tests"],
    "parent chain: root, child, grandchild": ["execution_context:parent_chain"],
    "data is isolated, and made lazily": [
        "execution_context:each_exec_has_data_of_its_own",
        "execution_context:data_is_made_when_it_is_asked_for"],
    "input is isolated": ["execution_context:input_is_isolated"],
    "clean-ups run when the exec ends, once": [
        "execution_context:cleanups_run_when_the_exec_ends",
        "execution_context:nested_cleanups_run_inside_out_and_in_reverse",
        "execution_context:closing_twice_does_nothing"],
    "a closed child refuses; its data and parent stay": [
        "execution_context:a_closed_context_refuses", "execution_context:data_and_parent_stay_readable"],
    "an extension gets the child, with access to its parent": ["execution_context:an_extension_gets_the_child"],
    "concurrent execs do not race": [
        "execution_context:concurrent_execs_share_nothing",
        "execution_context:concurrent_coroutines_share_nothing"],
}  # fmt: skip

POINTS = [*BUFFERED_WRITES.items(), *STAGE_REVIEW.items(), *HIERARCHICAL_CONTEXTS.items()]


def test_every_point_has_its_tests() -> None:
    """Each is there, under its name, and asserts something."""
    for point, tests in POINTS:
        assert point
        for test in tests:
            file, name = test.split(":")
            tree = ast.parse((FOLDER / f"test_{file}.py").read_text())
            functions = [
                node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == f"test_{name}"
            ]
            assert len(functions) == 1, test
            asserts = [
                node
                for node in ast.walk(functions[0])
                if isinstance(node, ast.Assert)
                or (isinstance(node, ast.Attribute) and node.attr == "raises")
                or (isinstance(node, ast.Name) and node.id == "check")
            ]
            assert asserts, test


def test_the_review_has_fifteen_points() -> None:
    """Four risks, six observations, five recommendations."""
    assert [sum(point.startswith(part) for point in STAGE_REVIEW) for part in ("1.2.", "2.", "3.")] == [4, 6, 5]


def test_the_engine_is_typed() -> None:
    """The package says so to type checkers, and the gate runs mypy in its strict mode over it."""
    root = FOLDER.parents[1]
    assert (root / "git_taskctx" / "py.typed").exists()
    assert "strict = true" in (root / "pyproject.toml").read_text()
