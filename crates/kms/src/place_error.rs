//! Why a URL names no place. The texts repeat names of schemes and parameters, never what stands in a value's place.

/// A URL that is refused before anything is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No scheme, or a key in the place of a URL.
    #[error(
        "that is no URL of a place for keys: there are vault://, kmip://, aws-kms://, pkcs11: and exec:/; a key itself is given by a variable, a file or a prompt"
    )]
    NotAUrl,
    /// A scheme that there is not.
    #[error(
        "there are no places for keys of the scheme {scheme}: there are vault://, kmip://, aws-kms://, pkcs11: and exec:/"
    )]
    UnknownScheme {
        /// Its name.
        scheme: String,
    },
    /// A parameter that the scheme does not have.
    #[error("{scheme} URLs have no parameter {parameter}: take it out")]
    UnknownParameter {
        /// The scheme.
        scheme: &'static str,
        /// The parameter's name.
        parameter: String,
    },
    /// A parameter twice.
    #[error("the parameter {parameter} stands twice in the URL: leave one")]
    RepeatedParameter {
        /// Its name.
        parameter: String,
    },
    /// A parameter whose value does not fit.
    #[error("the URL's parameter {parameter} is {expected}")]
    InvalidParameter {
        /// Its name.
        parameter: &'static str,
        /// What it may be.
        expected: &'static str,
    },
    /// `user:password@` before the host.
    #[error("a URL of a place for keys has no user and password: {instead}")]
    CredentialsInUrl {
        /// Where they belong.
        instead: &'static str,
    },
    /// It does not have the form of its scheme.
    #[error("{scheme} URLs have the form {form}")]
    Malformed {
        /// The scheme.
        scheme: &'static str,
        /// The form.
        form: &'static str,
    },
    /// A variable is missing, or not as it should be.
    #[error("{variable} is {expected}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The URL leads elsewhere than the credentials may go.
    #[error(
        "the URL names another host than VAULT_ADDR, and credentials go there alone: leave the host out, or change VAULT_ADDR"
    )]
    OtherHost,
    /// Plain HTTP to another machine.
    #[error("plain http leads to this machine alone: use https in the address")]
    PlainHttp,
    /// Programs and modules are not run here.
    #[error("places of the scheme {scheme} run code that the URL names, which is not allowed here")]
    RunsCode {
        /// The scheme.
        scheme: &'static str,
    },
}
