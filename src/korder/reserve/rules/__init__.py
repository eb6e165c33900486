"""What is right, as pure functions: instants and objects in, plans and verdicts out."""
