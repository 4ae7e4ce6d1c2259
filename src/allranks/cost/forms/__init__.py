"""The messages of every algorithm, one family a file, and the one table of them.

`allranks.cost.forms.base` says what a form is. A family file has a table `FORMS` of its own, with
one entry for each (collective, algorithm) that it knows; its line below makes it known here.
"""

from __future__ import annotations

from allranks.cost.forms import (
    all_to_all,
    bruck,
    chain,
    direct,
    double_tree,
    doubling,
    hierarchical,
    neighbor,
    nvls,
    pat,
    ring,
    sharp,
    tree,
)
from allranks.cost.forms.base import Form, Phase, Run, Shift, Stream

__all__ = ["FORMS", "Form", "Phase", "Run", "Shift", "Stream"]

FORMS: dict[tuple[str, str], Form] = {
    **direct.FORMS,
    **chain.FORMS,
    **tree.FORMS,
    **ring.FORMS,
    **neighbor.FORMS,
    **doubling.FORMS,
    **bruck.FORMS,
    **all_to_all.FORMS,
    **pat.FORMS,
    **double_tree.FORMS,
    **hierarchical.FORMS,
    **sharp.FORMS,
    **nvls.FORMS,
}
