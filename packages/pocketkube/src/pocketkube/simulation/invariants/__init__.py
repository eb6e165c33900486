"""What is promised of API objects: one module per family, each with a few small invariants; `catalogue` lists them all."""
