//! What `hush serve --demo` begins with: pgbench's tables at scale 1, as `pgbench -i` makes them, with primary keys.

use super::{FIRST, Instance};
use crate::failure::{Result, ServeError};

/// Made in one transaction, so that all of it is there, or nothing.
const STATEMENTS: [&str; 9] = [
    "BEGIN",
    "CREATE TABLE pgbench_branches (bid INT NOT NULL PRIMARY KEY, bbalance INT, filler CHAR(88))",
    "CREATE TABLE pgbench_tellers (tid INT NOT NULL PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84))",
    "CREATE TABLE pgbench_accounts (aid INT NOT NULL PRIMARY KEY, bid INT, abalance INT, filler CHAR(84))",
    "CREATE TABLE pgbench_history (tid INT, bid INT, aid INT, delta INT, mtime TIMESTAMP, filler CHAR(22))",
    "INSERT INTO pgbench_branches (bid, bbalance) VALUES (1, 0)",
    "INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT i, 1, 0 FROM generate_series(1, 10) g(i)",
    "INSERT INTO pgbench_accounts (aid, bid, abalance, filler) SELECT i, 1, 0, '' FROM generate_series(1, 100000) g(i)",
    "COMMIT",
];

impl Instance {
    /// Loads pgbench's tables into the first database.
    ///
    /// # Errors
    /// What making them gives; they are there already in an instance that is not new.
    pub(crate) fn load_demo(&self) -> Result<()> {
        let row = self.online(FIRST).map_err(said)?;
        let connection = self.connect(&row).map_err(said)?;
        let made = STATEMENTS
            .iter()
            .try_for_each(|sql| connection.execute(sql).map(drop));
        drop(connection);
        self.disconnected(FIRST);
        made.map_err(|error| ServeError::other(error.to_string()))
    }
}

fn said((_, message): super::Refused) -> ServeError {
    ServeError::other(message)
}
