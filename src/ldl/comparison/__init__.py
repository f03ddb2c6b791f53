"""Compares methods on one's own data, each with its settings chosen on training rows."""
