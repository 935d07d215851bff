//! `Place`: a name in a directory, found once. Whatever happens to the working directory, to links or to the names of directories
//! afterwards, it is the same name in the same directory.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

/// Links that may stand one behind the other in the last part of a path.
const MOST_LINKS: usize = 40;

/// The mode of new files: for their owner alone.
const NEW_FILE: Mode = Mode::from_raw_mode(0o600);

/// Where a file is, or could be.
#[derive(Clone, Debug)]
pub(super) struct Place {
    directory: Arc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

impl Place {
    /// The place that `path` leads to now, behind its links.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let path = resolved(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        // Enough to find names in it, also for who may not list them.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(parent, flags, Mode::empty())?;
        Ok(Self {
            directory: Arc::new(directory),
            name: name.to_owned(),
            path,
        })
    }

    /// Where it was when it was found: absolute, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Another name in the directory.
    pub(super) fn beside(&self, name: OsString) -> Self {
        Self {
            directory: Arc::clone(&self.directory),
            path: self.path.with_file_name(&name),
            name,
        }
    }

    /// The same name made longer.
    pub(super) fn with_ending(&self, ending: &str) -> Self {
        let mut name = self.name.clone();
        name.push(ending);
        self.beside(name)
    }

    /// The name of which this one is that, made longer by `ending`.
    pub(super) fn without_ending(&self, ending: &str) -> Option<Self> {
        use std::os::unix::ffi::OsStrExt;
        let name = self.name.as_bytes().strip_suffix(ending.as_bytes())?;
        (!name.is_empty()).then(|| self.beside(std::ffi::OsStr::from_bytes(name).to_owned()))
    }

    /// What is there, which may be a link by now; nothing is opened in a way that takes or drops a lock.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.open(OFlags::PATH)?.metadata()
    }

    /// Opens what is there, or makes a file that only its owner may read. No link is followed.
    pub(super) fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, &self.name, flags, NEW_FILE)?;
        Ok(file.into())
    }

    /// A file in the directory that has no name yet, where the system can make one and can name it later.
    pub(super) fn nameless(&self) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file: File = rustix::fs::openat(&self.directory, ".", flags, NEW_FILE)
            .ok()?
            .into();
        fs::metadata(handle_of(&file)).is_ok().then_some(file)
    }

    /// Gives a [`Place::nameless`] file this name, which must be free.
    pub(super) fn give_to(&self, file: &File) -> io::Result<()> {
        let (handle, follow) = (handle_of(file), AtFlags::SYMLINK_FOLLOW);
        rustix::fs::linkat(CWD, handle, &self.directory, &self.name, follow)?;
        Ok(())
    }

    /// Gives what is here another name in the directory. What had that name is gone.
    pub(super) fn rename(&self, to: &Self) -> io::Result<()> {
        rustix::fs::renameat(&self.directory, &self.name, &to.directory, &to.name)?;
        Ok(())
    }

    /// Takes the name away.
    pub(super) fn remove(&self) -> io::Result<()> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())?;
        Ok(())
    }

    /// Makes durable what the directory says about names.
    pub(super) fn sync_directory(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.directory, ".", flags, Mode::empty())?;
        File::from(directory).sync_all()
    }
}

/// By which the system finds an open file.
fn handle_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// The absolute path without links that a path leads to; a file need not be there.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            whole => return whole,
        }
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
        let here = parent.join(name);
        match fs::read_link(&here) {
            Ok(to) => path = parent.join(to),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(here),
            // It has come to be since.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => path = here,
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}
