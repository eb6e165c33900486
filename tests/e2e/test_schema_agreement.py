"""The embedded server's schema engine against a real API server: same verdict, same words, same stored object."""

import asyncio
from copy import deepcopy
import json
from pathlib import Path
import random
import runpy
from typing import Any

import pytest
import yaml

from korder.api import manifests
from korder.embedded.apiserver import structural
from korder.kube.client import Client
from korder.net import http
from korder.testing.controlplane import ControlPlane

HERE = Path(__file__).parent
TABLE = runpy.run_path(str(HERE / "bad_objects.py"))
GENERATOR = runpy.run_path(str(HERE / "random_objects.py"))
LANES = 8
Answer = tuple[int, Any]
