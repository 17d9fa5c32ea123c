"""A benchmark whose data somebody else publishes: its identity, its gold patches, and the frame of ``data check``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from runner.data.fields import one_line
from runner.data.source import DataFiles
from runner.harness._base.contract import DatasetInfo, Harness
from runner.harness._base.faults import faults_of
from runner.harness._base.gold_patches import GoldPatches, Patch, PatchReport, read_patches
from runner.types import Question, Scenario


class Published(Harness):
    """Base of such a benchmark. Subclasses write :meth:`verified`, :meth:`scenarios` and :meth:`counts`."""

    title: ClassVar[str]  # as its authors call it
    licence: ClassVar[str]
    # Ids of the published scenarios in their order, where another format of gold patches counts them.
    published_ids: ClassVar[Sequence[str]] = ()

    def verified(self) -> DataFiles:
        """Find the data (download it, if need be) and verify it; cheap the second time.

        Raises
        ------
        DatasetError
            When it is missing or not what is pinned.
        """
        raise NotImplementedError

    def scenarios(self) -> Iterator[Scenario]:
        """Yield every scenario as :meth:`read` gives it, before any gold patch."""
        raise NotImplementedError

    def counts(self) -> list[str]:
        """Return what ``data check`` prints of the data: counts and every trap met, one line each."""
        raise NotImplementedError

    def unasked(self) -> Collection[str]:
        """Return ids that a gold patch may name though a sample leaves them out; called only where a patch needs it."""
        return ()

    def scenario_ids(self) -> Sequence[str]:
        """Return the ids of the data's scenarios in their order, as :meth:`foreign_patch` takes them."""
        return self.published_ids

    @classmethod
    def foreign_patch(cls, where: str, entry: Mapping[str, Any], scenarios: Sequence[str]) -> Patch | None:
        """Read an entry of a gold patch that is in another format than the project's own; ``None``: it is not.

        Parameters
        ----------
        where
            The entry, for messages.
        entry
            As it was decoded.
        scenarios
            Ids in the order of the data.

        Raises
        ------
        DatasetError
            When it is in that format and not understood.
        """
        return None

    def patched(self, question: Question) -> Question:
        """Return a question whose gold was fixed by a patch, as the benchmark counts it.

        Raises
        ------
        DatasetError
            When the benchmark can have no such gold.
        """
        return question

    @cached_property
    def patches(self) -> GoldPatches:
        """The gold patches of the config, read once."""
        return read_patches(
            self.config.patches, lambda where, entry: self.foreign_patch(where, entry, self.scenario_ids())
        )

    @property
    def described(self) -> str:
        """:attr:`title`, with the part of the data where there are several."""
        return self.title

    def dataset(self) -> DatasetInfo:
        with faults_of(self.name):
            data, patches = self.verified(), self.patches.sha256
        return DatasetInfo(
            name=self.described,
            version=self.config.dataset.version,
            sha256=data.sha256,
            pinned=data.pinned,
            licence=self.licence,
            source=self.config.dataset.url or "",
            patches=patches,
        )

    def read(self) -> Iterator[Scenario]:
        return self.patches.applied(self.scenarios(), self.patched, self.unasked)

    def flags(self, question: Question) -> tuple[str, ...]:
        return self.patches.flags(question)

    def patch_report(self) -> PatchReport | None:
        if not self.config.patches:
            return None
        asked = ((question.id, question.category) for scenario in self.read() for question in scenario.questions)
        return self.patches.report(asked, self.comparable)

    def check(self) -> list[str]:
        for _ in self.checked_scenarios():  # what a run would refuse is refused here, before any count
            pass
        info = self.dataset()
        pinned = "as pinned" if info.pinned else "unpinned"
        with faults_of(self.name):
            report = self.patch_report()
            lines = [
                f"{info.name} {info.version}".strip() + f", sha256 {info.sha256} ({pinned}), {info.licence}",
                *self.counts(),
                *(report.lines() if report else ()),
            ]
        return [one_line(line) for line in lines]
