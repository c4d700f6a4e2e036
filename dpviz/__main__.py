"""``python -m dpviz`` is ``dpviz``."""

import sys

from dpviz.cli import main

sys.exit(main())
