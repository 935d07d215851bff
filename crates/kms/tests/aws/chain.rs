//! Who asks: each place of the chain, in its order, with a stub for STS, SSO, a container's and a machine's service; STS of moto, too.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;

const BLOB: &[u8] = b"\x01\x00sealed";
const ROLE: &str = "arn:aws:iam::111122223333:role/reader";

/// A home with the two files, and others.
struct Home(tempfile::TempDir);

impl Home {
    fn new(config: &str, credentials: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.write(".aws/config", config);
        home.write(".aws/credentials", credentials);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// One stub for all services, told apart by what they are asked.
struct Cloud {
    port: u16,
    heard: Heard,
}

impl Cloud {
    fn start() -> Self {
        let (port, heard) = answers(200, |asked| {
            let first = asked.lines().next().unwrap_or_default();
            match first {
                _ if first.contains("/latest/api/token") => "sesame-metadata-token".to_owned(),
                _ if first.ends_with("/security-credentials/ HTTP/1.1") => "web@1".to_owned(),
                _ if first.starts_with("GET /latest/meta-data") => json_of("MACHINE"),
                _ if first.starts_with("GET /federation") => sso_of("SSO"),
                _ if first.starts_with("GET /v2/") => json_of("CONTAINER"),
                _ if asked.contains("Action=AssumeRoleWithWebIdentity") => xml_of("WEB"),
                _ if asked.contains("Action=AssumeRole") => xml_of("ROLE"),
                _ => format!("{{\"Plaintext\":\"{KEY}\"}}"),
            }
        });
        Self { port, heard }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks for a key with these variables beside the home and the services.
    fn ask(&self, home: &Home, variables: &[(&str, &str)]) -> Result<KeyMaterial, KeyError> {
        let url = self.url();
        let of_home = home.0.path().display().to_string();
        let services = [
            ("HOME", of_home.as_str()),
            ("AWS_ENDPOINT_URL_KMS", url.as_str()),
            ("AWS_ENDPOINT_URL_STS", url.as_str()),
            ("AWS_ENDPOINT_URL_SSO", url.as_str()),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
        ];
        let all = services.iter().chain(variables).copied();
        let asked = Places::new(Environment::of(all))
            .provider(URL)
            .unwrap()
            .recover(&context(1), BLOB);
        let said = format!("{asked:?}");
        assert!(!said.contains("sesame"), "{said}");
        asked
    }

    /// Whose key the request at KMS was signed with, and all that was heard on the way.
    fn who(&self, home: &Home, variables: &[(&str, &str)]) -> (String, Vec<String>) {
        self.ask(home, variables).unwrap();
        let mut heard = std::mem::take(&mut *self.heard.lock().unwrap());
        let last = heard.pop().unwrap();
        (signer(&last), heard)
    }

    /// Why there is no key; nothing was asked of KMS.
    fn why(&self, home: &Home, variables: &[(&str, &str)]) -> String {
        let asked = self.ask(home, variables);
        let Err(KeyError::CredentialsRefused { why, .. }) = asked else {
            panic!("{asked:?}");
        };
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        assert!(!heard.iter().any(|it| it.contains("TrentService")));
        why
    }
}

fn json_of(id: &str) -> String {
    format!(
        "{{\"Code\":\"Success\",\"AccessKeyId\":\"{id}\",\"SecretAccessKey\":\"sesame-secret\",\"Token\":\"sesame-session\"}}"
    )
}

fn sso_of(id: &str) -> String {
    format!(
        "{{\"roleCredentials\":{{\"accessKeyId\":\"{id}\",\"secretAccessKey\":\"sesame-secret\",\"sessionToken\":\"sesame-session\",\"expiration\":1}}}}"
    )
}

fn xml_of(id: &str) -> String {
    format!(
        "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>sesame-secret</SecretAccessKey>\
         <SessionToken>sesame-session</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>"
    )
}

/// The id of the access key that a request is signed with; `-` for none.
fn signer(request: &str) -> String {
    let id = request.split_once("Credential=");
    let id = id.and_then(|(_, rest)| rest.split_once('/'));
    id.map_or("-", |(id, _)| id).to_owned()
}

fn keys(id: &str) -> String {
    format!("aws_access_key_id={id}\naws_secret_access_key=sesame-secret\n")
}

#[test]
fn the_first_of_the_chain_is_asked_and_no_other() {
    let cloud = Cloud::start();
    let files = Home::new("", &format!("[default]\n{}", keys("FILE")));
    let nothing = Home::new("[default]\nregion=eu-west-1\n", "");
    let token = nothing.write("token", "sesame-identity\n");
    let token = token.to_str().unwrap();
    let variables = [
        ("AWS_ACCESS_KEY_ID", "VARIABLE"),
        ("AWS_SECRET_ACCESS_KEY", "sesame-secret"),
    ];
    let identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token),
        ("AWS_ROLE_ARN", ROLE),
    ];
    let full = format!("{}/v2/x", cloud.url());
    let container = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", full.as_str())];
    let all = [&variables[..], &identity[..], &container[..]].concat();
    let none: &[(&str, &str)] = &[];
    for (home, variables, who, before) in [
        (&files, &all[..], "VARIABLE", 0),
        (&files, &all[2..], "FILE", 0),
        (&nothing, &all[2..], "WEB", 1),
        (&nothing, &all[4..], "CONTAINER", 1),
        (&nothing, none, "MACHINE", 3),
    ] {
        let (found, heard) = cloud.who(home, variables);
        assert_eq!((&*found, heard.len()), (who, before), "{heard:?}");
    }
    let off = [("AWS_EC2_METADATA_DISABLED", "TRUE")];
    assert!(
        cloud
            .why(&nothing, &off)
            .starts_with("there are no credentials")
    );
}

#[test]
fn a_web_identity_sends_its_token_as_it_is_now_and_no_signature() {
    let (cloud, home) = (Cloud::start(), Home::new("", ""));
    let path = home.write("token", "sesame/1+=\n");
    let path = path.to_str().unwrap();
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", path),
        ("AWS_ROLE_ARN", ROLE),
        ("AWS_ROLE_SESSION_NAME", "job-7"),
    ];
    let (_, heard) = cloud.who(&home, &variables);
    assert!(heard[0].ends_with(
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A111122223333%3Arole%2Freader\
         &RoleSessionName=job-7&WebIdentityToken=sesame%2F1%2B%3D"
    ));
    assert_eq!(signer(&heard[0]), "-");
    home.write("token", "renewed");
    let (_, heard) = cloud.who(&home, &variables);
    assert!(heard[0].ends_with("&WebIdentityToken=renewed"));
    let without = cloud.why(&home, &variables[..1]);
    assert!(without.contains("AWS_ROLE_ARN is not"), "{without}");
    home.write("token", " \n");
    let empty = cloud.why(&home, &variables);
    assert!(empty.contains("file of a token"), "{empty}");
}

