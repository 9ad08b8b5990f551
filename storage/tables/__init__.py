"""The tables. Only `storage` itself sees these classes; callers get the values of `storage.values`."""

from storage.tables.annotation import (
    AdjudicationRow,
    CalibrationRow,
    GuidelineRow,
    ItemShownRow,
    QueueRuleRow,
    StateRow,
    VoteRow,
)
from storage.tables.base import Base, UtcDateTime, utc_now
from storage.tables.judging import DatasetItemRow, DatasetRow, JobRow, JudgeRow, PromotionRow, QuestionSideRow
from storage.tables.labels import ClaimRow, GoldRow, ItemRow, LabelRow, SourceRow, VerdictRow
from storage.tables.runs import EventRow, RunRow

__all__ = [
    "AdjudicationRow", "Base", "CalibrationRow", "ClaimRow", "DatasetItemRow", "DatasetRow", "EventRow", "GoldRow", "GuidelineRow",
    "ItemRow", "ItemShownRow", "JobRow", "JudgeRow", "LabelRow", "PromotionRow", "QuestionSideRow", "QueueRuleRow", "RunRow", "SourceRow",
    "StateRow", "UtcDateTime", "VerdictRow", "VoteRow", "utc_now",
]
