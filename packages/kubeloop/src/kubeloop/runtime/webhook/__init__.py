"""The admission webhook server: reviews in, verdicts out, behind a certificate that renews itself."""
