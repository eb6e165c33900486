"""Admission policies: what kube-apiserver decides by expressions, without asking anybody."""

from pocketkube.apiserver.admission.policies.mutating import MutatingPolicies as MutatingPolicies
from pocketkube.apiserver.admission.policies.validating import (
    ValidatingPolicies as ValidatingPolicies,
)
