"""Benchmarks: ratios inside one run, because the machines they run on are noisy."""
