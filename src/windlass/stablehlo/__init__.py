"""The door between the tensor level and StableHLO, through jaxlib's MLIR.

`import_text`, `import_bytecode` and `import_module` take StableHLO and give a `windlass.ir.Module`; what Windlass does
not know is kept as it is. `export_text`, `export_bytecode` and `export_module` go the other way; what they give has
passed MLIR's verifier. `screen` refuses what would crash XLA. `TensorProgram` is a finished program as one
operation of JAX; `optimize`, `differentiate` and `run` take programs as text.

Start reading at `importing.py` and `exporting.py`.
"""

# Before jaxlib, as it says how much XLA logs.
import jax  # noqa: F401  # pyright: ignore[reportUnusedImport]

from windlass.stablehlo import differentiating as differentiating  # registers the derivatives of programs
from windlass.stablehlo.exporting import export_bytecode, export_module, export_text, function_text
from windlass.stablehlo.importing import import_bytecode, import_module, import_text
from windlass.stablehlo.program import TensorProgram
from windlass.stablehlo.running import explain, optimize, run
from windlass.stablehlo.screening import screen
from windlass.stablehlo.text_derivatives import differentiate

__all__ = [
    "TensorProgram",
    "differentiate",
    "explain",
    "export_bytecode",
    "export_module",
    "export_text",
    "function_text",
    "import_bytecode",
    "import_module",
    "import_text",
    "optimize",
    "run",
    "screen",
]
