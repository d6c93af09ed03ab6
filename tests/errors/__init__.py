"""Bad input, end to end: one clear diagnostic each, tested word for word."""
