"""Finds the eyes in photographs that came without eye points, and writes them down with doubts."""
