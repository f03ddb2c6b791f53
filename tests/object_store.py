"""An S3 store of a test's own on loopback: moto's server, which keeps its objects in memory."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from tests.mlflow_server import free_port

BUCKET = "lab"
KEYS = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""Credentials that a client of S3 wants to have; moto looks at none of them."""


class ObjectStore:
    """A store with one bucket; it can go away and come back with what it holds."""

    def __init__(self) -> None:
        pytest.importorskip("moto.server", reason="moto is not installed; `make stores` brings it")
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._server: Any = None

    def start(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for every request
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        if self._server:
            self._server.stop()
        self._server = None

    def make_bucket(self) -> None:
        """Make the bucket anew; objects of an earlier test in this process go."""
        from moto.s3.models import s3_backends

        for account in s3_backends.values():
            for region in account.values():
                region.reset()
        self.client().create_bucket(Bucket=BUCKET)

    def client(self) -> Any:
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region_name=KEYS["AWS_DEFAULT_REGION"],
        )

    def objects(self, below: str = "") -> dict[str, bytes]:
        """Return the content of each object whose name begins so, by what follows."""
        client = self.client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=below)
        names = [item["Key"] for page in pages for item in page.get("Contents", [])]
        read = {name: client.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names}
        return {name.removeprefix(below): content for name, content in read.items()}


def without_proxies() -> dict[str, str]:
    """Return the environment with nothing between a client and loopback."""
    return {**os.environ, **KEYS, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
