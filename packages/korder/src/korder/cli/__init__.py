"""The command `korder`."""
