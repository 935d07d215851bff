"""Makes keys of a moto server: keeper.py PORT ALIAS."""
import sys

import boto3

port, alias = sys.argv[1:]
client = boto3.client(
    "kms",
    region_name="eu-west-1",
    endpoint_url=f"http://127.0.0.1:{port}",
    aws_access_key_id="AKIDEXAMPLE",
    aws_secret_access_key="sesame",
)
arn = client.create_key()["KeyMetadata"]["Arn"]
client.create_alias(AliasName=f"alias/{alias}", TargetKeyId=arn)
print(arn)
