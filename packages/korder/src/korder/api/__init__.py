"""The kinds of korder's four groups, and the constants that users meet. Pure."""
