"""The design-based answer: right by how rows were drawn, whatever the belief is.

A `draws.DrawRecord` gives `aipw.estimates`, one a draw; `intervals` are made of those.
"""
