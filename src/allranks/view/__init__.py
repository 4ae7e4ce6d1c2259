"""The player and the quiz: plain JSON out of Python, drawn by custom elements in JavaScript."""
