"""Finds eyes in photographs without eye points, and writes them down with their doubts."""
