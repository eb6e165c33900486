"""Admission policies: what kube-apiserver decides by expressions, without asking anybody."""

from korder.embedded.apiserver.admission.policies.mutating import (
    MutatingPolicies as MutatingPolicies,
)
from korder.embedded.apiserver.admission.policies.validating import (
    ValidatingPolicies as ValidatingPolicies,
)
