"""The arena: every method on every public data set, under one protocol and with equal tuning."""
