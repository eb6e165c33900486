"""The wire to an API server: requests built without I/O, the client, watches, configuration, errors."""
