"""Writes a page: Voilà's renderer with templates that are compiled once."""

from collections.abc import Mapping
from typing import Any

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from voila.notebook_renderer import NotebookRenderer


class CompiledTemplates(BytecodeCache):
    """Keeps compiled templates in memory: compiling them takes longer than writing a page."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the bucket its code, if it was compiled before."""
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the bucket's code."""
        self._code[bucket.key] = bucket.bytecode_to_string()


COMPILED = CompiledTemplates()


class PageRenderer(NotebookRenderer):  # type: ignore[misc]
    """Renders one notebook into one page, with what stands around it."""

    def __init__(self, surroundings: Mapping[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self._surroundings = surroundings

    async def initialize(self, **options: Any) -> None:
        """Read the notebook and make the exporter ready."""
        await super().initialize(**options)
        self.exporter.environment.bytecode_cache = COMPILED
        self.resources["around"] = self._surroundings
