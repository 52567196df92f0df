"""How a job's calls are made: where from, at what price and speed.

None of it can change a reply. So it reaches the jobs by the environment and not by the params of
their rules: a larger budget or another limit runs no finished stage again.
"""

from collections.abc import Mapping, MutableMapping

from pydantic import Field

from ctxaudit.config.endpoint import EndpointModel, Traffic
from ctxaudit.config.llm import LanguageModels
from ctxaudit.config.root import Config
from ctxaudit.config.section import Section

_VARIABLE = "CTXAUDIT_CALLING"


class Calling(Section):
    """What the configuration says of calls."""

    llm: LanguageModels = LanguageModels()
    traffic: dict[str, Traffic] = Field(default_factory=dict)


def to_environment(config: Config, environment: MutableMapping[str, str]) -> None:
    """Leave it to the jobs that will be started."""
    traffic = {
        name: model.traffic
        for name, model in config.models.items()
        if isinstance(model, EndpointModel)
    }
    environment[_VARIABLE] = Calling(llm=config.llm, traffic=traffic).model_dump_json()


def from_environment(environment: Mapping[str, str]) -> Calling:
    """What was left, or the defaults."""
    return Calling.model_validate_json(environment.get(_VARIABLE, "{}"))
