"""LLVM IR as text: what is the same for whoever reads it, be it to raise a kernel or to run it as it is.

Takes the text of a module; gives its types, functions, variables, debug nodes and source positions, or the text edited.
Knows of no front end and no level above: who reads brings the meaning. Nothing is read before it is asked for.

Start reading at `syntax.py` and `layout.py` (instructions and types as data); `instruction_text.py` reads a function's
body, `module.py` a whole module, `metadata.py` the debug nodes, `debug_info.py` and `positions.py` what they say of
files and places, `reach.py` what a kernel refers to. `names.py` has the spelling of names; `text.py` reads pieces where
the text itself is edited, and `object_code.py` what machine code needs from outside.
"""
