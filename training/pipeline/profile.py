"""What a pipeline run is made of: base model, questions, rollouts, and the settings of every step; profiles are YAML files."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from training.pipeline.rewards import RewardSettings
from trio_core.errors import SettingsError
from trio_core.values import Value

TINY = "tiny"
EngineKind = Literal["model", "server", "scripted"]


class BaseModelSettings(Value):
    """The backbone L, and the adapters on it."""

    model: str
    """A Hugging Face folder or name; `tiny` = made on the spot (no use but to check the chain)."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    lora_rank: int = Field(default=32, ge=1, le=256)
    lora_alpha: int = Field(default=64, ge=1)


class RolloutSettings(Value):
    """Who writes when no training does. `model` = the base model in this process, `server` = the engine of the app's settings,
    `scripted` = fixed rules (checks the chain only)."""

    agents: EngineKind = "server"
    """Answers for difficulty, votes and the query agent's reward."""
    debate: EngineKind = "server"
    parallel: int = Field(default=32, ge=1)
    """Calls at once."""


class QuestionSettings(Value):
    """Which questions, how difficult, and which set they go to."""

    sources: tuple[str, ...] = ("demo",)
    """`demo`, or files and folders of data sets (HotpotQA, 2Wiki, FlashRAG); the split `train` of a folder."""
    limit: int | None = Field(default=None, ge=1)
    """Most questions of a source, drawn by the seed."""
    rollouts: int = Field(default=20, ge=1)
    """Answers of the base model a question, from one search."""
    temperature: float = Field(default=1.0, gt=0, le=2)
    easy_from: float = Field(default=0.1, ge=0, le=2)
    """From this share of right answers on a question is easy and dropped (above 1: none is). R1-Searcher (arXiv 2503.05592), which
    TRIO follows, tells easy, medium and hard apart by how many rollouts (of up to 20) a right answer takes: fewer than 10, 10 to
    20, more. A success share of 0.1 is one right answer in ten rollouts; none in 20 is hard."""
    hard_below: float = Field(default=0.05, ge=0, le=1)
    """Below this share it is hard."""
    split: Literal["difficulty", "random"] = "difficulty"
    """`difficulty`: Q1 = hard, Q2 = medium (Algorithm 1, line 1). `random`: medium and hard ones into both (section 3.2)."""
    q1_share: float = Field(default=0.5, gt=0, lt=1)
    """Of a random split."""


class DebateSettings(Value):
    """The retrieval debate (appendix C)."""

    rounds: int = Field(default=3, ge=1, le=3)
    top_k: int = Field(default=5, ge=1, le=100)
    temperature: float = Field(default=0.7, ge=0, le=2)
    max_query_words: int = Field(default=16, ge=1)


class GrpoSettings(Value):
    """GRPO. The paper's batch of 512 is read as completions: 32 prompts (its rollout batch) with 16 rollouts each."""

    prompts_per_step: int = Field(default=32, ge=1)
    num_generations: int = Field(default=16, ge=2)
    micro_batch: int = Field(default=16, ge=1)
    """Completions in one forward pass."""
    learning_rate: float = Field(default=1e-6, gt=0)
    beta: float = Field(default=1e-4, ge=0)
    """Weight of the KL term."""
    temperature: float = Field(default=1.0, gt=0, le=2)
    max_completion: int = Field(default=64, ge=1)
    """Tokens."""
    max_prompt: int = Field(default=6144, ge=16)
    """Tokens; longer samples are left out and counted, never cut."""
    epochs: float = Field(default=1.0, gt=0)
    max_steps: int | None = Field(default=None, ge=1)
    save_steps: int = Field(default=20, ge=1)
    vllm: Literal["no", "colocate", "server"] = "no"
    """Rollouts of the policy by vLLM, as TRL runs it."""
    report_to: tuple[str, ...] = ()
    """TRL's reporters: trackio, wandb, tensorboard; each must be installed."""


class AnswerStage(Value):
    """One stage of the answer agent's training."""

    top_k: int = Field(ge=1)
    """Passages of each query that the agent reads."""
    samples: int | None = Field(default=None, ge=1)
    grpo: GrpoSettings = GrpoSettings()


