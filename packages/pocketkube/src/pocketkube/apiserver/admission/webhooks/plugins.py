"""The two plugins that ask webhooks: mutating ones one after the other, validating ones all at once.

Part of the chain of `admission`. Configurations of admission itself are never sent to webhooks, so that a broken one can
be repaired. Of several refusals by validating webhooks the first in order is told, where a real server tells the first
that came.
"""

import asyncio
from collections.abc import Callable, Sequence

from pocketkube.apiserver import fielderrors, jsonpatch, refusal
from pocketkube.apiserver.admission import matching, reinvocation, reviews, revision
from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.expressions import Activation, Ask, Failed
from pocketkube.apiserver.admission.matching import Equivalents
from pocketkube.apiserver.admission.webhooks import answers, configuration
from pocketkube.apiserver.admission.webhooks.answers import Verdict
from pocketkube.apiserver.admission.webhooks.calls import Caller, CallFailed
from pocketkube.apiserver.admission.webhooks.configuration import Webhook
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.view import View

NewUid = Callable[[], str]
AskFor = Callable[[Attributes], Ask]
"""Makes the one who answers what the writer may do."""


class _Webhooks(Plugin):
    """What both have in common."""

    resource: str
    mutating: bool

    def __init__(
        self,
        view: View,
        caller: Caller,
        new_uid: NewUid,
        *,
        equivalents: Equivalents = matching.no_equivalents,
        ask_for: AskFor | None = None,
    ) -> None:
        self._view = view
        self._caller = caller
        self._new_uid = new_uid
        self._equivalents = equivalents
        self._ask_for = ask_for
        self._hooks = configuration.hooks(view, self.resource, equivalents)

    def _candidates(self, attributes: Attributes) -> Sequence[Webhook]:
        if attributes.resource.group == matching.GROUP:
            return ()
        return self._hooks.get().candidates(attributes)

    def _target(self, hook: Webhook, attributes: Attributes) -> Resource | None:
        """The resource as which a webhook is to see the write; None if it is not to see it."""
        target = hook.scope.target(attributes, self._equivalents)
        if target is None or not hook.scope.selects(attributes, self._view):
            return None

        def activation() -> Activation:
            ask = self._ask_for(attributes) if self._ask_for else None
            return Activation(attributes, target, ask=ask)

        try:
            holds = hook.conditions.hold(activation, ignore_failures=hook.ignore_failures)
        except Failed as failure:
            own = attributes.resource
            raise refusal.forbidden(own.plural, own.group, attributes.name, str(failure)) from None
        return target if holds else None

    async def _ask(self, hook: Webhook, target: Resource, attributes: Attributes) -> Verdict | None:
        """The answer of a webhook; None if it failed and that does not matter.

        Raises:
            Refused: it failed and that matters, or must not be asked.
        """
        if attributes.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
            name = fielderrors.quote(hook.name)
            raise refusal.bad_request(f"admission webhook {name} does not support dry run")
        uid = self._new_uid()
        try:
            review = answers.question(attributes, target, hook, uid)
            try:
                answer = await self._caller.ask(hook.place, review, hook.seconds)
            except CallFailed as failure:
                raise CallFailed(f"failed to call webhook: {failure}") from None
            return answers.verdict(answer, uid, hook.version, mutating=self.mutating)
        except CallFailed as failure:
            if hook.ignore_failures:
                return None
            name = fielderrors.quote(hook.name)
            raise refusal.internal(f"failed calling webhook {name}: {failure}") from None


class MutatingWebhooks(_Webhooks):
    """Webhooks that may change what is written."""

    resource = configuration.MUTATING
    mutating = True

    async def mutate(self, attributes: Attributes) -> None:
        candidates = self._candidates(attributes)
        if not candidates:
            return
        hearing = reinvocation.hearing(attributes, self.resource)
        hearing.open()
        for hook in candidates:
            target = self._target(hook, attributes)
            if target is None or not hearing.admits(hook.key):
                continue
            changed = await self._heard(hook, target, attributes)
            hearing.heard(hook.key, changed=changed, wants_more=hook.reinvoked)
        hearing.close()

    async def _heard(self, hook: Webhook, target: Resource, attributes: Attributes) -> bool:
        verdict = await self._ask(hook, target, attributes)
        if verdict is None:
            return False
        attributes.warnings.extend(verdict.warnings)
        if not verdict.allowed:
            raise answers.refusal(hook, verdict.status)
        if not verdict.patch:
            return False
        if attributes.object is None:
            name = fielderrors.quote(hook.name)
            raise refusal.internal(
                f"admission webhook {name} attempted to modify the object, "
                "which is not supported for this operation"
            )
        seen = reviews.as_version(attributes.object, attributes, target)
        try:
            changed, _ = revision.revise(attributes, jsonpatch.apply(seen, verdict.patch))
        except (jsonpatch.NotApplicable, Refused) as problem:
            raise refusal.internal(str(problem)) from None
        return changed


class ValidatingWebhooks(_Webhooks):
    """Webhooks that may refuse what is written."""

    resource = configuration.VALIDATING
    mutating = False

    async def validate(self, attributes: Attributes) -> None:
        chosen = [
            (hook, target)
            for hook in self._candidates(attributes)
            if (target := self._target(hook, attributes)) is not None
        ]
        if not chosen:
            return
        outcomes = await asyncio.gather(
            *(self._judge(hook, target, attributes) for hook, target in chosen)
        )
        refusals = []
        for warnings, refused in outcomes:
            attributes.warnings.extend(warnings)
            if refused is not None:
                refusals.append(refused)
        if refusals:
            raise refusals[0]

    async def _judge(
        self, hook: Webhook, target: Resource, attributes: Attributes
    ) -> tuple[Sequence[str], Refused | None]:
        try:
            verdict = await self._ask(hook, target, attributes)
        except Refused as refused:
            return (), refused
        if verdict is None:
            return (), None
        denied = None if verdict.allowed else answers.refusal(hook, verdict.status)
        return verdict.warnings, denied
