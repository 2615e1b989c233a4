"""Runs a command beside a server of S3, with a bucket, and with what names both in its environment."""

import logging
import os
import subprocess
import sys

import boto3
from moto.server import ThreadedMotoServer

os.environ |= {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
    "AKIN_TEST_CONTENTS": "s3://akin-tests/contents",
}
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
server.start()
host, port = server.get_host_and_port()
os.environ["AWS_ENDPOINT_URL_S3"] = f"http://{host}:{port}"
boto3.client("s3").create_bucket(Bucket="akin-tests")
code = subprocess.run(sys.argv[1:]).returncode
server.stop()
sys.exit(code)