class AnswerSettings(Value):
    """Stage 1: EM and precision, top 3; stage 2: EM and F1, top 5."""

    reward: RewardSettings = RewardSettings()
    stage1: AnswerStage = AnswerStage(top_k=3)
    stage2: AnswerStage = AnswerStage(top_k=5)


class QuerySettings(Value):
    """The query agent's training."""

    top_k: int = Field(default=5, ge=1)
    samples: int | None = Field(default=10_000, ge=1)
    max_words: int = Field(default=8, ge=1)
    """The paper's limit of a query."""
    invalid_reward: float = Field(default=-1.0, ge=-2, le=0)
    """Reward of an output that is no valid query; ours: as bad as the worst valid one."""
    grpo: GrpoSettings = GrpoSettings()


class JudgeSettings(Value):
    """The judge's labels and SFT."""

    pools: Literal["debate", "single", "both"] = "debate"
    """Section 3.4 says debate snapshots, Algorithm 1 line 6 the single searches; 49,785 candidates exceed both sets' GRPO samples."""
    votes: int = Field(default=16, ge=2, le=64)
    temperature: float = Field(default=1.0, gt=0, le=2)
    learning_rate: float = Field(default=1e-4, gt=0)
    epochs: float = Field(default=1.0, gt=0)
    batch_size: int = Field(default=32, ge=1)
    class_balance: Literal["none", "weights", "sampling"] = "weights"
    """The votes give about four insufficient pools for a sufficient one."""
    max_tokens: int = Field(default=6144, ge=16)


class ServingSettings(Value):
    """How the agents leave the pipeline."""

    merge: bool = False
    """Also a merged checkpoint for each agent, as large as the base model each."""


class CostSettings(Value):
    """GPU seconds a sample, for the estimate before anything was measured (a run's own manifests take precedence)."""

    gpu: str = ""
    answer_stage1_s: float = 0.0
    answer_stage2_s: float = 0.0
    query_s: float = 0.0
    judge_s: float = 0.0
    source: str = ""


class PipelineProfile(Value):
    """All settings of a run; it is written into the run's folder and never changes there."""

    name: str
    about: str = ""
    seed: int = 13
    base: BaseModelSettings
    corpus: str = "demo"
    """Corpus of the words-based retriever; empty = the retriever of the app's settings."""
    rollouts: RolloutSettings = RolloutSettings()
    questions: QuestionSettings = QuestionSettings()
    debate: DebateSettings = DebateSettings()
    answer: AnswerSettings = AnswerSettings()
    query: QuerySettings = QuerySettings()
    judge: JudgeSettings = JudgeSettings()
    serving: ServingSettings = ServingSettings()
    cost: CostSettings = CostSettings()


@lru_cache
def profile_names() -> tuple[str, ...]:
    """Names of the bundled profiles."""
    files = resources.files("training.pipeline").joinpath("profiles").iterdir()
    return tuple(sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml")))


def load_profile(name: str, changes: dict[str, Any] | None = None) -> PipelineProfile:
    """A bundled profile, or a YAML file of the same form, with `changes` by dotted key. Raises SettingsError."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else None
    if path is None and name not in profile_names():
        raise SettingsError(f"there is no training profile {name!r}; give one of {', '.join(profile_names())}, or a .yaml file")
    source = path or resources.files("training.pipeline").joinpath("profiles", f"{name}.yaml")
    try:
        data = yaml.safe_load(source.read_text(encoding="utf-8"))
        for key, value in (changes or {}).items():
            _put(data, key.split("."), value)
        return PipelineProfile.model_validate(data)
    except (OSError, yaml.YAMLError, UnicodeDecodeError, TypeError, AttributeError) as error:
        raise SettingsError(f"training profile {name!r} cannot be read as YAML with sections: {error}") from error
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))} = {e['input']!r}: {e['msg']}" for e in error.errors())
        raise SettingsError(f"training profile {name!r}: {told}") from error


def _put(data: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
    data[keys[-1]] = value