#[test]
fn roles_of_profiles_are_assumed_by_their_sources() {
    let cloud = Cloud::start();
    let program = "credential_process = /bin/echo '{\"Version\":1,\"AccessKeyId\":\"PROGRAM\",\"SecretAccessKey\":\"sesame\"}'";
    let config = format!(
        "[profile one]\nrole_arn={ROLE}\nsource_profile=base\nexternal_id=x y\nduration_seconds=900\n\
         [profile two]\nrole_arn={ROLE}\nsource_profile=one\n\
         [profile self]\nrole_arn={ROLE}\nsource_profile=self\n{}\
         [profile program]\n{program}\n\
         [profile of-program]\nrole_arn={ROLE}\nsource_profile=program\n\
         [profile variables]\nrole_arn={ROLE}\ncredential_source=Environment\n\
         [profile machine]\nrole_arn={ROLE}\ncredential_source=Ec2InstanceMetadata\n",
        keys("SELF")
    );
    let home = Home::new(&config, &format!("[base]\n{}", keys("BASE")));
    for (profile, who, before) in [
        ("base", "BASE", ""),
        ("one", "ROLE", "BASE"),
        ("two", "ROLE", "BASE ROLE"),
        ("self", "ROLE", "SELF"),
        ("program", "PROGRAM", ""),
        ("of-program", "ROLE", "PROGRAM"),
        ("machine", "ROLE", "- - - MACHINE"),
    ] {
        let (found, heard) = cloud.who(&home, &[("AWS_PROFILE", profile)]);
        let signers: Vec<String> = heard.iter().map(|it| signer(it)).collect();
        assert_eq!((&*found, &*signers.join(" ")), (who, before), "{profile}");
        if profile == "one" {
            assert!(
                heard[0].ends_with("&RoleSessionName=hushdb&ExternalId=x%20y&DurationSeconds=900")
            );
            assert!(heard[0].contains("/eu-west-1/sts/aws4_request"));
        }
    }
    let why = cloud.why(&home, &[("AWS_PROFILE", "variables")]);
    assert!(why.contains("credential_source names a place"), "{why}");
}

