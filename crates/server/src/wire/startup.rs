//! The first packet of a connection: a wish for TLS, a cancel, or who wants to talk to which database.

use super::body::Body;
use crate::violation::Violation;

const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;

/// What a first packet asks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FirstPacket {
    /// TLS, before anything else is said.
    Tls,
    /// Encryption by Kerberos, which is answered with no.
    Gss,
    /// To cancel what a session runs.
    Cancel { session: u32, secret: u32 },
    /// A session.
    Startup(Startup),
}

/// Who wants a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Startup {
    pub(crate) user: String,
    /// The user's name where none is given.
    pub(crate) database: String,
    /// Settings, in the order in which they are given.
    pub(crate) settings: Vec<(String, String)>,
    /// The minor version that was asked for.
    pub(crate) minor: u16,
    /// Options of the protocol that are not known here.
    pub(crate) unknown: Vec<String>,
}

/// Reads a packet without its length.
///
/// # Errors
/// Another protocol, a packet without user, and fields that are not well formed.
pub(crate) fn read(packet: &[u8]) -> Result<FirstPacket, Violation> {
    let mut body = Body::new(packet);
    let code = body.u32()?;
    let first = match code {
        SSL => FirstPacket::Tls,
        GSS => FirstPacket::Gss,
        CANCEL => FirstPacket::Cancel {
            session: body.u32()?,
            secret: body.u32()?,
        },
        _ if code >> 16 == 3 => FirstPacket::Startup(startup(&mut body, (code & 0xffff) as u16)?),
        _ => {
            return Err(Violation {
                sqlstate: "0A000",
                message: "unsupported frontend protocol: this server speaks 3.0",
            });
        }
    };
    body.end()?;
    Ok(first)
}

fn startup(body: &mut Body<'_>, minor: u16) -> Result<Startup, Violation> {
    let mut startup = Startup {
        minor,
        ..Startup::default()
    };
    loop {
        let name = body.text()?;
        if name.is_empty() {
            break;
        }
        let value = body.text()?;
        match name {
            "user" => startup.user = value.to_owned(),
            "database" => startup.database = value.to_owned(),
            "replication" => {
                if !matches!(value, "false" | "off" | "no" | "0") {
                    return Err(Violation {
                        sqlstate: "0A000",
                        message: "replication is not there: connect without it",
                    });
                }
            }
            _ if name.starts_with("_pq_.") => startup.unknown.push(name.to_owned()),
            _ => startup.settings.push((name.to_owned(), value.to_owned())),
        }
    }
    if startup.user.is_empty() {
        return Err(Violation {
            sqlstate: "28000",
            message: "no PostgreSQL user name specified in startup packet",
        });
    }
    if startup.database.is_empty() {
        startup.database.clone_from(&startup.user);
    }
    Ok(startup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_startup_names_its_database_or_means_the_users() {
        let packet = b"\0\x03\0\0user\0alice\0application_name\0psql\0\0";
        let Ok(FirstPacket::Startup(startup)) = read(packet) else {
            panic!()
        };
        assert_eq!(startup.database, "alice");
        assert_eq!(
            startup.settings,
            [("application_name".into(), "psql".into())]
        );
    }

    #[test]
    fn what_is_no_startup_is_refused() {
        for packet in [
            &b""[..],
            b"GET / HTTP/1.1",
            b"\0\x02\0\0user\0a\0\0",
            b"\0\x04\0\0user\0a\0\0",
            b"\0\x03\0\0\0",
            b"\0\x03\0\0user\0a\0",
            b"\0\x03\0\0user\0a\0\0x",
            b"\0\x03\0\0user\0\xff\0\0",
            b"\0\x03\0\0user\0a\0replication\0true\0\0",
            b"\x04\xd2\x16\x2e\0\0\0\x01",
            b"\x04\xd2\x16\x2fx",
        ] {
            assert!(read(packet).is_err(), "{packet:?}");
        }
    }
}
