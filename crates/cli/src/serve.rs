//! `hush init` and `hush serve`: a new instance, and a server that PostgreSQL's clients speak to.
//!
//! What must hold: a password is never an argument; what the server says goes to standard error, and has no secret in it.
#![expect(clippy::disallowed_methods, reason = "it reads the file of a password")]

use std::fs;
use std::process::ExitCode;

use hushdb::keys::SecretBytes;
use hushdb_server::{InitOptions, ServeError, ServeOptions};

use crate::arguments::{InitArguments, PasswordOptions, ServeArguments};
use crate::failure::{Failure, say};
use crate::key_options::terminal;

/// `hush init`.
pub(crate) fn init(arguments: &InitArguments) -> Result<ExitCode, Failure> {
    make(InitOptions {
        directory: arguments.directory.clone(),
        key: arguments.key.required().map_err(Failure::of_server)?,
        password: password(&arguments.password)?,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn make(options: InitOptions) -> Result<(), Failure> {
    let certificate = hushdb_server::init(&options)?;
    say(&format!(
        "made the instance {}, with the superuser and the database hush",
        options.directory.display()
    ));
    say(&format!("SHA-256 of its certificate: {certificate}"));
    Ok(())
}

/// `hush serve`.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let listen = match (arguments.listen, &arguments.socket_dir) {
        (None, None) => Some(([127, 0, 0, 1], 5432).into()),
        (listen, _) => listen,
    };
    let key = arguments.key.required().map_err(Failure::of_server)?;
    let given = &arguments.password;
    match arguments.demo {
        true => make(InitOptions {
            directory: arguments.directory.clone(),
            key: key.clone(),
            password: password(given)?,
        })?,
        false if given.password_env.is_some() || given.password_file.is_some() => {
            let text =
                "the password is that of a new instance: give it to hush init, or with --demo";
            return Err(Failure::Message(text.into()));
        }
        false => {}
    }
    hushdb_server::serve(ServeOptions {
        directory: arguments.directory.clone(),
        key,
        listen,
        socket_directory: arguments.socket_dir.clone(),
        max_connections: arguments.max_connections,
        memory_bytes: arguments.memory_limit.map(|mib| mib << 20),
        threads: arguments.threads,
        demo: arguments.demo,
        metrics: arguments.metrics,
        json_log: arguments.log_json,
        say,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The password of the superuser, without the end of its line.
fn password(arguments: &PasswordOptions) -> Result<SecretBytes, Failure> {
    let message = |text: String| Failure::Message(text);
    let mut bytes = if let Some(variable) = &arguments.password_env {
        let value = std::env::var(variable);
        value
            .map_err(|_| {
                message(format!(
                    "the environment variable {variable} has no password"
                ))
            })?
            .into_bytes()
    } else if let Some(path) = &arguments.password_file {
        fs::read(path).map_err(|error| Failure::file(path, error))?
    } else if terminal() {
        asked()?.into_bytes()
    } else {
        return Err(message(
            "the superuser needs a password: give --password-env or --password-file, or run on a terminal".into(),
        ));
    };
    while bytes
        .last()
        .is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
    {
        bytes.pop();
    }
    Ok(SecretBytes::new(bytes))
}

fn asked() -> Result<String, Failure> {
    let ask = |prompt| {
        let typed = rpassword::prompt_password(prompt);
        typed.map_err(|error| Failure::Message(format!("no password was typed: {error}")))
    };
    let password = ask("Password of the superuser hush: ")?;
    match ask("Password of the superuser hush (again): ")? == password {
        true => Ok(password),
        false => Err(Failure::Message("the two passwords differ".into())),
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::Server(error)
    }
}
