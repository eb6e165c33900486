"""The whole cluster on virtual time, with faults, replayable from a seed.

One seed gives one script (timed deeds) and one series of faults on the wire; they give one run, and that one journal. `testing` and
`cli` use it: tests look for broken promises, `korder simulate` answers what-if questions.

    world       simulate(Setup) -> Outcome: server, processes, script and auditor in one loop
    processes   start, crash, stop and resume, restart: each with an empty memory and a clock of its own
    wire, luck  a transport for each caller: delays, faults, crash points; every line of it in the journal
    auditing    told of every commit; invariants say what must never happen, and what must be true at rest
    telling     told of every commit too; tells what happened when, as values, JSON and a web page
"""
