//! Looking at what a process writes: the files of a directory, and those that only the process itself still reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::markers::Search;

/// What was found, and how much was looked at.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Files without a name, such as those of a spill: bytes and hits.
    pub(crate) nameless_bytes: u64,
    pub(crate) nameless: BTreeSet<String>,
    /// Files with a name.
    pub(crate) named_bytes: u64,
    pub(crate) named: BTreeSet<String>,
}

/// Everything in a directory but its `input`, and below.
pub(crate) fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if path.ends_with("input") => {}
            true => files.extend(files_in(&path)),
            false => files.push(path),
        }
    }
    files
}

/// Searches the files of a directory.
pub(crate) fn search_files(directory: &Path, search: &Search) -> Seen {
    let mut seen = Seen::default();
    for path in files_in(directory) {
        // A file may go while it is looked at.
        let Ok(bytes) = fs::read(&path) else { continue };
        seen.named_bytes += bytes.len() as u64;
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = name.unwrap_or_default();
        let hits = search.find(&bytes);
        seen.named
            .extend(hits.iter().map(|hit| format!("{name}: {hit}")));
        let hits = search.find(name.as_bytes());
        seen.named
            .extend(hits.iter().map(|hit| format!("a file's name: {hit}")));
    }
    seen
}

/// Looks at a process until it is told to stop.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    watcher: JoinHandle<Seen>,
}

impl Watch {
    pub(crate) fn of(process: u32, directory: &Path, search: Arc<Search>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, directory) = (Arc::clone(&stop), directory.to_owned());
        let watcher = std::thread::spawn(move || {
            let mut looked = Looked::default();
            while !stopped.load(Ordering::Acquire) {
                looked.at_process(process, &directory, &search);
                std::thread::sleep(Duration::from_millis(2));
            }
            looked.seen
        });
        Self { stop, watcher }
    }

    pub(crate) fn end(self) -> Seen {
        self.stop.store(true, Ordering::Release);
        self.watcher.join().expect("the watcher")
    }
}

#[derive(Default)]
struct Looked {
    /// How far each file without a name has been looked at, by device and inode.
    to: BTreeMap<(u64, u64), u64>,
    seen: Seen,
}

impl Looked {
    fn at_process(&mut self, process: u32, directory: &Path, search: &Search) {
        let descriptors = format!("/proc/{process}/fd");
        for entry in fs::read_dir(descriptors).into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(entry.path()) else {
                continue;
            };
            let nameless = target.to_string_lossy().ends_with(" (deleted)");
            if !nameless && !target.starts_with(directory)
                || target.starts_with(directory.join("input"))
            {
                continue;
            }
            let Ok(file) = File::open(entry.path()) else {
                continue;
            };
            let Ok(meta) = file.metadata() else { continue };
            if !meta.is_file() {
                continue;
            }
            let to = self.to.entry((meta.dev(), meta.ino())).or_default();
            // What was at the end may have been half a needle.
            let from = to.saturating_sub(search.longest as u64);
            // Files with a name are written in place: what is new of them is searched here, the whole at the end.
            let mut bytes = vec![0; usize::try_from(meta.len().saturating_sub(from)).unwrap_or(0)];
            let Ok(()) = file.read_exact_at(&mut bytes, from) else {
                continue;
            };
            let hits = search.find(&bytes);
            let new = meta.len().saturating_sub(*to);
            *to = meta.len().max(*to);
            let (count, into) = match nameless {
                true => (&mut self.seen.nameless_bytes, &mut self.seen.nameless),
                false => (&mut self.seen.named_bytes, &mut self.seen.named),
            };
            *count += new;
            into.extend(hits.into_iter().map(str::to_owned));
        }
    }
}
