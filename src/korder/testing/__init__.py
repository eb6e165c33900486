"""The public test kit: virtual time, builders, faults on the wire, real control planes."""
