"""What happened when, told from the changes of a run: small, pure, and never larger for a longer run.

chronicle   is told of every commit and tells a Timeline
timeline    what is told: workloads, waits, happenings, use, promises
report      a run and its timeline as JSON
page        the same as a web page
"""
