"""Test kit of the product: builders for its kinds, suites of simulations, `korder up` as a child process."""