#[test]
fn what_a_profile_asks_for_and_is_not_known_is_refused_by_its_name() {
    let cloud = Cloud::start();
    let config = format!(
        "[profile mfa]\nrole_arn={ROLE}\nsource_profile=base\nmfa_serial=x\n\
         [profile login]\nlogin_session=x\n\
         [profile odd]\nrole_arn={ROLE}\ncredential_source=Moon\n\
         [profile both]\nrole_arn={ROLE}\nsource_profile=base\ncredential_source=Environment\n\
         [profile circle]\nrole_arn={ROLE}\nsource_profile=other\n[profile other]\nrole_arn={ROLE}\nsource_profile=circle\n\
         [profile lost]\nrole_arn={ROLE}\nsource_profile=nobody\n\
         [profile long]\nrole_arn={ROLE}\nsource_profile=base\nduration_seconds=7\n\
         [profile quote]\ncredential_process=/bin/echo 'x\n\
         [profile fails]\ncredential_process=/bin/false\n\
         [profile talks]\ncredential_process=/bin/echo sesame\n\
         [profile empty]\nregion=x\n"
    );
    let home = Home::new(&config, &format!("[base]\n{}", keys("BASE")));
    for (profile, expected) in [
        ("mfa", "mfa_serial"),
        ("login", "login_session"),
        ("odd", "credential_source is none of"),
        ("both", "one of them alone"),
        ("circle", "in a circle"),
        ("lost", "source_profile names a profile"),
        ("long", "duration_seconds"),
        ("quote", "credential_process is no program"),
        ("fails", "it gives no credentials"),
        ("talks", "is not JSON with Version 1"),
        ("empty", "says nothing of credentials"),
        ("nobody", "no profile of the name"),
    ] {
        let why = cloud.why(&home, &[("AWS_PROFILE", profile)]);
        assert!(why.contains(expected), "{profile}: {why}");
    }
    let why = cloud.why(&home, &[("AWS_ACCESS_KEY_ID", "sesame")]);
    assert!(why.contains("set both, or neither"), "{why}");
}

#[test]
fn a_login_of_sso_is_used_until_it_ends() {
    let cloud = Cloud::start();
    let config = "[profile sso]\nsso_session=work\nsso_account_id=111122223333\nsso_role_name=Read Only\n\
                  [sso-session work]\nsso_region=eu-west-1\nsso_start_url=https://work.example\n\
                  [profile old]\nsso_region=eu-west-1\nsso_start_url=https://work.example\nsso_account_id=1\nsso_role_name=a\n\
                  [profile odd]\nsso_region=evil.example/\nsso_start_url=https://work.example\nsso_account_id=1\nsso_role_name=a\n";
    let home = Home::new(config, "");
    let cache = ".aws/sso/cache/1f40fc92da241694750979ee6cf582f2d5d7d28e.json";
    let other = |members: &str| format!("{{{members}\"expiresAt\":\"2120-01-01T00:00:00Z\"}}");
    home.write(
        ".aws/sso/cache/client.json",
        &other("\"clientId\":\"sesame\","),
    );
    let elsewhere = other("\"startUrl\":\"https://other.example\",\"accessToken\":\"sesame\",");
    home.write(".aws/sso/cache/elsewhere.json", &elsewhere);
    let sso = [("AWS_PROFILE", "sso")];
    assert!(cloud.why(&home, &sso).contains("aws sso login"));
    let login = |ends: &str| {
        format!(
            "{{\"startUrl\":\"https://work.example\",\"accessToken\":\"sesame-token\",\"expiresAt\":\"{ends}\"}}"
        )
    };
    for over in ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00UTC", "sesame"] {
        home.write(cache, &login(over));
        assert!(cloud.why(&home, &sso).contains("aws sso login"));
    }
    for good in ["2120-01-01T00:00:00Z", "2120-01-01T00:00:00UTC"] {
        home.write(cache, &login(good));
        let (who, heard) = cloud.who(&home, &sso);
        assert_eq!((&*who, heard.len()), ("SSO", 1));
        let first = heard[0].to_ascii_lowercase();
        assert!(first.starts_with(
            "get /federation/credentials?account_id=111122223333&role_name=read%20only "
        ));
        assert!(first.contains("x-amz-sso_bearer_token: sesame-token"));
    }
    assert_eq!(cloud.who(&home, &[("AWS_PROFILE", "old")]).0, "SSO");
    let odd = cloud.why(&home, &[("AWS_PROFILE", "odd")]);
    assert!(odd.contains("sso_region"), "{odd}");
}

