"""The part of the Python guest that is written in Python. Snippets have no use for it; `dormouse` is for them."""
