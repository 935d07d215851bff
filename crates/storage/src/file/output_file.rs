//! `OutputFile`: what a program writes to a file that its user named: results, in the clear.
//!
//! What must hold:
//! - Never a database, a log, or a name that a database would take for its log: what is attached is told by device and inode,
//!   so by any of its names, the rest by how it begins.
//! - Under its name there is all that was written, or what was there before. It is written to a file without a name, or, where the
//!   system cannot name one later, to one with a random name beside it that is removed after an error.
//! - It is its owner's alone until it has its name. Then it has the mode of the file that it replaces; a new one stays its
//!   owner's.
//! - Links of the path are followed once, when it is created, so that a link stays and what it leads to is replaced.
//! - Where there is no file to replace (a terminal, a pipe, a device) it is written to as it is.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use hushdb_keys::{HEADER_OFFSETS, MAGIC};
use rustix::fs::OFlags;

use super::file_lock::FileLock;
use super::place::Place;
use super::storage_files::{LOG_MAGIC, LOG_NAME, NEXT_LOG_NAME};
use crate::error::{Error, Result};

/// A file that gets its name by [`OutputFile::commit`]. Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// `None`: it is written to as it is.
    goal: Option<Goal>,
    written: u64,
}

#[derive(Debug)]
struct Goal {
    place: Place,
    /// Of the file that is replaced.
    mode: Option<u32>,
    /// The name that the file has meanwhile, if it has one.
    draft: Option<Draft>,
}

/// A name that is taken away unless it is changed before.
#[derive(Debug)]
struct Draft(Option<Place>);

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            // Nothing can be done about a name that stays; it says what it is.
            let _ = place.remove();
        }
    }
}

impl OutputFile {
    /// A file that is to have the name `path`.
    ///
    /// # Errors
    /// `InvalidInput` for a database, a log and what would be taken for one; else what the operating system says.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if let Some(file) = standard_stream(path)? {
            return Ok(Self::new(file, None));
        }
        let place = Place::of(path)?;
        let mode = match place.metadata() {
            Ok(there) if there.is_file() => Some(there.mode() & 0o777),
            Ok(there) if there.is_dir() => return Err(is_directory().into()),
            Ok(_) => {
                let file = place.open(OFlags::WRONLY)?;
                return Ok(Self::new(file, None));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        refuse_ours(&place)?;
        let (file, draft) = match place.nameless() {
            Some(file) => (file, None),
            None => named(&place).map(|(file, draft)| (file, Some(draft)))?,
        };
        let goal = Some(Goal { place, mode, draft });
        Ok(Self::new(file, goal))
    }

    fn new(file: File, goal: Option<Goal>) -> Self {
        Self {
            file,
            goal,
            written: 0,
        }
    }

    /// Bytes that were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Gives the file its name, once all that was written is durable.
    ///
    /// # Errors
    /// As [`OutputFile::create`]; what had the name has it still.
    pub fn commit(self) -> Result<()> {
        let Self { file, goal, .. } = self;
        let Some(Goal { place, mode, draft }) = goal else {
            return Ok(());
        };
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        // Which may have come to be while this one was written.
        refuse_ours(&place)?;
        let mut draft = match draft {
            Some(draft) => draft,
            None => under_free_name(&place, |free| free.give_to(&file))?.1,
        };
        if let Some(from) = &draft.0 {
            from.rename(&place)?;
        }
        draft.0 = None;
        Ok(place.sync_directory()?)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Refuses a place where a database or a log is, or where a database would look for its log.
fn refuse_ours(place: &Place) -> Result<()> {
    let path = place.path().display();
    if is_ours(place)? {
        return Err(Error::InvalidInput(format!(
            "{path} is a HushDB database or its log, which is never overwritten: give another name"
        )));
    }
    refuse_log_name(place)
}

/// Refuses a name that a database beside it would take for that of its log.
pub(super) fn refuse_log_name(place: &Place) -> Result<()> {
    for ending in [LOG_NAME, NEXT_LOG_NAME] {
        if let Some(database) = place.without_ending(ending)
            && is_ours(&database)?
        {
            return Err(Error::InvalidInput(format!(
                "{} is where the database {} has its log: give another name",
                place.path().display(),
                database.path().display()
            )));
        }
    }
    Ok(())
}

/// Whether a database or a log is there, attached or not.
fn is_ours(place: &Place) -> Result<bool> {
    let metadata = match place.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        metadata => metadata?,
    };
    if !metadata.is_file() {
        return Ok(false);
    }
    // First, since to open and close an attached file would drop this process's lock on it.
    if FileLock::refuse_attached(&metadata).is_err() {
        return Ok(true);
    }
    let file = place.open(OFlags::RDONLY | OFlags::NONBLOCK)?;
    let begins = |at: u64, with: &[u8]| {
        let mut found = vec![0; with.len()];
        match file.read_exact_at(&mut found, at) {
            Ok(()) => Ok(found == with),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    };
    // Either copy of the header: the other may be damaged.
    Ok(begins(0, &LOG_MAGIC)?
        || begins(HEADER_OFFSETS[0], &MAGIC)?
        || begins(HEADER_OFFSETS[1], &MAGIC)?)
}

/// Standard output or error, where a path says so: opened anew, a file that it was redirected to would be written from its
/// beginning, or replaced.
fn standard_stream(path: &Path) -> io::Result<Option<File>> {
    let is = |names: [&str; 3]| names.iter().any(|name| path == Path::new(name));
    let stream = if is(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]) {
        io::stdout().as_fd().try_clone_to_owned()?
    } else if is(["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"]) {
        io::stderr().as_fd().try_clone_to_owned()?
    } else {
        return Ok(None);
    };
    Ok(Some(stream.into()))
}

/// A new file beside `place`, under a name that says what it is.
fn named(place: &Place) -> io::Result<(File, Draft)> {
    under_free_name(place, |free| {
        free.open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    })
}

/// Does `make` for a name beside `place` that nobody has.
fn under_free_name<T>(
    place: &Place,
    make: impl Fn(&Place) -> io::Result<T>,
) -> io::Result<(T, Draft)> {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let free = place.beside(OsString::from(format!("hush-output-{random:016x}.tmp")));
        match make(&free) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, Draft(Some(free)))),
        }
    }
}

