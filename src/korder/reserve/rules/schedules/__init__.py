"""Cron expressions: which instants they name, in a time zone."""
