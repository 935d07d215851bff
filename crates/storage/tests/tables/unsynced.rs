//! What opening makes of files of which some have only what was synced: a crash while `synchronous` is off, which may lose the last
//! commits, but none of which a later one is there, and never the database.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

/// A file that knows what of it is durable for certain.
#[derive(Debug, Default)]
struct Watched {
    file: MemFile,
    synced: Mutex<Vec<u8>>,
}

impl StorageFile for Watched {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(offset, buf)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        self.file.write_all_at(offset, buf)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        *self.synced.lock().unwrap() = self.file.to_bytes();
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Default)]
struct WatchedFiles(Mutex<BTreeMap<String, Arc<Watched>>>);

impl WatchedFiles {
    /// The bytes of the three files: all, or where `only_synced` says so, those that are durable.
    fn image(&self, only_synced: [bool; 3]) -> [Option<Vec<u8>>; 3] {
        let files = self.0.lock().unwrap();
        let bytes = |at: usize| {
            let file = files.get(NAMES[at])?;
            Some(match only_synced[at] {
                true => file.synced.lock().unwrap().clone(),
                false => file.file.to_bytes(),
            })
        };
        [0, 1, 2].map(bytes)
    }
}

impl StorageFiles for WatchedFiles {
    fn open(&self, name: &str, _: bool) -> Result<Option<Arc<dyn StorageFile>>> {
        let file = self.0.lock().unwrap().get(name).cloned();
        Ok(file.map(|file| file as Arc<dyn StorageFile>))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        let mut files = self.0.lock().unwrap();
        Ok(Arc::clone(files.entry(name.to_owned()).or_default()) as Arc<dyn StorageFile>)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = self.0.lock().unwrap();
        if let Some(file) = files.remove(from) {
            files.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_is_durable_before_another_goes_on_behind_it() {
    let watched = Arc::new(WatchedFiles::default());
    let files = Arc::clone(&watched) as Arc<dyn StorageFiles>;
    let store = Store::create_in(files, None, &StoreOptions::default()).unwrap();
    store.set_checkpoint_on_close(false);
    store.set_synchronous(Synchronous::Off);
    let columns = vec![def("n", ColumnType::Int64)];
    fill(&store, "t", columns, &[int64s(0..10)]);
    let mut sums = vec![45];
    let commit = |numbers: std::ops::Range<i64>, sums: &mut Vec<i64>| {
        insert(&store, numbers);
        sums.push(sum(&store));
    };
    commit(100..103, &mut sums);
    commit(200..201, &mut sums);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    commit(1000..1001, &mut sums);
    commit(2000..2001, &mut sums);
    for choice in 0..8 {
        let only_synced = [0, 1, 2].map(|at| choice >> at & 1 == 1);
        let image = watched.image(only_synced);
        assert!(image.iter().all(Option::is_some), "two logs");
        let found = sum(&Files::new(false).with(&image).open());
        assert!(sums.contains(&found), "{found} with {only_synced:?}");
    }
    drop(checkpoint);
}
