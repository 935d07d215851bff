//! The checks that decide about trust and durability, each with what it looks like when it is taken out.
//!
//! What must hold: the text that a mutant takes out occurs exactly once in its file (`tests/mutants.rs`), so that the list cannot
//! go stale; and with it taken out, the tests that it names fail (`cargo run -p hushdb-sim --bin mutants`).

/// One check, and what stands in its place when it is taken out.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// What no longer happens.
    pub name: &'static str,
    /// From the root of the repository.
    pub file: &'static str,
    /// The check as it is written; once in the file.
    pub from: &'static str,
    /// What takes its place.
    pub to: &'static str,
    /// Which tests must notice.
    pub tests: Tests,
}

/// A set of tests of which one has to fail without a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// Known answers and self-test.
    Crypto,
    /// Headers and slots.
    Keys,
    /// Blocks, logs, tables and hostile files; the test target that is most likely to fail.
    Storage(&'static str),
    /// Storage, then crashes on the simulated disk.
    Crashes(&'static str),
    /// Histories of clients that wait for each other.
    Histories,
    /// Places for keys: units, and the servers and stubs that are there.
    Places,
}

/// Test targets of `hushdb-storage`; its unit tests are one.
const STORAGE: [&str; 6] = [
    "lib",
    "block_store",
    "logs",
    "refusals",
    "tables",
    "testkit",
];

impl Tests {
    /// Arguments of `cargo test`, one command after the other until one fails. Each builds only what it runs.
    pub fn commands(self) -> Vec<Vec<&'static str>> {
        match self {
            Self::Crypto => vec![of("hushdb-crypto", &["lib"])],
            Self::Keys => vec![of("hushdb-keys", &["lib"])],
            Self::Histories => vec![of("hushdb-sim", &["histories"])],
            Self::Places => vec![of(
                "hushdb-kms",
                &["lib", "exec", "vault", "kmip", "aws", "pkcs11"],
            )],
            Self::Storage(first) => {
                let others: Vec<&str> = STORAGE.into_iter().filter(|of| *of != first).collect();
                vec![
                    of("hushdb-storage", &[first]),
                    of("hushdb-storage", &others),
                ]
            }
            Self::Crashes(first) => {
                let mut commands = Self::Storage(first).commands();
                commands.push(of("hushdb-sim", &["crashes", "failed_sync", "rekey"]));
                commands
            }
        }
    }
}

/// Arguments that run test targets of a package.
fn of(package: &'static str, targets: &[&'static str]) -> Vec<&'static str> {
    // Beside the shell dependencies have the features that they have in every other build.
    let mut arguments = vec!["-p", package, "-p", "hushdb-cli"];
    for target in targets {
        match *target {
            "lib" => arguments.push("--lib"),
            target => arguments.extend(["--test", target]),
        }
    }
    arguments
}

macro_rules! mutants {
    ($($tests:expr, $file:literal { $($name:literal: $from:literal => $to:literal;)* })*) => {
        /// All of them.
        pub const MUTANTS: &[Mutant] = &[$($(Mutant {
            name: $name,
            file: $file,
            from: $from,
            to: $to,
            tests: $tests,
        },)*)*];
    };
}

