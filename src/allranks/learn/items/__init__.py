"""The quiz items, one module per chapter. Every number in them is computed by the engine."""
