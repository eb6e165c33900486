"""Whether a run keeps what is promised: an auditor that reads only API objects, and the invariants it asks.

audit         the auditor within a run; `world` makes one
auditor       told of every commit, woken when something is due, asked at rest
invariant     what an invariant is; `punctual` for promises about time
invariants    those of pods and workloads; domains add theirs
view, rooms, recent     what the auditor remembers, so that a commit costs the same however many objects there are
"""
