"""Entries under `models:`."""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.section import DType, Section


class _LocalModel(Section):
    dtype: DType = Field("float32", description="Precision in which the weights are held.")


class GgufModel(_LocalModel):
    """A GGUF file that an installed Python package carries; converted to safetensors once."""

    kind: Literal["gguf"]
    package: str = Field(description="Import name of the package; it is located, never imported.")
    file: str = Field(description="File name inside the package.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="Digest of the GGUF file.")
    digit_split: bool = Field(
        False, description="Restore the digit split that the GGUF tokenizer lost (SmolLM2)."
    )


class PackageModel(_LocalModel):
    """A model folder that an installed Python package carries."""

    kind: Literal["package"]
    package: str = Field(description="Import name of the package; it is located, never imported.")
    folder: str = Field(".", description="Folder of the model inside the package.")


class FolderModel(_LocalModel):
    """A model folder on this machine."""

    kind: Literal["folder"]
    path: str


class HubModel(_LocalModel):
    """A model on a hub, pinned to a commit; fetched once, safetensors only."""

    kind: Literal["hub"]
    id: str
    revision: str = Field(pattern=r"^[0-9a-f]{40}$", description="Full commit, never a branch.")


Model = Annotated[
    GgufModel | PackageModel | FolderModel | HubModel | EndpointModel,
    Field(discriminator="kind"),
]


def parse_model(raw: Any) -> GgufModel | PackageModel | FolderModel | HubModel | EndpointModel:
    """An entry of `models:` from its plain mapping, as a rule's params hold it."""
    return TypeAdapter(Model).validate_python(raw)
