"""Those who act on an API server, embedded or real: ordinary controllers on `runtime`."""
