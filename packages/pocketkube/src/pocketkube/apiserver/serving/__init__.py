"""The HTTP side of the API server: from a request to the resource it means, through the write path to an answer."""
