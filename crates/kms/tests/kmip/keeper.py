"""Makes, revokes and destroys keys of a PyKMIP server: keeper.py PORT TESTDATA create NAME | revoke UID | destroy UID | get UID,
then all or two: the versions of KMIP that it speaks."""
import sys

from kmip.core import enums
from kmip.pie.client import ProxyKmipClient

port, testdata, verb, what, *versions = sys.argv[1:]
client = ProxyKmipClient(
    hostname="127.0.0.1",
    port=int(port),
    cert=f"{testdata}/client.pem",
    key=f"{testdata}/client.pem",
    ca=f"{testdata}/authority.pem",
    ssl_version="PROTOCOL_TLSv1_2",
    kmip_version=enums.KMIPVersion.KMIP_2_0 if "two" in versions else enums.KMIPVersion.KMIP_1_4,
)
with client:
    if verb == "create":
        masks = [enums.CryptographicUsageMask.ENCRYPT, enums.CryptographicUsageMask.DECRYPT]
        uid = client.create(enums.CryptographicAlgorithm.AES, 256, name=what, cryptographic_usage_mask=masks)
        client.activate(uid)
        print(uid)
    elif verb == "revoke":
        client.revoke(enums.RevocationReasonCode.CESSATION_OF_OPERATION, what)
    elif verb == "destroy":
        client.destroy(what)
    elif verb == "get":
        print(client.get(what).value.hex())
