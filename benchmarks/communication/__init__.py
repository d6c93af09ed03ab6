"""What programs on eight devices communicate in a step: Windlass, XLA alone, and what they must."""
