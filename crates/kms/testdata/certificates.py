import datetime, ipaddress, sys
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ExtendedKeyUsageOID as E
out = sys.argv[1]
begin, end = datetime.datetime(2020,1,1), datetime.datetime(2120,1,1)
name = lambda n: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, n)])
pem = lambda c: c.public_bytes(serialization.Encoding.PEM)
ca_key = ec.generate_private_key(ec.SECP256R1()); ca_name = name("HushDB test authority")
ca = x509.CertificateBuilder().subject_name(ca_name).issuer_name(ca_name).public_key(ca_key.public_key()).serial_number(1).not_valid_before(begin).not_valid_after(end).add_extension(x509.BasicConstraints(True, None), True).add_extension(x509.KeyUsage(False,False,False,False,False,True,False,False,False), True).add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), False).sign(ca_key, hashes.SHA256())
open(out+"/authority.pem","wb").write(pem(ca))
def leaf(file, san, serial):
    key = ec.generate_private_key(ec.SECP256R1())
    c = x509.CertificateBuilder().subject_name(name("HushDB test "+file)).issuer_name(ca_name).public_key(key.public_key()).serial_number(serial).not_valid_before(begin).not_valid_after(end).add_extension(x509.SubjectAlternativeName(san), False).add_extension(x509.ExtendedKeyUsage([E.SERVER_AUTH, E.CLIENT_AUTH]), False).add_extension(x509.BasicConstraints(False, None), True).add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), False).sign(ca_key, hashes.SHA256())
    open(out+"/"+file+".pem","wb").write(pem(c)+key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
leaf("server", [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")], 2)
leaf("elsewhere", [x509.DNSName("elsewhere.example")], 3)
leaf("client", [x509.DNSName("client.example")], 4)
