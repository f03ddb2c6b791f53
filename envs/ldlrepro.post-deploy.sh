#!/usr/bin/env bash
# Run by Snakemake's --sdm conda after it made the environment: adds this checkout to it.
pip install --no-deps --no-build-isolation --editable packages/ldl --editable .
