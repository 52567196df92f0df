"""What all sections are made of."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
"""A name that becomes part of file names."""

DType = Literal["float32", "bfloat16", "float16"]


class Section(BaseModel):
    """Base of all sections: frozen; unknown keys and numbers that are not finite refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
