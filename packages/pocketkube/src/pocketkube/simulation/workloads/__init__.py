"""Realistic traffic from one seed: what users, machines and fate do to a cluster, as steps of a script.

Everything here is pure: chance is handed in, steps come out, nothing is run. `traffic` is the door; `troubles` can
be used alone, by whoever writes a script of its own.
"""
