"""Beliefs that neural networks hold: functions f(x, z), one for each value of an index z."""
