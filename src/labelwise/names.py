"""Names that settings use, where nothing heavy need be loaded to know them."""

CLASSIFIER = "gp-classifier"  # the belief about 0/1 labels, unless another is named
