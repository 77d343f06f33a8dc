"""Kinds of things and their siblings: rules, distances, formats, solvers, and so on.

A sibling is one class in one file. Its name, its parameters with their types, ranges, defaults and
help are read from the class itself, so that job files, the command line, the app, the docs and
messages about misspelt names need no list of their own::

    RULES: Registry[Rule] = Registry("rule", "tablecloak.tables.rules")

    @RULES.register
    @dataclass(frozen=True)
    class PPercent(Rule):
        "p% rule: unsafe if all but the two largest hold less than p % of the largest."

        name: ClassVar[str] = "p-percent"
        p: Annotated[float, Field(gt=0, le=100, description="Precision in per cent.")]
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from tablecloak.errors import InputError, suggestion
from tablecloak.extras import is_installed
from tablecloak.parameters import Parameter, parameters_of


class Named(Protocol):
    """What can be registered: a class with a name."""

    name: ClassVar[str]


T = TypeVar("T")
"""Base class of a kind; its members have a class variable `name`."""


class Registry(Generic[T]):
    """All siblings of one kind, by name.

    Parameters
    ----------
    noun : str
        What one of them is called in messages: "rule", "distance".
    home : str or tuple of str, optional
        Packages whose modules declare the siblings, or single modules that do. They are imported
        when a name is first looked up, so that a new file is found without being mentioned
        anywhere. A package that is not installed has no siblings.
    order : callable, optional
        Key by which siblings of a home package are listed; by default their names. Which of their
        modules happens to be imported first makes no difference.
    """

    def __init__(
        self,
        noun: str,
        home: str | tuple[str, ...] = (),
        order: Callable[[type[T]], Any] | None = None,
    ) -> None:
        self.noun = noun
        self._homes = (home,) if isinstance(home, str) else home
        self._order = order
        self._is_loaded = not self._homes
        self._loading = threading.RLock()
        self._siblings: dict[str, type[T]] = {}

    def register(self, sibling: type[T]) -> type[T]:
        """Add a class; use it as a decorator.

        Raises
        ------
        ValueError
            If its name is taken by another class: a mistake of the programmer.
        """
        name = getattr(sibling, "name", None)
        if not isinstance(name, str) or not name:
            raise ValueError(f"{sibling.__qualname__} needs a class variable `name`.")
        taken = self._siblings.get(name)
        if taken is not None and taken is not sibling:
            raise ValueError(f"The {self.noun} {name!r} is registered twice.")
        self._siblings[name] = sibling
        return sibling

    @contextmanager
    def including(self, sibling: type[T]) -> Iterator[type[T]]:
        """Add a class for a while, as tests and notebooks do."""
        self._load()
        self.register(sibling)
        try:
            yield sibling
        finally:
            self.forget(sibling.name)  # type: ignore[attr-defined]

    def forget(self, name: str) -> None:
        """Take a name out again; nothing happens if there is none."""
        self._siblings.pop(name, None)

    @property
    def names(self) -> list[str]:
        """All names, in the order of the registry; without a home in that of registration."""
        self._load()
        if not self._homes:
            return list(self._siblings)
        order = self._order or (lambda sibling: 0)
        return sorted(self._siblings, key=lambda name: (order(self._siblings[name]), name))

    def __iter__(self) -> Iterator[type[T]]:
        return iter([self._siblings[name] for name in self.names])

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._siblings

    def __getitem__(self, name: str) -> type[T]:
        """Return the class of a name; if a module has that name, it is the only one imported.

        Raises
        ------
        InputError
            With the likely name, or all names.
        """
        if name not in self._siblings:
            self._load_alone(name)
        if name not in self._siblings:
            self._load()
        if name not in self._siblings:
            near = suggestion(str(name), self._siblings)
            raise InputError(f"There is no {self.noun} {name!r}.{near}")
        return self._siblings[name]

    def summary(self, name: str) -> str:
        """Return the first line of the docstring: what a user reads about it."""
        return (inspect.getdoc(self[name]) or "").partition("\n")[0]

    def parameters(self, name: str) -> list[Parameter]:
        """Return the parameters of a sibling, in the order of its constructor."""
        return parameters_of(self[name])

    def model(self, name: str, key: str | None = None) -> type[BaseModel]:
        """Return a schema of the parameters, for job files and forms.

        Parameters
        ----------
        name : str
        key : str, optional
            Also ask for the name itself under this key, such as ``rule = "p-percent"``.
        """
        sibling: type[Any] = self[name]
        if key is None and issubclass(sibling, BaseModel):
            return sibling
        fields: dict[str, Any] = {
            each.name: (each.annotation, ... if each.is_required else each.default)
            for each in self.parameters(name)
        }
        if key is not None:
            fields = {key: (Literal[name], name), **fields}
        config = ConfigDict(
            extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True, strict=False
        )
        return create_model(
            self[name].__name__, __config__=config, __doc__=self.summary(name), **fields
        )

    def parse(self, given: T | str, base: type, asked: str) -> T:
        """Accept an instance, or the name of a class, which is built with its default parameters.

        Parameters
        ----------
        given : object or str
        base : type
            Base class of the kind.
        asked : str
            How a message about an unknown name begins: "`hold` is", "`intruders` names".

        Raises
        ------
        InputError
            For an unknown name, with the likely one.
        """
        if isinstance(given, base):
            return cast(T, given)
        if given not in self:
            raise InputError(f"{asked} {given!r}.{suggestion(str(given), self.names)}")
        return self.build(str(given))

    def build(self, name: str, **given: Any) -> T:
        """Check parameters against their types and ranges, and return the thing itself.

        Raises
        ------
        InputError
            Names the parameter, what was given, and what is allowed.
        """
        if not given and not any(each.is_required for each in self.parameters(name)):
            return self[name]()
        try:
            checked = self.model(name)(**given)
        except ValidationError as error:
            raise InputError(
                self._in_own_words(name, given) or self._readable(name, error)
            ) from None
        values = {each: getattr(checked, each) for each in type(checked).model_fields}
        return self[name](**values)

    def _in_own_words(self, name: str, given: dict[str, Any]) -> str:
        """Return the message of the class itself about parameters that it refuses."""
        try:
            self[name](**given)
        except InputError as error:
            return str(error)
        except Exception:
            return ""
        return ""

    def _readable(self, name: str, error: ValidationError) -> str:
        first = error.errors()[0]
        known = [each.name for each in self.parameters(name)]
        at = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            return f"The {self.noun} {name!r} has no parameter {at!r}.{suggestion(at, known)}"
        if first["type"] == "missing":
            return f"The {self.noun} {name!r} needs the parameter {at!r}."
        return f"{at} of the {self.noun} {name!r}: {first['msg']}. Got {first['input']!r}."

    def table(self) -> str:
        """Return all siblings with their parameters as a Markdown table, for the docs."""
        lines = [f"| {self.noun} | parameters | |", "|---|---|---|"]
        for name in self.names:
            parts = [
                f"`{each.name}`" + ("" if each.is_required else f" = {each.default!r}")
                for each in self.parameters(name)
            ]
            lines.append(f"| `{name}` | {', '.join(parts)} | {self.summary(name)} |")
        return "\n".join(lines)

    def _load_alone(self, name: str) -> None:
        """Import the module of the first home that has the name: all of them take seconds."""
        if self._is_loaded or not str(name).isidentifier():
            return
        with self._loading:
            module = next(filter(is_installed, (f"{home}.{name}" for home in self._homes)), None)
            if module is not None:
                importlib.import_module(module)

    def _load(self) -> None:
        if self._is_loaded:
            return
        with self._loading:
            for home in filter(is_installed, self._homes):
                package = importlib.import_module(home)
                for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
                    importlib.import_module(f"{home}.{module.name}")
            self._is_loaded = True
