"""Quotas: limits and their time windows, whom they cover, what is used, and the ledger."""
