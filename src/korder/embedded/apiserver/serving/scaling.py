"""The `scale` of an object: its replicas as an object of their own, for every kind that says where they stand.

The paths come from the strategy (`scale`): a definition names them, workloads have them by nature.
"""

from korder.embedded.apiserver.refusal import method_not_allowed
from korder.embedded.apiserver.serving.call import Answer, Call


async def answer(call: Call) -> Answer:
    """GET, PUT or PATCH of a scale."""
    raise method_not_allowed()
