//! The servers that pgbench is run against: `hush serve` on a new instance, and PostgreSQL on a new cluster. Each listens on a Unix socket
//! in its directory, and ends when it is dropped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};

/// Until a server must let clients in.
const PATIENCE: Duration = Duration::from_secs(60);
/// What protects nothing: the data is public.
const SECRET: &str = "pass:of this benchmark alone";

/// A server that runs.
pub(crate) trait Server {
    /// Tells a client of PostgreSQL where it is and who comes in.
    fn address(&self, client: &mut Command);

    /// The numbers of its processes.
    fn processes(&self) -> Result<Vec<u32>>;

    /// Seconds of processor time that it has taken, ended processes of it included.
    fn cpu_seconds(&self) -> Result<f64> {
        let of_one = |process: u32| -> Result<f64> {
            let stat = match std::fs::read_to_string(format!("/proc/{process}/stat")) {
                Ok(stat) => stat,
                Err(_) => return Ok(0.0),
            };
            // Behind the name, which may have blanks: utime, stime, cutime and cstime are the 12th to 15th, in hundredths.
            let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
            let fields = rest.split_whitespace().skip(11).take(4);
            Ok(fields
                .filter_map(|field| field.parse::<f64>().ok())
                .sum::<f64>()
                / 100.0)
        };
        self.processes()?.into_iter().map(of_one).sum()
    }

    /// MiB of memory of its own that it has, without what its processes share.
    fn resident_mib(&self) -> Result<f64> {
        let of_one = |process: u32| {
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("RssAnon:"))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        Ok(self
            .processes()?
            .into_iter()
            .filter_map(of_one)
            .sum::<f64>()
            / 1024.0)
    }
}

/// `hush serve`.
pub(crate) struct Hush {
    directory: PathBuf,
    process: Child,
}

impl Hush {
    /// Makes an instance in a directory that is emptied, and serves it.
    pub(crate) fn start(directory: &Path, program: &Path) -> Result<Self> {
        empty(directory)?;
        let instance = directory.join("data");
        let hush = |verb: &str| {
            let mut command = Command::new(program);
            command.arg(verb).arg(&instance).args(["--key-env", "K"]);
            command.env("K", SECRET).env("P", SECRET);
            command
        };
        run(hush("init").args(["--password-env", "P"]))?;
        let mut serve = hush("serve");
        serve.arg("--socket-dir").arg(directory);
        let log = std::fs::File::create(directory.join("log"))?;
        let process = serve.stderr(log).spawn()?;
        let server = Self {
            directory: directory.to_owned(),
            process,
        };
        wait_for(&server, directory)?;
        Ok(server)
    }
}

impl Server for Hush {
    fn address(&self, client: &mut Command) {
        client.env("PGHOST", &self.directory).env("PGPORT", "5432");
        client.env("PGUSER", "hush").env("PGDATABASE", "hush");
        client.env("PGPASSWORD", SECRET);
    }

    fn processes(&self) -> Result<Vec<u32>> {
        Ok(vec![self.process.id()])
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        stop(&mut self.process);
    }
}

/// PostgreSQL's server, with a shared buffer of 1 GB.
pub(crate) struct Postgres {
    directory: PathBuf,
    process: Child,
}

impl Postgres {
    /// Makes a cluster in a directory that is emptied, and serves it; as the user `postgres` where this one is root, whom PostgreSQL refuses.
    pub(crate) fn start(directory: &Path, programs: &Path) -> Result<Self> {
        empty(directory)?;
        let is_root = run(Command::new("id").arg("-u"))?.trim() == "0";
        if is_root {
            run(Command::new("chown").arg("postgres").arg(directory))?;
        }
        let program = |name: &str| {
            let path = programs.join(name);
            if !is_root {
                return Command::new(path);
            }
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command.arg(path);
            command
        };
        let data = directory.join("data");
        run(program("initdb")
            .args(["-A", "trust", "-U", "postgres", "-D"])
            .arg(&data))?;
        let mut serve = program("postgres");
        serve.arg("-D").arg(&data).arg("-k").arg(directory);
        for setting in [
            "listen_addresses=",
            "shared_buffers=1GB",
            "max_wal_size=4GB",
            "max_connections=200",
        ] {
            serve.args(["-c", setting]);
        }
        let log = std::fs::File::create(directory.join("log"))?;
        let process = serve.stdout(Stdio::null()).stderr(log).spawn()?;
        let server = Self {
            directory: directory.to_owned(),
            process,
        };
        wait_for(&server, directory)?;
        Ok(server)
    }
}

impl Server for Postgres {
    fn address(&self, client: &mut Command) {
        client.env("PGHOST", &self.directory).env("PGPORT", "5432");
        client
            .env("PGUSER", "postgres")
            .env("PGDATABASE", "postgres");
    }

    fn processes(&self) -> Result<Vec<u32>> {
        let main = self.process.id();
        let list = format!("/proc/{main}/task/{main}/children");
        let children = std::fs::read_to_string(list)?;
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        Ok(children.chain([main]).collect())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        stop(&mut self.process);
    }
}

/// Waits until a server's socket is there and somebody is let in.
fn wait_for(server: &dyn Server, directory: &Path) -> Result<()> {
    let began = Instant::now();
    loop {
        let mut client = Command::new("psql");
        server.address(&mut client);
        if run(client.args(["-X", "-c", "SELECT 1"])).is_ok() {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            let log = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
            return Err(Failure(format!("a server lets nobody in: {log}")));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn empty(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    Ok(std::fs::create_dir_all(directory)?)
}

/// Asks a process to end, as a service manager would, and waits for it.
fn stop(process: &mut Child) {
    let id = process.id().to_string();
    let _ = Command::new("kill").args(["-INT", &id]).status();
    let _ = process.wait();
}

/// Runs a program to its end, and returns what it said.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command
        .output()
        .map_err(|error| Failure(format!("{name}: {error}")))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        return Err(Failure(format!("{name}: {text}")));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
