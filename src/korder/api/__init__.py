"""Nouns: types, quantities, selectors, plans and CRDs. Nothing here waits, reads a clock or opens a socket."""
