"""Worlds for the runtime's tests: one per size, kept for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from allranks.runtime.world import World


@pytest.fixture(scope="session")
def world_of(ray_session: object) -> Iterator[Callable[[int], World]]:
    """Return a function that gives the shared World of a size."""
    del ray_session
    worlds: dict[int, World] = {}

    def of(size: int) -> World:
        if size not in worlds or worlds[size].closed:
            worlds[size] = World(size, timeout=20)
        return worlds[size]

    yield of
    for world in worlds.values():
        world.close()
