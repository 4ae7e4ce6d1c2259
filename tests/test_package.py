"""The package as its users import it: names, and what a function that mentions it may do."""

from __future__ import annotations

import importlib
from types import FunctionType

import pytest
from ray import cloudpickle

import allranks as ar


@pytest.mark.parametrize("name", ["schedule", "cost", "verify", "simulate", "algorithms"])
def test_a_function_keeps_its_name_although_a_room_has_the_same(name):
    importlib.import_module(f"allranks.{name}")
    assert isinstance(getattr(ar, name), FunctionType)


def test_every_public_name_exists():
    for name in ar.__all__:
        assert getattr(ar, name) is not None


def test_a_function_that_mentions_the_package_can_be_sent_to_a_rank():
    def function(_rank):
        return ar.ReduceOp.SUM

    assert cloudpickle.loads(cloudpickle.dumps(function))(0) is ar.ReduceOp.SUM


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'all_redcue'"):
        _ = ar.all_redcue
