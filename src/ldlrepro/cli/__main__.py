"""``python -m ldlrepro.cli``."""

import sys

from ldlrepro.cli import main

sys.exit(main())
