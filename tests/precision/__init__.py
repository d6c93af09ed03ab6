"""Tests of the room `precision`."""
