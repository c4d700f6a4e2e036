"""Explainers: pages of controls, linked figures and a live sentence; one a module, found by folder."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpviz.explainers._base import Explainer
    from dpviz.explainers._gallery import Gallery

__all__ = ["find_explainers", "gallery"]


def find_explainers() -> dict[str, type[Explainer[Any, Any]]]:
    """Return every explainer by its name: the `Explainer` that each public module of this folder defines."""
    from dpviz.explainers._base import Explainer

    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = (
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Explainer) and value.__module__ == module.__name__
    )
    return {page.name: page for page in found}


def gallery(language: str = "en") -> Gallery:
    """Return the gallery of all explainers, to stand last in a notebook's cell."""
    from dpviz.explainers._gallery import Gallery

    return Gallery(language)
