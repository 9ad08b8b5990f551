"""Data sets of questions in their original formats, as one kind of value; and their gold evidence in a corpus.

    for question in open_dataset("hotpot_dev_distractor_v1.json"): ...
    found = map_evidence(questions, Corpus.open("corpus.jsonl.gz").passages())
    found.gold(question)        # answers and passage ids, as a run records them
"""

from trio_core.datasets.evidence_map import EvidenceMap, Unmapped, map_evidence
from trio_core.datasets.opening import Dataset, open_dataset
from trio_core.datasets.values import DatasetReport, Hop, Paragraph, Question

__all__ = ["Dataset", "DatasetReport", "EvidenceMap", "Hop", "Paragraph", "Question", "Unmapped", "map_evidence", "open_dataset"]
