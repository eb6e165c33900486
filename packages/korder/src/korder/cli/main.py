"""The door of the command `korder`: nothing is imported before Ctrl-C has somewhere to go.

The imports behind it take a good part of a second, and a person who has changed their mind shall not see them unwind.
"""

import sys

INTERRUPTED = 130
"""What shells expect of a program that was interrupted."""


def main() -> None:
    """Runs the command line."""
    try:
        from korder.cli.command import run  # noqa: PLC0415  see above

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
