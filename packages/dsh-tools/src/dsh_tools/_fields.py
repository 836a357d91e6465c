"""A model of a function's parameters, for pydantic; no name can collide with its own."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from pydantic import ConfigDict, Field, create_model

from dsh_tools._errors import ToolDefinitionError
from dsh_tools._model import Validator, refused, validator_of
from dsh_tools._schema import Extra
from dsh_tools._signature import EMPTY, Parameter
from dsh_tools._typeddicts import portable


class SignatureValidator(NamedTuple):
    """Checks arguments against a signature and returns their values by parameter name."""

    schema: Mapping[str, Any]
    validator: Validator
    names: Sequence[str]

    def __call__(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Return the values of all parameters, the defaults among them.

        Raises:
            ToolArgsError: `INVALID_ARGS` with all violations, in the order of declaration.
        """
        model = self.validator(tree)
        return {name: getattr(model, f"p{n}") for n, name in enumerate(self.names)}


def signature_validator(
    fields: Sequence[Parameter], texts: Mapping[str, str], extra: Extra, *, coerce: bool
) -> SignatureValidator:
    """Return the validator of *fields*, described by *texts*.

    Raises:
        ToolDefinitionError: `INVALID_TOOL`, with the name of the parameter that is at fault.
    """
    definitions = {f"p{n}": _definition(each, texts) for n, each in enumerate(fields)}
    try:
        validator = _validator(definitions, extra, coerce=coerce)
    except ToolDefinitionError as error:
        alone = zip(fields, definitions.items(), strict=True)
        names = [repr(field.name) for field, each in alone if not _is_usable(dict([each]), extra)]
        text = f"parameter {', '.join(names)} cannot be described: {error}"
        raise ToolDefinitionError(text, cause=error) from error
    if len(validator.schema["properties"]) < len(fields):
        raise ToolDefinitionError("two parameters are shown under one name")
    return SignatureValidator(validator.schema, validator, [each.name for each in fields])


def _definition(parameter: Parameter, texts: Mapping[str, str]) -> Any:
    annotation: Any = portable(parameter.annotation)
    metadata: Sequence[Any] = ()
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
    # Why: ours comes first, so that what the author says in the annotation overrides it.
    own = Field(alias=parameter.name, description=texts.get(parameter.name) or None)
    described = Annotated[(annotation, own, *metadata)]
    return described if parameter.default is EMPTY else (described, parameter.default)


def _validator(definitions: Mapping[str, Any], extra: Extra, *, coerce: bool) -> Validator:
    config = ConfigDict(allow_inf_nan=False)
    try:
        model = create_model("Arguments", __config__=config, **definitions)
    except Exception as error:  # Why: pydantic has many ways to refuse a type
        raise refused(error) from error
    return validator_of(model, extra, coerce=coerce)


def _is_usable(definition: Mapping[str, Any], extra: Extra) -> bool:
    try:
        _validator(definition, extra, coerce=False)
    except ToolDefinitionError:
        return False
    return True
