"""Words for reasons, states, steps and metrics."""

from __future__ import annotations

REASONS = {
    "judge": "the judge called the evidence sufficient", "round_limit": "the limit of rounds was reached",
    "repeat": "the next query repeated an earlier one", "no_query": "the model wrote no usable query",
    "enough": "the model called its knowledge enough", "no_rounds": "this method does not search",
    "one_round": "this method searches once", "answered": "the model wrote its answer", "no_output": "the model wrote nothing usable",
    "fixed_point": "the next query repeated an earlier one, so nothing could change", "fork": "a person stopped it here",
    "proponent": "the moderator sided with the proponent: the evidence is enough", "no_action": "the opponent named no usable query",
    "plan_done": "every step of the plan is done", "step_failed": "a step of the plan could not be answered",
}
STATES = {
    "queued": "queued", "running": "live", "stopping": "stopping", "finished": "finished", "failed": "failed", "stopped": "stopped",
    "interrupted": "interrupted",
}
STEPS = {
    "query": "writing the next query", "judge": "judging the evidence", "answer": "writing the answer",
    "plan": "naming directions and sub-queries", "directions": "naming directions", "sub_queries": "writing sub-queries",
    "refine": "distilling the chunks into knowledge", "generate": "writing an answer", "generate_short": "writing an answer",
    "thought": "writing the next sentence", "candidates": "naming candidates", "support": "arguing for a candidate",
    "valid": "checking the case for a candidate", "rank": "comparing two cases", "reason": "reasoning", "extract": "reading the passages",
    "step": "thinking about the next step", "proponent": "arguing that the passages suffice", "opponent": "arguing that a fact is missing",
    "moderator": "deciding the debate", "answer_proponent": "answering from the passages", "answer_opponent": "answering from own knowledge",
    "define": "turning the step into a task", "solve": "answering the task", "aggregate": "putting answers together",
    "rewrite": "rewriting the question", "decompose": "taking the question apart", "disambiguate": "making the question unambiguous",
    "respond": "answering in this branch",
}
TURNS = {"user": "your turn", "server": "the model server's operator acts", "developer": "a fault of Trioscope, please report it"}
METRICS = {
    "em": ("EM", "equal to a gold answer after the SQuAD normaliser"),
    "em_careful": ("EM careful", "equal after a stricter normaliser: numbers stay numbers, Unicode folded"),
    "f1": ("F1", "token overlap, best over the gold answers; yes/no must be right"),
    "f1_squad": ("F1 SQuAD", "token overlap without the yes/no rule"),
    "precision": ("Precision", "share of the answer's tokens that the gold answer has"),
    "cover_sub": ("Cover substring", "a gold answer is a substring of the answer"),
    "cover_token_seq": ("Cover sequence", "a gold answer's tokens stand in the answer in order"),
    "cover_token_any": ("Cover any order", "a gold answer's tokens all occur in the answer"),
    "answer_tokens": ("Answer tokens", "length of the answer; a long answer covers much"),
}
