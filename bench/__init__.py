"""Speed beside public peers: ``make bench``. What is compared stands in ``comparisons.yaml``."""
