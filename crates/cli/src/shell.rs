//! The interactive shell: a line editor around a [`Session`].
//!
//! Enter ends the input when the statement is complete (its `;` is there) or a dot command; before that it begins a
//! new line of the same input, so a statement of many lines is edited and remembered as one. An error is shown and the
//! shell goes on. Tab completes.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use zeroize::Zeroizing;

use crate::completion::{Names, complete};
use crate::failure::{Failure, say};
use crate::history;
use crate::script;
use crate::session::Session;

const PROMPT: &str = "hush> ";
/// Between BEGIN and COMMIT.
const TRANSACTION_PROMPT: &str = "hush*> ";
const REMEMBERED: usize = 2_000;

/// Tells the editor whether Enter ends the input, and what Tab offers.
#[derive(Default)]
struct InputHelper {
    names: Names,
}

impl Validator for InputHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if script::is_complete(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Completer for InputHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(line.get(..pos).unwrap_or_default(), &self.names))
    }
}

impl Hinter for InputHelper {
    type Hint = String;
}

impl Highlighter for InputHelper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _default: bool,
    ) -> Cow<'b, str> {
        Cow::Borrowed(prompt)
    }
}

impl Helper for InputHelper {}

/// Runs the shell until `.quit` or the end of input.
///
/// # Errors
/// The terminal's.
pub(crate) fn run(session: &mut Session, greeting: &str) -> Result<ExitCode, Failure> {
    let config = Config::builder()
        .max_history_size(REMEMBERED)
        .and_then(|builder| builder.history_ignore_dups(true))
        .map_err(terminal)?
        .auto_add_history(false)
        .completion_type(CompletionType::List)
        .build();
    let mut editor: Editor<InputHelper, DefaultHistory> =
        Editor::with_config(config).map_err(terminal)?;
    editor.set_helper(Some(InputHelper::default()));
    let history = remembered(&mut editor);
    say(greeting);
    let mut withheld = false;
    loop {
        let prompt = match session.connection.in_transaction() {
            true => TRANSACTION_PROMPT,
            false => PROMPT,
        };
        if let (Some(helper), Some(names)) = (editor.helper_mut(), session.names()) {
            helper.names = names;
        }
        match editor.readline(prompt) {
            Ok(input) => {
                // For good: what is appended is all that was not appended before.
                withheld |= session.database.has_encrypted();
                // What the line editor itself keeps of it is out of reach.
                let input = Zeroizing::new(input);
                if history::keeps(&input)
                    && editor.add_history_entry(input.trim_end()).unwrap_or(false)
                    && let Some(path) = &history
                    && !withheld
                {
                    // A full disk must not stop the work in the database.
                    let _ = editor.append_history(path);
                }
                match session.run_text(&input) {
                    Ok(()) => {}
                    Err(failure @ (Failure::Quit | Failure::ClosedPipe)) => {
                        return Ok(failure.report());
                    }
                    Err(failure) => {
                        failure.report();
                    }
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(terminal(error)),
        }
    }
}

/// Loads the history; without a place for it, it lives as long as the shell.
fn remembered(editor: &mut Editor<InputHelper, DefaultHistory>) -> Option<PathBuf> {
    let path = history::path()?;
    let prepared = history::prepare(&path)
        .map_err(ReadlineError::from)
        .and_then(|()| editor.load_history(&path));
    match prepared {
        Ok(()) => Some(path),
        Err(error) => {
            say(&format!(
                "The history is not kept: {}: {error}",
                path.display()
            ));
            None
        }
    }
}

fn terminal(error: ReadlineError) -> Failure {
    Failure::Message(format!("IO Error: the terminal: {error}"))
}