mutants! {
    Tests::Crypto, "crates/crypto/src/aws_lc.rs" {
        "aws-lc: GCM opens whatever its tag":
            ".map_err(|_| OpenError)" => ".or(Ok(()))";
        "aws-lc: a wrapped key is taken without its check value":
            "kek.unwrap(wrapped, key)\n            .map(|_| ())\n            .map_err(|_| UnwrapError)" => "kek.unwrap(wrapped, key).map(|_| ()).or(Ok(()))";
    }
    Tests::Crypto, "crates/crypto/src/constant_time.rs" {
        "any two secrets are equal": "a.ct_eq(b).into()" => "a.len() == b.len()";
    }
    Tests::Crypto, "crates/crypto/src/provider.rs" {
        "any MAC holds":
            "constant_time_eq(&self.hmac_sha256(key, parts), mac)" => "constant_time_eq(mac, mac) || key.is_there() || parts.is_empty()";
    }
    Tests::Keys, "crates/keys/src/unverified_header.rs" {
        "the commitment to the master key is not compared":
            "!constant_time_eq(master.commitment(), &secrets.commitment)" => "false && secrets.slots.is_empty()";
        "the header's MAC is not looked at":
            "!crypto.hmac_sha256_verify(master.mac_key(), &[&self.page[..MAC_AT]], &self.mac())" => "crypto.name().is_empty()";
        "keys of another database are taken":
            "self.fields.database_id != keys.database_id" => "false";
    }
    Tests::Keys, "crates/keys/src/header.rs" {
        "the last slot can be removed": "self.fields.slots().len() == 1" => "false";
        "slots are changed with keys of another database":
            "*keys.master.commitment() != secrets.commitment" => "false";
        "a change of slots keeps the sequence": "fields.sequence.checked_add(1)" => "fields.sequence.checked_add(0)";
    }
    Tests::Keys, "crates/keys/src/stretch.rs" {
        "work for passphrases has no budget": "self.0.checked_sub(kdf.work())" => "self.0.checked_sub(kdf.work().min(0))";
    }
    Tests::Keys, "crates/keys/src/header_fields.rs" {
        "a header may have bytes that mean nothing": "page[..MAC_AT] != written[..MAC_AT] || !mac_is_allowed" => "!mac_is_allowed";
        "a header's CRC is not looked at": "crc32c::crc32c(&page[..CRC_AT]).to_le_bytes() != field::<4>(page, CRC_AT)" => "false";
    }
    Tests::Storage("refusals"), "crates/storage/src/block/sealed_file.rs" {
        "a block need not have the tag that its parent names": " || raw.tag != r.tag" => "";
        "a block need not be what its parent says": "!raw.says(&envelope) || raw" => "raw";
        "a block is opened under any tag":
            "key\n                        .open_in_place(&nonce, &aad, raw.body, &r.tag)\n                        .map_err(|_| refused())" => "key\n                        .open_in_place(&nonce, &aad, raw.body, &r.tag)\n                        .or(Ok(()))";
        "the digest of a block of suite 2 is not compared": "BlockKey::Ctr(key) if self.digest(&aad, &nonce, raw.body) == r.tag" => "BlockKey::Ctr(key) if aad.len() > nonce.len()";
        "the checksum of a plain block is not compared": "None if checksum(&aad, raw.body) == r.tag" => "None if !aad.is_empty()";
        "a block may lie behind the end": "end.is_none_or(|end| end.number() > end_sector)" => "end.is_none_or(|end| end_sector == 0 && end.number() > 0)";
        "a superblock's checksum is not looked at": "if !raw.is_intact() {\n            return Err(Error::SuperblockDamaged);" => "if raw.body.is_empty() {\n            return Err(Error::SuperblockDamaged);";
    }
    Tests::Storage("tables"), "crates/storage/src/block/sealed_file.rs" {
        "a block is opened with the cipher of new blocks": "let known = suites.iter().find(|(id, _)| *id == key_id);" => "let known = suites.iter().find(|(id, _)| *id == self.key_id());";
    }
    Tests::Storage("lib"), "crates/storage/src/block/key_epochs.rs" {
        "a key of before a fork seals on": "(epoch.process == process" => "((epoch.process == process || process > 0)";
        "seals of a key are not counted": "epoch.seals.fetch_add(1, Ordering::Relaxed)" => "epoch.seals.fetch_add(0, Ordering::Relaxed)";
    }
    Tests::Crashes("block_store"), "crates/storage/src/store/committing.rs" {
        "the root moves before its blocks are durable": "let flipped = self\n            .sync()\n            .and_then(|()| self.flip(&root, superblock, key_id));" => "let flipped = self.flip(&root, superblock, key_id);";
        "a superblock or header copy is not waited for": "written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?;\n        self.sync()" => "written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?;\n        Ok(())";
        "only one superblock slot is written": "for slot in [first, 1 - first]" => "for slot in [first]";
        "a handle writes on after a failed write of a fixed part": "written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?" => "written?";
        "a handle writes on after a failed sync": "Ok(synced.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?)" => "Ok(synced?)";
        "both copies of a header are changed before the superblock names it": "self.write_fixed(HEADER_OFFSETS[standby], header.to_page().as_slice())?;" => "for at in HEADER_OFFSETS {\n            self.write_fixed(at, header.to_page().as_slice())?;\n        }";
    }
    Tests::Storage("refusals"), "crates/storage/src/store/opening.rs" {
        "a superblock need not name the header": "(named.header_sequence, named.header_mac) != (header.sequence(), header.mac())" => "named.header_sequence > u64::MAX - 1";
        "two superblocks of one generation are no fork": "a.superblock.generation == b.superblock.generation && a.page != b.page" => "a.superblock.generation == Default::default() && a.page != b.page";
        "the older superblock is taken": "b.superblock.generation > a.superblock.generation => b" => "b.superblock.generation < a.superblock.generation => b";
        "a superblock may have another generation than its envelope": "superblock.generation != block_ref.birth()" => "superblock.generation.number() == u64::MAX";
        "a file may be shorter than its superblock says": "Some(expected_bytes) if expected_bytes <= found_bytes => Ok(())" => "Some(_) => Ok(())";
    }
    Tests::Storage("logs"), "crates/storage/src/log/log_seal.rs" {
        "any header of a log holds": "constant_time_eq(&self.header_mac(header), mac)" => "constant_time_eq(mac, mac) || header.is_empty()";
        "a record is not bound to the one before it": "aad[32..48].copy_from_slice(previous);" => "aad[32..48].copy_from_slice(&previous.map(|_| 0));";
        "a record is not bound to its log": "aad[24..32].copy_from_slice(&self.sequence.to_le_bytes());" => "let _ = self.sequence;";
        "a record is not bound to its database": "aad[8..24].copy_from_slice(&self.database_id);" => "let _ = self.database_id;";
    }
    Tests::Storage("logs"), "crates/storage/src/log/log_header.rs" {
        "a log need not have its sequence": "found.sequence != basis.sequence" => "false";
        "a log need not build on its generation": "found.base_generation != basis.base_generation" => "false";
        "a log need not have the chain tag and salt": "found.chain_tag == basis.chain_tag && salt.is_none_or(|salt| *salt == self.salt)" => "salt.is_none_or(|salt| salt.len() == self.salt.len())";
        "a log of another database is taken": "self.database_id() != owner.database_id" => "false";
    }
    Tests::Storage("logs"), "crates/storage/src/log/log_reader.rs" {
        "records may be missing before one": "found > lsn" => "false && found > lsn";
        "a record may come again": "found < lsn" => "false && found < lsn";
        "a record may say that what follows it is durable": "head.durable_lsn > lsn" => "false && head.durable_lsn > lsn";
        "what is durable may go back": "head.durable_lsn < self.durable_lsn" => "false";
        "damage before a record that was durable is a torn tail": "head.filter(|(head, _)| head.proves_durable(at, lsn))" => "head.filter(|(head, _)| head.proves_durable(at, lsn) && at < lsn)";
    }
    Tests::Crashes("logs"), "crates/storage/src/log/log_writer.rs" {
        "a record is written before the last one is durable": "if self.synchronous == Synchronous::Full {\n            self.sync()?;\n        }\n        if self.records" => "if self.records";
        "a new log's header is not waited for": "this.extend(position)?;\n        this.file.sync()?;" => "this.extend(position)?;";
        "a log takes records without an end": "self.records >= MAX_RECORDS || " => "";
        "a log of before a fork goes on": " || self.process != std::process::id()" => "";
        "a log goes on after a write that failed": "self.failed |= !is_undone;" => "let _ = is_undone;";
        "a log goes on after a sync that failed": "self.failed |= result.is_err();" => "";
    }
    Tests::Crashes("tables"), "crates/storage/src/catalog/commit_log.rs" {
        "a commit is acknowledged before its record is durable": "writer.append(&payload)?;\n        if self.synchronous == Synchronous::Full {\n            writer.sync()?;\n        }" => "writer.append(&payload)?;";
        "the name of a new log is not waited for": "let writer = LogWriter::create(file, &blocks.log_owner(), basis, self.synchronous)?;\n        files.sync()?;" => "let writer = LogWriter::create(file, &blocks.log_owner(), basis, self.synchronous)?;";
        "a log that was left behind stays when the old key is given up": "if self.writer.is_none() {\n            self.discard(files.as_ref(), LOG_NAME)?;\n        }\n        files.sync()?;" => "files.sync()?;";
        "the next log takes its name without waiting": "self.rename()?;\n        old.sync_names()?;" => "self.rename()?;";
    }
    Tests::Storage("tables"), "crates/storage/src/catalog/recovery.rs" {
        "a next log need not follow the last record": "found.chain_tag == end.last_tag" => "found.chain_tag.len() == end.last_tag.len()";
        "a log with another salt is the one that is named": "&& *header.salt() == state.salt" => "";
        "a log that builds on a later state is left over": "basis.base_generation > blocks.generation() || reader.next_record()?.is_some()" => "reader.next_record()?.is_some()";
        "a log of a later state with records is left over": "basis.base_generation > blocks.generation() || reader.next_record()?.is_some()" => "basis.base_generation > blocks.generation()";
    }
    Tests::Crashes("block_store"), "crates/storage/src/store/space.rs" {
        "space is used again while it is still needed": "self.extents.release(oldest).map_err(freed_twice)" => "self.extents.release(oldest.max(Generation::new(u64::MAX))).map_err(freed_twice)";
    }
    Tests::Storage("tables"), "crates/storage/src/catalog/recovery.rs" {
        "a log that the superblock names need not be there": "if !state.is_open {" => "if !state.is_open || log.is_none() && next.is_none() {";
        "a log need not reach the anchor": "must_reach.filter(|_| !reached)" => "must_reach.filter(|_| !reached && basis.sequence == 0)";
        "another record may end where the anchor's did": "reached |= must_reach == Some(record.reached);" => "reached |= must_reach.map(|(end, _)| end) == Some(record.reached.0);";
        "a log of the anchor that was closed since need not have been there": "self.freshness.check_last_log(state.sequence)?;" => "";
        "a next log of the anchor need not be there": "self.freshness.check_last_log(recovered.last_sequence)?;" => "";
        "a log may be missing before the next one": "if found.sequence > next {" => "if found.sequence == u64::MAX && next > 0 {";
        "a next log may build on a later state": "if found.base_generation > blocks.generation() {" => "if found.base_generation.number() == u64::MAX {";
        "a next log with records that does not follow is left over": "if reader.next_record()?.is_none() {" => "if reader.next_record().is_ok() {";
        "records behind a damaged header of a next log are left over": "if is_only_a_header(file)? =>" => "if is_only_a_header(file).is_ok() =>";
        "a log may build on the state that names it": "if base >= newest {" => "if base == u64::MAX {";
        "a log of a later sequence is left over": "if found > last + 1 {" => "if found == u64::MAX {";
        "a log of another database is removed": "refuse_foreign(file, blocks)?;" => "let _ = file;";
        "a log of another database is removed beside a renamed one": "log.map_or(Ok(()), |log| refuse_foreign(&log, blocks))?;" => "let _ = log;";
    }
    Tests::Storage("tables"), "crates/storage/src/store/history.rs" {
        "an anchor may be of another run": "run != anchor.run" => "run.len() != anchor.run.len()";
        "an anchor may have more of a log than the next run found": "Some(past) if !past.has(anchor.log_sequence, anchor.log_end) =>" => "Some(past) if past.last_generation == Generation::default() =>";
        "any position in the last log of a run is held": "let whole = self.log_end == Lsn::NONE || log_end <= self.log_end;" => "let whole = true;";
        "a later log than the last of a run is held": "log_sequence == self.log_sequence && whole" => "whole";
        "the last generation of a run is one of the next": "past.last_generation >= generation" => "past.last_generation > generation";
        "entries in the tree are not asked before those in the superblock": "Some(at) => at == 0," => "Some(_) => false,";
        "entries in the tree are not asked where there are no others": "None => self.recent.is_empty()," => "None => false,";
        "a run leaves no entry": "if next.run != run {" => "if next.run == RunId::default() {";
        "an entry does not say where the log ended": "match before.wal.is_open && before.history.run != self.run {" => "match before.wal.is_open && before.wal.sequence == u64::MAX {";
        "entries of a superblock may be in any order": "match this.is_in_order(&now) {" => "match now.log_end == Lsn::NONE {";
        "generations of runs may go back": "before.last_generation < self.last_generation\n                && before" => "before";
        "logs of runs may go back": "\n                && before.log_sequence <= self.log_sequence" => "";
        "a superblock may be of no run": "now.run != RunId::default()\n            && pairs" => "pairs";
        "a run between others may have no id": "(first || self.run != RunId::default())" => "(first || self.run.len() == 16)";
        "a run behind those in the tree may have no id": "named && past.follows(before)" => "(named || at == 0) && past.follows(before)";
        "a tree may have no entries": "root.is_some() != (entries > 0)" => "false";
        "a superblock takes runs without an end": "..=MAX_RECENT => Ok(next)," => "_ if !next.recent.is_empty() => Ok(next),\n            0 => Ok(next),";
    }
    Tests::Storage("tables"), "crates/storage/src/store/anchor.rs" {
        "any superblock is the expected one": "Some(expected) if expected != *root_digest =>" => "Some(expected) if expected.is_empty() =>";
        "the superblock that is expected may have a log": "Some(_) if has_log =>" => "Some(_) if has_log && generation == Generation::default() =>";
        "an anchor of another database is taken": "anchor.database_id != *database_id" => "anchor.database_id.len() != database_id.len()";
        "a generation before the anchor's is taken": "generation < anchor.generation" => "generation == Generation::default()";
        "another superblock of the anchor's generation is taken": "generation == anchor.generation && anchor.root_digest != *root_digest" => "generation == Generation::default() && anchor.root_digest != *root_digest";
        "the anchor's place in a log is not asked for": ".filter(|a| a.log_sequence == sequence && a.log_end > Lsn::NONE)?" => ".filter(|a| a.log_sequence == sequence && a.log_end == Lsn::new(u64::MAX))?";
        "the log of an open database may be before the anchor": "Some((expected, _)) if end < expected =>" => "Some((expected, _)) if end == 0 =>";
        "the anchor's log may be behind the last one": "anchor.log_end > Lsn::NONE && anchor.log_sequence > sequence =>" => "anchor.log_end > Lsn::NONE && anchor.log_sequence > sequence.max(u64::MAX) =>";
        "an anchor with a run may be of none": "let run = bytes(run).filter(|run| *run != [0; 16]);" => "let run = bytes(run);";
    }
    Tests::Storage("tables"), "crates/storage/src/store/block_store.rs" {
        "an anchor is not held against the superblock": "this.holds(&options.freshness)?;" => "";
        "runs are not asked about an anchor": "Some(anchor) if anchor.generation < superblock.generation => {" => "Some(anchor) if anchor.generation < superblock.generation.min(Generation::new(1)) => {";
        "all openings are one run": "false => new_run(&options.crypto)?," => "false => opening.root.superblock.history.run,";
        "a block may lie in the fixed part of the file": "if r.place() < FIRST_SECTOR {" => "if r.sector == u64::MAX {";
        "a database is made over a file with something in it": "if !file.is_empty()? {" => "if !file.is_empty()? && options.read_only {";
    }
    Tests::Crashes("block_store"), "crates/storage/src/store/block_store.rs" {
        "a repair of a fixed part is not waited for": "file.write_all_at(*offset, page.as_slice())?;\n            file.sync()?;" => "file.write_all_at(*offset, page.as_slice())?;";
        "a new file is a database before its superblocks are durable": "file.write_all_at(HEADER_OFFSETS[1], page.as_slice())?;\n        file.sync()?;" => "file.write_all_at(HEADER_OFFSETS[1], page.as_slice())?;";
        "a new file is not waited for": "file.sync()?;\n        file.sync_directory()?;" => "file.sync_directory()?;";
        "the name of a new file is not waited for": "file.sync()?;\n        file.sync_directory()?;" => "file.sync()?;";
    }
    Tests::Storage("lib"), "crates/storage/src/store/superblock.rs" {
        "a superblock of a later release is read": "_ => return Err(Error::Unsupported(format!(\"superblock version {version}\")))," => "_ => (rest, &[]),";
        "a superblock without a history may have one": "WITHOUT_HISTORY => (&[], rest)," => "WITHOUT_HISTORY => (&[], &[]),";
        "a superblock may have bytes that mean nothing": "reserved.concat().iter().any(|&byte| byte != 0)" => "reserved.concat().is_empty()";
        "a log may be neither open nor closed": "_ => return Err(malformed(\"its log state is unknown\"))," => "_ => true,";
        "a file may end before its fixed parts": "match Sector::new(this.total_sectors) {" => "match Sector::new(this.total_sectors).max(FIRST_SECTOR) {";
    }
    Tests::Keys, "crates/keys/src/key_ring.rs" {
        "a retired key need not have its commitment": "!constant_time_eq(&found, &key.commitment)" => "found.len() != key.commitment.len()";
        "a ring need not go with its header": "|| newest_retired != self.previous_key_id()" => "";
        "a time without a key may be beside other keys": "let is_alone = !was_plain || count == 1;" => "let is_alone = count > 0 || !was_plain;";
        "an entry for the time without a key may say anything": "|| is_plain && !nothing " => "";
        "a retired key may be of no cipher": "if is_plain == suite.is_encrypted() || " => "if ";
        "the system's key id may be given again": "self.system_key_id >= ring.next_key_id\n            || " => "";
    }
    Tests::Storage("tables"), "crates/storage/src/store/opening.rs" {
        "what the previous key opens is the root": "[0, 1].map(|slot| read_slot(sealed, sealed.key_id(), slot))" => "[0, 1].map(|slot| {\n        let found = read_slot(sealed, sealed.key_id(), slot);\n        found.or_else(|error| read_slot(sealed, previous.ok_or(error)?, slot))\n    })";
    }
    Tests::Storage("tables"), "crates/storage/src/block/sealed_file.rs" {
        "plain blocks are read in every file": "(0, _) if suite() == Some(Suite::Plain) => None," => "(0, _) => None,";
    }
    Tests::Crashes("tables"), "crates/storage/src/store/key_ring.rs" {
        "another data key comes before the change before has ended": "if ring.is_some_and(KeyRing::has_retired) {\n                return Ok(None);\n            }\n            let mut header = header.clone();\n            let suite" => "let mut header = header.clone();\n            let suite";
        "another master key comes before the change before has ended": "if ring.is_some_and(KeyRing::has_retired) {\n                return Ok(None);\n            }\n            let mut header = header.clone();\n            let next = header.rekey" => "let mut header = header.clone();\n            let next = header.rekey";
        "first keys of another time are taken": "if header.suite().is_encrypted() || !is_next || self.log_state().is_open {" => "if self.log_state().is_open {";
        "a ring may be under an earlier data key": "r.key_id != sealed.key_id() || r.place()" => "r.place()";
        "copies of the ring may differ": "(Some(first), Some(second)) if first != second" => "(Some(first), Some(second)) if first.is_empty() && first != second";
        "the places of a replaced ring are not overwritten": "file.write_all_at(offset, &vec![0; len])?;" => "";
        "whatever a ring reserves is overwritten": "bytes.starts_with(&[0; 4]) || is_block_of(&bytes, Role::KeyRing, sector)" => "!bytes.is_empty() || is_block_of(&bytes, Role::KeyRing, sector)";
        "the ring is not told which places it replaces": "next.ring.reserved = replaced.map(|e| (e.sector.number(), e.sectors)).collect();" => "next.ring.reserved = replaced.map(|e| (e.sector.number(), e.sectors)).take(0).collect();";
    }
    Tests::Crashes("tables"), "crates/storage/src/catalog/rekey.rs" {
        "an old key is given up while blocks under it are on their way in": "oldest < clean_since || !self.blocks.is_aside_under_newest()?" => "oldest < clean_since";
        "an old key is given up while a snapshot needs it": "oldest < clean_since || !self" => "!self";
        "a replaced ring that could not be overwritten stays": "let _alone = wait_for(&self.checkpointing)?;\n            self.blocks.overwrite_reserved()" => "let _alone = wait_for(&self.checkpointing)?;\n            Ok(())";
        "what is free stays as it was": "self.scrub(tell)?;" => "";
        "plain logs stay on the disk as they were": "wait_for(&self.log)?.overwrites = true;\n        let began" => "let began";
        "a plain log is open while the file comes to be encrypted": "if log.is_open() {\n            self.flip_resealed(&mut log, &mut state, None)?;\n        }" => "";
        "an old key is given up while the file's own blocks are under it": "let own_is_newest = self.blocks.own_is_under(key_id)?;" => "let own_is_newest = true;";
    }
    Tests::Crashes("tables"), "crates/storage/src/catalog/store.rs" {
        "an anchor is given for what is not durable": "let last = log.durable_end()?.or(self.replayed_to);" => "let last = log.last().or(self.replayed_to);";
    }
    Tests::Storage("tables"), "crates/storage/src/catalog/store.rs" {
        "where a log ended is not told to the next superblock": "blocks.log_was_found(last.sequence, last.end);" => "blocks.log_was_found(last.sequence, last.end.max(Lsn::new(u64::MAX)));";
        "a file with a log is opened without it": "None if blocks.log_state().is_open => {" => "None if blocks.log_state().is_open && is_volatile => {";
        "an open database is not held against an anchor": "self.blocks.holds(freshness)?;" => "";
        "the log of an open database is not held against an anchor": "Some(last) => freshness.check_open_log(last.sequence, last.end)," => "Some(last) => freshness.check_last_log(last.sequence),";
        "the closed log of an open database is not held against an anchor": "None => freshness.check_last_log(self.blocks.log_state().sequence)," => "None => Ok(()),";
        "a new database takes the next log of another": "is_there(LOG_NAME)? || is_there(NEXT_LOG_NAME)?" => "is_there(LOG_NAME)?";
    }
    Tests::Histories, "crates/storage/src/catalog/rebase.rs" {
        "own rows melt into those of others when a transaction goes on": "change.apply_apart(theirs, own)?;" => "change.apply_apart(theirs, own.min(Default::default()))?;";
        "a transaction that has gone on commits as if it had not": "self.base = newest;" => "drop(newest);";
        "who goes on takes its own state of a table that others changed": ".is_some_and(|now| Arc::ptr_eq(now, base))" => ".is_some()";
        "who goes on does not see keys that others have added": "change.apply_apart(theirs, own)?;\n            if !is_base {" => "change.apply_apart(theirs, own)?;\n            if !is_base && own == Default::default() {";
        "own rows keep the ids that others have taken": "group.first_row_id.saturating_add(shift)" => "group.first_row_id.saturating_add(shift.min(0))";
    }
    Tests::Histories, "crates/storage/src/catalog/transaction.rs" {
        "going back to a savepoint keeps what was read since": "        self.base = Arc::clone(&savepoint.base);\n" => "";
        "own rows are merged with those that were there": "let merge_from = self.first_own_row(id);" => "let merge_from = self.first_own_row(id).min(Default::default());";
    }
    Tests::Histories, "crates/storage/src/catalog/transaction_locks.rs" {
        "who defines does not look again at what others have defined": "if self.newest()?.definitions != self.base.definitions {\n            return Err(Error::Overtaken);\n        }" => "";
        "who has a whole table does not look again at its rows": "now.is_some_and(|now| now.changes == base.changes)" => "now.is_some()";
        "who has waited does not look again": ".try_for_each(|table| self.still_holds(table, &newest))" => ".try_for_each(|table| self.still_holds(table, &self.base))";
    }
    Tests::Storage("tables"), "crates/storage/src/catalog/queued_states.rs" {
        "who takes no locks sees what is queued": "        state.newest = newest;" => "        state.newest = self.publish_shared(newest);";
        "who holds locks sees what is durable": "if !self.releases_early() && owner.looked_at() == 0 {" => "if owner.looked_at() < u64::MAX {";
        "what is looked at is forgotten": "owner.has_looked_at(ticket);" => "";
        "blocks of what is queued may be reused while it is read": "self.keep(&newest);" => "";
    }
    Tests::Histories, "crates/storage/src/catalog/queued_states.rs" {
        "a key need not mean the same any more": "Ok(rows.is_some() && rows == of(base)?)" => "Ok(rows.is_some())";
        "nobody waits for what was looked at": "if ticket == 0 {" => "if ticket < u64::MAX {";
        "a statement sees less than the one before": "            false => self.look(owner),\n" => "            false => Ok(self.snapshot()),\n";
    }
    Tests::Storage("tables"), "crates/storage/src/catalog/commit_queue.rs" {
        "who has looked at what was given up goes on": "[before, now].iter().any(" => "[before, now].iter().all(|_| false) && [before, now].iter().any(";
    }
    Tests::Storage("tables"), "crates/storage/src/catalog/commit.rs" {
        "what builds on what was given up is committed": "            self.store.still_counts(owner)?;" => "            drop(Arc::clone(owner));";
        "who moves the root lets go of its locks first": "        let (version, _) = self.rebase_on(&state)?;" => "        let (version, _) = self.rebase_on(&state)?;\n        self.release_early();";
        "who defines lets go of its locks before it waits for the file": "        let _alone = wait_for(&store.checkpointing)?;\n        let mut log = wait_for(&store.log)?;" => "        self.release_early();\n        let _alone = wait_for(&store.checkpointing)?;\n        let mut log = wait_for(&store.log)?;";
        "what is too long for the log lets go of its locks first": "MAX_QUEUED_BYTES\n            {\n                return Ok(None);" => "MAX_QUEUED_BYTES\n            {\n                transaction.release_early();\n                return Ok(None);";
        "who queues keeps its locks": "        transaction.release_early();\n" => "";
        "what a commit failed by is told before it is durable": "            let _ = self.newest();" => "";
    }
    Tests::Storage("lib"), "crates/storage/src/catalog/commit.rs" {
        "an older state is shown before the tickets of the newer are given up": "        self.queue.failed(state.tickets);\n        state.queue.clear();\n        state.queued_bytes = 0;\n        let published = self.snapshot();\n        self.show(&mut state, published);" => "        state.queue.clear();\n        state.queued_bytes = 0;\n        let published = self.snapshot();\n        self.show(&mut state, published);\n        self.queue.failed(state.tickets);";
    }
    Tests::Histories, "crates/storage/src/locks/lock_table.rs" {
        "a lock is had by all who ask": "if is_first && lock.is_free(owner, mode)" => "if is_first || lock.is_free(owner, mode)";
        "nobody looks who waits for whom": "if deadlock::is_in_cycle(state, wanted.owner) {\n                return Err(LockError::Deadlock);\n            }\n            if (wanted" => "if (wanted";
    }
    Tests::Places, "crates/kms/src/blob.rs" {
        "bytes of a slot are sent to a place however long they are":
            "is_fit && !bytes.is_empty() && bytes.len() <= MAX_SERVICE_BYTES" => "is_fit && !bytes.is_empty()";
    }
    Tests::Places, "crates/kms/src/key_url.rs" {
        "a user and a password may stand in a URL": "authority.contains('@')" => "authority.contains('\\0')";
        "what a URL says beside its known parameters is dropped":
            "match self.parameters.into_iter().next() {" => "match self.parameters.into_iter().find(|_| false) {";
    }
    Tests::Places, "crates/kms/src/http.rs" {
        "a token goes to any host without TLS":
            "!is_tls && !is_this_machine(&host) && !link.contains(&host.as_str())" => "!is_tls && host.is_empty()";
        "a redirect is followed": ".max_redirects(0)" => ".max_redirects(5)";
        "an answer may have any length": "Ok(len) if len <= MAX_BODY_BYTES => Ok(body)" => "Ok(_) => Ok(body)";
    }
    Tests::Places, "crates/kms/src/vault/mod.rs" {
        "a URL may lead a token to another host than VAULT_ADDR":
            "host != origin.host || port.is_some_and(|port| port != origin.port)" => "host.is_empty()";
        "a Vault may give another key back than it was given":
            "if self.decrypt(&service, name, &ciphertext, &bound)? != root {" => "if self.decrypt(&service, name, &ciphertext, &bound)?.expose().is_empty() {";
        "a key of Vault need not bind what it wraps":
            "match self.decrypt(&service, name, &ciphertext, &other) {" => "match self.decrypt(&service, name, &ciphertext, &other).and(Err::<(), _>(self.not_of_this_place())) {";
        "anything in a slot is sent to Vault": "if !is_ciphertext(kept) {" => "if kept.is_empty() {";
        "Vault may hand out another version of a secret":
            "found.filter(|found| version.is_none_or(|version| version == *found))" => "found.filter(|found| *found > 0)";
    }
    Tests::Places, "crates/kms/src/vault/service.rs" {
        "whoever stands before a Vault may end a database": "_ if !is_of_vault(&reply.body)" => "_ if reply.status == 0 && !is_of_vault(&reply.body)";
        "a token that has ended counts as a refusal of the key": "403 if self.is_known()? =>" => "403 if self.is_known().is_ok() =>";
    }
    Tests::Places, "crates/kms/src/kmip/mod.rs" {
        "a slot may name another key than the URL": "!asking.ids()?.iter().any(|id| id == kept.id)" => "asking.ids()?.is_empty()";
        "a key that was revoked is used where the server hands it out": "asking.is_usable(kept.id)?;" => "let _ = asking.is_usable(kept.id);";
        "a KMIP server need not give back what it sealed": "if opens(bound)? != root {" => "if opens(bound)?.expose().is_empty() {";
        "a KMIP server need not bind what it seals": "match opens(NO_DATABASE) {" => "match opens(NO_DATABASE).and(Err::<(), _>(self.seals_otherwise())) {";
        "a server that fails at everything refuses the key": "if has_failed && self.works(asking, kept.id) =>" => "if has_failed =>";
    }
    Tests::Places, "crates/kms/src/pkcs11.rs" {
        "a token need not give back what it sealed": "&& self.open(session, key, &sealed, &bound)? == root" => "&& self.open(session, key, &sealed, &bound).is_ok()";
        "a token need not bind what it seals": "&& !self.opens_unbound(session, key, &sealed)?" => "&& self.opens_unbound(session, key, &sealed).is_ok()";
    }
    Tests::Places, "crates/kms/src/aws/mod.rs" {
        "AWS may open another key than it made": "match self.recover(context, &blob)? == key {" => "match self.recover(context, &blob).is_ok() {";
    }
    Tests::Places, "crates/kms/src/exec.rs" {
        "a program may answer in several lines": "line.len() > MAX_ANSWER_BYTES || line.contains(&b'\\n')" => "line.len() > MAX_ANSWER_BYTES";
        "fields of a program's answer that nobody knows are dropped": "if !answer.has_only(fields) {" => "if fields.is_empty() {";
        "a program is looked for in PATH": "!program.starts_with('/') || url.authority.is_some()" => "program.is_empty() || url.authority.is_some()";
    }
}
