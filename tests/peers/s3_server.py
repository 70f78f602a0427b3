"""s3_server.py - a real server of S3 (moto) that checks signatures, for s3_uploads.py and s3_shards.py."""
# SPDX-License-Identifier: Apache-2.0
import json
import os

import boto3
import requests
from moto.server import ThreadedMotoServer


def start(bucket):
    """A server with a bucket, its endpoint and a client; signatures count, and the environment has the credentials."""
    os.environ.update(AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host.replace('0.0.0.0', '127.0.0.1')}:{port}"
    own = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    iam = boto3.client("iam", endpoint_url=endpoint, **own)
    iam.create_user(UserName="tutti")
    iam.put_user_policy(UserName="tutti", PolicyName="all", PolicyDocument=json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
    key = iam.create_access_key(UserName="tutti")["AccessKey"]
    boto3.client("s3", endpoint_url=endpoint, **own).create_bucket(Bucket=bucket)
    requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=10)  # from here on signatures count
    os.environ.update(AWS_ACCESS_KEY_ID=key["AccessKeyId"], AWS_SECRET_ACCESS_KEY=key["SecretAccessKey"])
    return server, endpoint, client(endpoint, key["AccessKeyId"], key["SecretAccessKey"])


def client(endpoint, key, secret):
    return boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")
