"""Learning: exercises and their grader, quiz items and what their wrong answers mean.

This room judges data that comes out of another process, never objects that a learner's process
made. It knows no Ray.
"""
