"""Makes `bench` importable: it is no part of the package, and only `python -m bench` at the root finds it by itself."""

from pathlib import Path
import sys

sys.path.append(str(Path(__file__).parents[2]))
