"""Admission of pods, orders, tickets and quotas, by webhooks or by policies."""
