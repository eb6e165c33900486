"""Settings of the whole suite; fixtures come from korder.testing."""

from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=1_000)
