"""`python -m korder` is the command `korder`."""

from korder.cli.main import main

main()
