"""Where a model's files lie on this machine."""

from __future__ import annotations

from pathlib import Path

from trio_core.errors import TrainingError


def local_folder(model: str) -> Path:
    """The folder of a model: the one named, or the hub's copy in the local cache; nothing is fetched. Raises TrainingError."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise TrainingError(f"{model!r} is no folder and not in this machine's model cache; give the folder of its files") from error
