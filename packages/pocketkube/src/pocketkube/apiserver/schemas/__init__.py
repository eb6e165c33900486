"""Schemas of custom resources and of their definitions, and CEL: pure rules about objects, in the server's words."""
