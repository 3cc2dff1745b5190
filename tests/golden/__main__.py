"""Write golden files anew: `python -m tests.golden paths`, `... texts`, or both."""

import sys
import tempfile
from pathlib import Path

from tests.golden import texts, write

kinds = sys.argv[1:] or ["paths", "texts"]
if "paths" in kinds:
    write()
if "texts" in kinds:
    with tempfile.TemporaryDirectory() as folder:
        texts.write(Path(folder))
