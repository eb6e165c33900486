"""Histories of arrivals and departures that schedulers are fed with, to see whether they agree."""
