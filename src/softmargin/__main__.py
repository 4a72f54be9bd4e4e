"""``python -m softmargin`` is the command ``softmargin``."""

import sys

from softmargin.cli import main

sys.exit(main())
