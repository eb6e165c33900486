"""Admission webhooks: whom to ask about a write, how to ask them, and what their answers mean."""

from pocketkube.apiserver.admission.webhooks.calls import (
    Caller as Caller,
    Connect as Connect,
    Endpoint as Endpoint,
    over_network as over_network,
)
from pocketkube.apiserver.admission.webhooks.plugins import (
    MutatingWebhooks as MutatingWebhooks,
    ValidatingWebhooks as ValidatingWebhooks,
)
from pocketkube.apiserver.admission.webhooks.services import (
    Resolve as Resolve,
    by_endpoints as by_endpoints,
)