fn is_directory() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    /// Both ways of keeping a file from being found before it is whole.
    fn drafts(path: &Path) -> [OutputFile; 2] {
        let nameless = OutputFile::create(path).unwrap();
        let mut other = OutputFile::create(path).unwrap();
        let goal = other.goal.as_mut().unwrap();
        let (file, draft) = named(&goal.place).unwrap();
        goal.draft = Some(draft);
        other.file = file;
        [nameless, other]
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        for mut file in drafts(&path) {
            file.write_all(b"new").unwrap();
            for name in names(directory.path()) {
                let path = directory.path().join(&name);
                match name.as_str() {
                    "out.csv" => assert_eq!(fs::read(path).unwrap(), b"old"),
                    _ => {
                        assert!(name.starts_with("hush-output-"), "{name}");
                        assert_eq!(mode(&path), 0o600);
                    }
                }
            }
        }
        assert_eq!(names(directory.path()), ["out.csv"]);
        for (at, mut file) in drafts(&path).into_iter().enumerate() {
            write!(file, "new {at}").unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("new {at}"));
            assert_eq!(mode(&path), 0o640);
        }
        assert_eq!(names(directory.path()), ["out.csv"]);
    }

    #[test]
    fn a_new_file_is_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        OutputFile::create(&path).unwrap().commit().unwrap();
        assert_eq!(mode(&path), 0o600);
        assert!(OutputFile::create(directory.path()).is_err());
        assert!(OutputFile::create(directory.path().join("none/out.csv")).is_err());
    }

    #[test]
    fn a_link_stays_and_leads_to_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("far")).unwrap();
        symlink("far/real.csv", path("a.csv")).unwrap();
        symlink("a.csv", path("b.csv")).unwrap();
        for text in ["made", "replaced"] {
            let mut file = OutputFile::create(path("b.csv")).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            // Where the link leads now is of no account any more.
            fs::remove_file(path("a.csv")).unwrap();
            symlink("elsewhere", path("a.csv")).unwrap();
            file.commit().unwrap();
            fs::remove_file(path("a.csv")).unwrap();
            symlink("far/real.csv", path("a.csv")).unwrap();
            assert_eq!(fs::read_to_string(path("far/real.csv")).unwrap(), text);
        }
        assert!(!path("elsewhere").exists());
        symlink("round", path("round")).unwrap();
        assert!(OutputFile::create(path("round")).is_err());
    }

    #[test]
    fn what_is_a_database_or_a_log_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let late = OutputFile::create(path("late")).unwrap();
        for name in ["db", "late"] {
            fs::write(path(name), [&MAGIC[..], b"and more"].concat()).unwrap();
        }
        let mut second = vec![0; 16_384];
        second.extend(MAGIC);
        fs::write(path("damaged"), second).unwrap();
        fs::write(path("log"), [&LOG_MAGIC[..], b"and more"].concat()).unwrap();
        fs::hard_link(path("db"), path("hard")).unwrap();
        symlink(path("db"), path("soft")).unwrap();
        for name in [
            "db",
            "damaged",
            "log",
            "hard",
            "soft",
            "db.wal",
            "db.wal.next",
            "damaged.wal",
        ] {
            let refused = OutputFile::create(path(name));
            assert!(matches!(refused, Err(Error::InvalidInput(_))), "{name}");
        }
        assert!(matches!(late.commit(), Err(Error::InvalidInput(_))));
        for name in [".wal", "none.wal", "db.csv"] {
            OutputFile::create(path(name)).unwrap();
        }
    }

    #[test]
    fn a_pipe_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path).unwrap()
        });
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"rows").unwrap();
        file.commit().unwrap();
        assert_eq!(reader.join().unwrap(), "rows");
        assert_eq!(names(directory.path()), ["pipe"]);
    }
}
