"""Tables larger than memory: read piece by piece, in one pass, by as many workers as one has.

A `Source` is a list of pieces; a pass gives each of them to a function, on an engine, and joins
what comes back in the order of the pieces. Nothing here knows of beliefs or questions.
"""
