"""What is typed on both sides of a comparison: commands of kubectl, in words of a shell, and the files they read.

Each script runs in a namespace of its own, NAMESPACE. A command that starts with `~` is repeated until it succeeds, and not compared.
"""
