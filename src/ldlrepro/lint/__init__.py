"""Is this table possible? Rules over printed numbers, and nothing else; see docs/lint.md."""
