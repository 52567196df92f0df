"""The section `planning`."""

from typing import Literal

from pydantic import Field

from ctxaudit.config.section import Name, Section


class CorpusSize(Section):
    """What a corpus holds, stated."""

    num_documents: int = Field(ge=1)
    num_characters: int = Field(ge=1)


class Planning(Section):
    """What the `plan` target reckons with; nothing else reads it."""

    tokens_per_second: dict[Name, float] = Field(
        default_factory=dict, description="Forward speed per model; absent: hours are not shown."
    )
    generated_per_second: dict[Name, float] = Field(
        default_factory=dict, description="New tokens per second and model, batch included."
    )
    corpora: dict[Literal["retain", "forget"], CorpusSize] = Field(
        default_factory=dict, description="Used while the corpus file is absent."
    )
    num_examples: dict[Name, int] = Field(
        default_factory=dict,
        description="Examples per dataset or conflict type; used while its file is absent.",
    )
    query_tokens: int = Field(60, ge=1, description="Mean question; used while files are absent.")
    choice_tokens: int = Field(12, ge=1, description="Mean answer option; likewise.")
    num_pieces: int = Field(4, ge=1, description="Evidence pieces per instance; likewise.")
    piece_tokens: int = Field(150, ge=1, description="Mean evidence piece; likewise.")
    response_tokens: int | None = Field(
        None, ge=1, description="Mean response of the conflict study; null: max_new_tokens."
    )
    characters_per_token: float = Field(4.0, gt=0, description="Turns text into tokens.")
