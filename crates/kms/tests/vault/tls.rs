//! Vault over TLS: the authority is the caller's choice, and a certificate of another host or authority is refused.

use super::*;
use crate::tls_stub::{start as stub, testdata};

fn establish(address: String, authority: &str) -> Result<KeyMaterial, KeyError> {
    let variables = [
        ("VAULT_ADDR", address),
        ("VAULT_TOKEN", TOKEN.to_owned()),
        ("VAULT_CACERT", authority.to_owned()),
    ];
    let place = Places::new(Environment::of(variables))
        .provider(TRANSIT)
        .unwrap();
    place.establish(&context(1)).map(|(key, _)| key)
}

#[test]
fn a_server_of_the_given_authority_is_asked() {
    let stub = stub("server");
    let authority = testdata("authority");
    let (port, own) = (stub.address.port(), stub.address);
    assert!(establish(format!("https://{own}"), &authority).is_ok());
    assert!(establish(format!("https://localhost:{port}"), &authority).is_ok());
}

#[test]
fn certificates_of_other_hosts_and_authorities_are_refused() {
    let authority = testdata("authority");
    let told = |asked: Result<KeyMaterial, KeyError>, what: &str| {
        assert!(is_unavailable(&asked), "{asked:?}");
        let error = asked.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let elsewhere = stub("elsewhere");
    let address = format!("https://{}", elsewhere.address);
    told(establish(address, &authority), "another host's");
    let server = stub("server");
    let address = format!("https://{}", server.address);
    // The system's authorities do not know it.
    told(establish(address.clone(), ""), "");
    told(
        establish(address.clone(), &testdata("client")),
        "not trusted here",
    );
    told(establish(address.clone(), "missing.pem"), "cannot be read");
    told(
        establish(
            address,
            &format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR")),
        ),
        "no certificate",
    );
    assert_eq!(server.take_requests(), [""; 0], "no token left");
    // TLS where there is none.
    let plain = VaultStub::start();
    told(
        establish(format!("https://{}", plain.address), &authority),
        "",
    );
    assert!(!format!("{:?}", plain.take_requests()).contains("vault"));
}
