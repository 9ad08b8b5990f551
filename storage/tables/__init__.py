"""The tables. Only `storage` itself sees these classes; callers get the values of `storage.values`."""

from storage.tables.base import Base, UtcDateTime, utc_now
from storage.tables.judging import DatasetItemRow, DatasetRow, JobRow, JudgeRow, PromotionRow, QuestionSideRow
from storage.tables.labels import ClaimRow, GoldRow, ItemRow, LabelRow, SourceRow, VerdictRow
from storage.tables.runs import EventRow, RunRow

__all__ = [
    "Base", "ClaimRow", "DatasetItemRow", "DatasetRow", "EventRow", "GoldRow", "ItemRow", "JobRow", "JudgeRow", "LabelRow",
    "PromotionRow", "QuestionSideRow", "RunRow", "SourceRow", "UtcDateTime", "VerdictRow", "utc_now",
]