#[test]
fn containers_and_machines_are_asked_with_their_tokens() {
    let (cloud, home) = (Cloud::start(), Home::new("", ""));
    let full = format!("{}/v2/x?y=z", cloud.url());
    let file = home.write("token", "Basic sesame-file\n");
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", full.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic sesame-variable"),
        (
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            file.to_str().unwrap(),
        ),
    ];
    for (variables, sent) in [
        (&variables[..1], None),
        (
            &variables[..2],
            Some("authorization: Basic sesame-variable"),
        ),
        (&variables[..], Some("authorization: Basic sesame-file")),
    ] {
        let (_, heard) = cloud.who(&home, variables);
        assert!(heard[0].starts_with("GET /v2/x?y=z HTTP/1.1"));
        match sent {
            Some(sent) => assert!(heard[0].contains(sent)),
            None => assert!(!heard[0].contains("authorization")),
        }
    }
    for (uri, expected) in [
        ("http://10.0.0.1/x", "plain http"),
        ("http://169.254.169.254/x", "plain http"),
        (
            "http://169.254.170.2@thief.example/x",
            "https:// and a host",
        ),
    ] {
        let why = cloud.why(&home, &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri)]);
        assert!(why.contains(expected), "{uri}: {why}");
    }
    let relative = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@thief.example/x")];
    assert!(cloud.why(&home, &relative).contains("begin with a slash"));
    let (_, heard) = cloud.who(&home, &[]);
    assert!(heard[0].starts_with("PUT /latest/api/token "));
    assert!(heard[0].contains("x-aws-ec2-metadata-token-ttl-seconds: 60"));
    assert!(heard[2].starts_with("GET /latest/meta-data/iam/security-credentials/web%401 "));
    for later in &heard[1..] {
        assert!(later.contains("x-aws-ec2-metadata-token: sesame-metadata-token"));
    }
    for far in ["http://10.0.0.1", "http://169.254.170.2"] {
        let why = cloud.why(&home, &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", far)]);
        assert!(why.contains("plain http"), "{far}: {why}");
    }
}

#[test]
fn services_of_credentials_that_fail_are_told_apart_and_nothing_of_them_is_repeated() {
    let home = Home::new("", "");
    let token = home.write("token", "sesame");
    let ask = |status: u16, body: &str| {
        let (port, heard) = says(status, body.to_owned());
        let cloud = Cloud { port, heard };
        let identity = [
            ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
            ("AWS_ROLE_ARN", ROLE),
        ];
        let asked = cloud.ask(&home, &identity);
        let times = cloud.heard.lock().unwrap().len();
        (asked, times)
    };
    let error = |code: &str| {
        format!(
            "<ErrorResponse><Error><Code>{code}</Code><Message>sesame</Message></Error></ErrorResponse>"
        )
    };
    for code in [
        "AccessDenied",
        "ExpiredTokenException",
        "InvalidIdentityToken",
    ] {
        let (asked, times) = ask(403, &error(code));
        let is = matches!(asked, Err(KeyError::CredentialsRefused { .. }));
        assert!(is && times == 1, "{code}: {asked:?}");
    }
    for (status, body, tries) in [
        (500, error("InternalFailure"), 3),
        (400, error("Throttling"), 3),
        (400, error("IDPCommunicationError"), 3),
        (400, error("sesame sesame"), 1),
        (404, "<html>sesame".to_owned(), 1),
        (200, String::new(), 1),
        (200, "{\"AccessKeyId\":\"sesame\"}".to_owned(), 1),
        (200, xml_of("sesame").replace("Secret", "Other"), 1),
        (307, String::new(), 1),
    ] {
        let (asked, times) = ask(status, &body);
        let is = matches!(asked, Err(KeyError::Unavailable { .. }));
        assert!(is && times == tries, "{status} {body}: {times} {asked:?}");
    }
}

#[test]
fn a_service_of_the_link_that_does_not_answer_is_given_up_soon() {
    let home = Home::new("", "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let cloud = Cloud::start();
    for variable in [
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ] {
        let started = Instant::now();
        let asked = cloud.ask(&home, &[(variable, silent.as_str())]);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_role_of_moto_opens_a_key_of_moto() {
    if moto::missing() {
        return;
    }
    let moto = Moto::start();
    let key = moto.key("hr");
    // Of the account that its keys are of: others have keys of their own there.
    let role = "arn:aws:iam::123456789012:role/reader";
    let config = format!("[profile role]\nrole_arn={role}\nsource_profile=base\n");
    let home = Home::new(&config, &format!("[base]\n{}", keys("AKIDEXAMPLE")));
    let token = home.write("token", "header.payload.signature");
    let url = format!("http://127.0.0.1:{}", moto.port);
    let of_home = home.0.path().display().to_string();
    let place = |variables: &[(&str, &str)]| {
        let services = [
            ("HOME", of_home.as_str()),
            ("AWS_ENDPOINT_URL_KMS", url.as_str()),
            ("AWS_ENDPOINT_URL_STS", url.as_str()),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ];
        let all = services.iter().chain(variables).copied();
        let places = Places::new(Environment::of(all));
        places.provider(&format!("aws-kms://{key}")).unwrap()
    };
    let by_role = place(&[("AWS_PROFILE", "role")]);
    let (opened, blob) = by_role.establish(&context(1)).unwrap();
    let by_identity = place(&[
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
        ("AWS_ROLE_ARN", role),
    ]);
    assert_eq!(by_identity.recover(&context(1), &blob), Ok(opened));
    assert!(is_refused(&by_identity.recover(&context(2), &blob)));
}
