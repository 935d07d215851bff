//! A token of SoftHSM, made for one test. Who uses it must have `SOFTHSM2_CONF` in the environment: it is the library that reads it.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// Whether it is not there.
pub(crate) fn missing() -> bool {
    super::missing(&[MODULE, "softhsm2-util", "pkcs11-tool"])
}

/// Makes the token `hush` in a directory; gives the value of `SOFTHSM2_CONF`.
pub(crate) fn token(directory: &Path, pin: &str) -> PathBuf {
    let tokens = directory.join("tokens");
    std::fs::create_dir(&tokens).unwrap();
    let configuration = directory.join("softhsm2.conf");
    let text = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\n",
        tokens.display()
    );
    std::fs::write(&configuration, text).unwrap();
    let mut begin = Command::new("softhsm2-util");
    begin.args(["--init-token", "--free", "--label", "hush"]);
    begin.args(["--so-pin", "5678", "--pin", pin]);
    super::run(begin.env("SOFTHSM2_CONF", &configuration));
    configuration
}

/// What does something to the token's keys.
pub(crate) fn tool(pin: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("pkcs11-tool");
    command.args(["--module", MODULE, "--token-label", "hush"]);
    command.args(["--login", "--pin", pin]).args(arguments);
    command
}

/// Whether what builds [`odd_module`] is not there.
#[allow(dead_code, reason = "one suite asks for it")]
pub(crate) fn compiler_missing() -> bool {
    super::missing(&["cc"])
}

/// A module that does what SoftHSM never does: `odd_token.c`, built.
#[allow(dead_code, reason = "one suite asks for it")]
pub(crate) fn odd_module(directory: &Path) -> PathBuf {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../kms/tests/key_servers/odd_token.c"
    );
    let module = directory.join("odd_token.so");
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", source, "-o"]).arg(&module);
    super::run(build.arg(format!("-DMODULE=\"{MODULE}\"")).arg("-ldl"));
    module
}
