"""The client: requests built without I/O, sending and recovery, watches, configuration, errors."""
