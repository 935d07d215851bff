//! `hush`: the HushDB shell, its demo, and the commands that look at and after database files.
//!
//! What must hold: nothing here reads or writes what a database file holds by itself: that goes through the library, as any other
//! program's work would. Results go to standard output, everything else to standard error.
//!
//! Begin with `arguments.rs`, the commands and their options, then `session.rs`, what statements and dot commands work on.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod arguments;
mod byte_view;
mod check;
mod completion;
mod cpu_time;
mod demo;
mod dot_command;
mod failure;
mod freshness_options;
mod history;
mod inspect;
mod instances;
mod interrupt;
mod key_options;
mod keys;
mod output;
mod progress;
mod quoted_names;
mod rekey;
mod salvage;
mod script;
mod serve;
mod session;
mod shell;
mod wiped;

use std::io::{self, IsTerminal};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{Arguments, Command, ShellArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::session::{Session, Target};

/// Sessions of a server allocate and free by the thousand for each statement; with the C library's heaps a quarter of its time goes there.
#[cfg(unix)]
#[global_allocator]
static HEAP: hushdb::Heap = hushdb::Heap;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are errors to the parser, but not to the user.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    // A key may come by a statement, in whose text it is before anybody knows: so from the beginning, as far as the system lets it be.
    let _ = hushdb::maintenance::set_core_dumps(false);
    failure::withhold_panics();
    interrupt::outlive_file_size_limits();
    let done = match arguments {
        Arguments::Shell(arguments) => on_own_stack(arguments),
        Arguments::Command(Command::Demo(arguments)) => demo::run(&arguments),
        Arguments::Command(Command::Inspect(arguments)) => inspect::run(&arguments),
        Arguments::Command(Command::Check(arguments)) => check::run(&arguments),
        Arguments::Command(Command::Salvage(arguments)) => salvage::run(&arguments),
        Arguments::Command(Command::Keys(command)) => keys::run(&command),
        Arguments::Command(Command::Rekey(arguments)) => rekey::run(&arguments),
        Arguments::Command(Command::Init(arguments)) => serve::init(&arguments),
        Arguments::Command(Command::Serve(arguments)) => serve::serve(&arguments),
        Arguments::Command(Command::Adopt(arguments)) => instances::adopt(&arguments),
        Arguments::Command(Command::Backup(arguments)) => instances::backup(&arguments),
        Arguments::Command(Command::Rotate(arguments)) => instances::rotate(&arguments),
    };
    done.unwrap_or_else(|failure| failure.report())
}

/// A stack that statements find large enough, so that none is made and thrown away for each of them. Pages that are never
/// touched take no memory.
const STACK: usize = 32 << 20;

/// The shell, on a thread with such a stack.
fn on_own_stack(arguments: ShellArguments) -> Result<ExitCode, Failure> {
    let builder = std::thread::Builder::new().name("shell".into());
    let thread = builder.stack_size(STACK).spawn(move || sql(arguments))?;
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Scripts and one-liners, or the interactive shell when there are none and a person is there.
fn sql(arguments: ShellArguments) -> Result<ExitCode, Failure> {
    let texts: Vec<String> = arguments
        .commands
        .into_iter()
        .chain(arguments.sql)
        .collect();
    let target = Target {
        file: arguments.file,
        key: arguments.key,
        cipher: arguments.cipher,
        read_only: arguments.read_only,
        freshness: arguments.freshness,
    };
    let scripted = !texts.is_empty() || arguments.script.is_some();
    let interactive = !scripted && io::stdin().is_terminal() && io::stdout().is_terminal();
    let interrupts = Interrupts::install(interactive)?;
    let mut session = Session::open(&target, arguments.format.mode(), interrupts)?;
    let greeting = interactive.then(|| greeting(&target));
    let done = run(&mut session, arguments.script.as_deref(), &texts, greeting);
    session.finish(done)
}

/// The script, then the texts; with neither, what is typed by who is to be greeted, or standard input.
fn run(
    session: &mut Session,
    script: Option<&Path>,
    texts: &[String],
    greeting: Option<String>,
) -> Result<ExitCode, Failure> {
    if let Some(script) = script {
        session.run_file(script)?;
    }
    for text in texts {
        session.run_text(text)?;
    }
    match greeting {
        Some(greeting) => return shell::run(session, &greeting),
        None if script.is_none() && texts.is_empty() => session.run_reader(io::stdin().lock())?,
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn greeting(target: &Target) -> String {
    let name = target.file.as_ref().map_or_else(
        || "an in-memory database".to_owned(),
        |path| path.display().to_string(),
    );
    let version = env!("CARGO_PKG_VERSION");
    format!("HushDB {version}, {name}\nStatements end with ;  .help lists the commands")
}
