"""Makes and rotates keys of a moto server: keeper.py PORT create ALIAS | rotate ARN."""
import sys

import boto3

port, verb, what = sys.argv[1:]
client = boto3.client(
    "kms",
    region_name="eu-west-1",
    endpoint_url=f"http://127.0.0.1:{port}",
    aws_access_key_id="AKIDEXAMPLE",
    aws_secret_access_key="sesame",
)
if verb == "create":
    arn = client.create_key()["KeyMetadata"]["Arn"]
    client.create_alias(AliasName=f"alias/{what}", TargetKeyId=arn)
    print(arn)
elif verb == "rotate":
    client.rotate_key_on_demand(KeyId=what)
