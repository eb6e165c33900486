"""Writes that webhooks and policies have a say in: what is configured, what webhooks answer, what is written.

`test_webhook_agreement` puts every case before a real API server and before our plugins and compares. Each case sees only
objects that carry its name in the label `case`; `{case}` in a name stands for it.
"""
