"""Admission: what may change or refuse a write after it was understood and before it is stored."""
