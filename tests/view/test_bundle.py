from __future__ import annotations

import shutil
import subprocess

import pytest

from allranks.view.bundle import (
    bundle,
    elements,
    elements_in,
    page_script,
    stylesheet,
    widget_module,
    write,
)

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; it is a development tool"
)
FAKE_PAGE = """
globalThis.HTMLElement = class { addEventListener() {} };
const known = new Map();
globalThis.customElements = { get: (name) => known.get(name), define: (n, c) => known.set(n, c) };
const node = () => ({});
globalThis.document = { addEventListener() {}, createElement: node, createElementNS: node };
"""

DEFINED = "\nconsole.log([...known.keys()].sort().join(' '));"


def modules(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


def run(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [NODE, str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_node
def test_modules_are_joined_in_order_of_need(tmp_path):
    folder = modules(
        tmp_path,
        base="export const TWO = 2;\nexport async function later() { return TWO; }\n",
        middle='import { TWO as two } from "./base.js";\n'
        "export class Box { get() { return two; } }\n",
        main='import {\n  Box,\n} from "./middle.js";\nimport { later } from "./base.js";\n'
        "export function go() { return new Box().get(); }\n"
        "export default { go, later };\n",
    )
    text = f"const made = (function () {{\n{bundle(folder, 'main.js')}}})();\n"
    text += "made.default.later().then((two) => console.log(made.go() + two));"
    assert run(tmp_path, "joined.cjs", text) == "4"


@needs_node
def test_modules_of_a_folder_are_joined_too(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    modules(inner, one='import { two } from "../two.js";\nexport const three = two + 1;\n')
    (inner / "two.js").write_text("export const two = 40;\n", encoding="utf-8")
    folder = modules(
        tmp_path,
        two='import { two as forty } from "./inner/two.js";\nexport const two = forty + 2;\n',
        main='import { three } from "./inner/one.js";\nexport default { three };\n',
    )
    text = f"const made = (function () {{\n{bundle(folder, 'main.js')}}})();\n"
    assert run(tmp_path, "joined.cjs", text + "console.log(made.default.three);") == "43"


@needs_node
def test_the_page_script_is_one_classic_script_that_defines_the_elements(tmp_path):
    text = FAKE_PAGE + page_script() + DEFINED
    wanted = (
        "chunk-compose chunk-curve chunk-fit chunk-flow chunk-message chunk-plane chunk-ports "
        "chunk-quiz chunk-race chunk-trees"
    )
    assert run(tmp_path, "page.cjs", text) == wanted


@needs_node
def test_a_page_gets_the_elements_that_stand_on_it_and_no_others(tmp_path):
    page = '<chunk-quiz class="ar-quiz"></chunk-quiz><p>chunk-race</p><chunk-flow id="f">'
    names = elements_in(page)
    assert names == ("chunk-flow", "chunk-quiz")
    assert run(tmp_path, "page.cjs", FAKE_PAGE + page_script(names) + DEFINED) == " ".join(names)
    assert "ChunkCompose" not in page_script(names)
    assert len(page_script(names)) < 0.6 * len(page_script())


@needs_node
def test_the_entry_of_a_notebook_has_every_element_there_is(tmp_path):
    said = run(tmp_path, "page.cjs", FAKE_PAGE + page_script() + DEFINED)
    assert said.split() == elements()


@needs_node
def test_a_page_may_load_the_script_twice(tmp_path):
    again = "\ncustomElements.define = () => { throw new Error('twice'); };\n"
    text = FAKE_PAGE + page_script() + again + page_script() + "\nconsole.log('fine');"
    assert run(tmp_path, "twice.cjs", text) == "fine"


@needs_node
def test_the_notebook_module_has_a_default_export_with_render(tmp_path):
    (tmp_path / "widget.mjs").write_text(widget_module(), encoding="utf-8")
    text = FAKE_PAGE + ("import('./widget.mjs').then((m) => console.log(typeof m.default.render));")
    assert run(tmp_path, "use.cjs", text) == "function"


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ({"main": 'import { a } from "./main.js";\nexport const a = 1;\n'}, "imports itself"),
        ({"main": 'import { a } from "./gone.js";\n'}, "no such module"),
        ({"main": 'import { a } from "../main.js";\n'}, "no such module"),
        (
            {"main": 'import { b } from "./a.js";\n', "a": "export const a = 1;\n"},
            "does not export b",
        ),
        (
            {"main": 'import * as all from "./a.js";\n', "a": "export const a = 1;\n"},
            "cannot bundle",
        ),
        ({"main": "export let a = 1;\n"}, "cannot bundle"),
        ({"main": 'export { a } from "./a.js";\n', "a": "export const a = 1;\n"}, "cannot bundle"),
        ({"main": 'const a = await import("./a.js");\n'}, "not allowed"),
        ({"main": 'const a = eval("1");\n'}, "not allowed"),
        ({"main": 'fetch("https://example.org");\n'}, "not allowed"),
    ],
)
def test_what_the_bundler_does_not_know_is_an_error_that_names_the_file(tmp_path, texts, what):
    with pytest.raises(ValueError, match=what) as caught:
        bundle(modules(tmp_path, **texts), "main.js")
    assert "main.js" in str(caught.value)


def test_nothing_in_the_script_or_the_style_points_to_another_host():
    for text in (page_script(), widget_module(), stylesheet()):
        hosts = [line for line in text.splitlines() if "://" in line]
        assert [line for line in hosts if "www.w3.org/2000/svg" not in line] == []
        assert "@import" not in text
        assert "</script" not in text


def test_a_page_gets_two_files(tmp_path):
    write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["allranks.css", "allranks.js"]
