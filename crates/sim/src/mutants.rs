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

/// A set of tests that a mutant has to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// Known answers and self-test.
    Crypto,
    /// Headers and slots.
    Keys,
    /// Blocks, logs, tables and hostile files.
    Storage,
    /// Storage, then crashes on the simulated disk.
    Crashes,
}

impl Tests {
    /// Arguments of `cargo test`, one command after the other until one fails.
    pub fn commands(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Crypto => &[&["-p", "hushdb-crypto"]],
            Self::Keys => &[&["-p", "hushdb-keys"]],
            Self::Storage => &[&["-p", "hushdb-storage"]],
            Self::Crashes => &[
                &["-p", "hushdb-storage"],
                &[
                    "-p",
                    "hushdb-sim",
                    "--test",
                    "crashes",
                    "--test",
                    "failed_sync",
                ],
            ],
        }
    }
}

macro_rules! mutants {
    ($($tests:ident $file:literal { $($name:literal: $from:literal => $to:literal;)* })*) => {
        /// All of them.
        pub const MUTANTS: &[Mutant] = &[$($(Mutant {
            name: $name,
            file: $file,
            from: $from,
            to: $to,
            tests: Tests::$tests,
        },)*)*];
    };
}

mutants! {
    Crypto "crates/crypto/src/aws_lc.rs" {
        "aws-lc: GCM opens whatever its tag":
            ".map_err(|_| OpenError)" => ".or(Ok(()))";
        "aws-lc: a wrapped key is taken without its check value":
            "kek.unwrap(wrapped, key)\n            .map(|_| ())\n            .map_err(|_| UnwrapError)" => "kek.unwrap(wrapped, key).map(|_| ()).or(Ok(()))";
    }
    Crypto "crates/crypto/src/constant_time.rs" {
        "any two secrets are equal": "a.ct_eq(b).into()" => "a.len() == b.len()";
    }
    Crypto "crates/crypto/src/provider.rs" {
        "any MAC holds":
            "constant_time_eq(&self.hmac_sha256(key, parts), mac)" => "constant_time_eq(mac, mac) || key.is_there() || parts.is_empty()";
    }
    Keys "crates/keys/src/unverified_header.rs" {
        "the commitment to the master key is not compared":
            "!constant_time_eq(master.commitment(), &secrets.commitment)" => "false && secrets.slots.is_empty()";
        "the header's MAC is not looked at":
            "!crypto.hmac_sha256_verify(master.mac_key(), &[&self.page[..MAC_AT]], &self.mac())" => "crypto.name().is_empty()";
        "keys of another database are taken":
            "self.fields.database_id != keys.database_id" => "false";
    }
    Keys "crates/keys/src/header.rs" {
        "the last slot can be removed": "self.fields.slots().len() == 1" => "false";
        "slots are changed with keys of another database":
            "*keys.master.commitment() != secrets.commitment" => "false";
        "a change of slots keeps the sequence": "fields.sequence.checked_add(1)" => "fields.sequence.checked_add(0)";
    }
    Keys "crates/keys/src/stretch.rs" {
        "work for passphrases has no budget": "self.0.checked_sub(kdf.work())" => "self.0.checked_sub(kdf.work().min(0))";
    }
    Keys "crates/keys/src/header_fields.rs" {
        "a header may have bytes that mean nothing": "page[..MAC_AT] != written[..MAC_AT] || !mac_is_allowed" => "!mac_is_allowed";
        "a header's CRC is not looked at": "crc32c::crc32c(&page[..CRC_AT]).to_le_bytes() != field::<4>(page, CRC_AT)" => "false";
    }
    Storage "crates/storage/src/block/sealed_file.rs" {
        "a block need not have the tag that its parent names": " || raw.tag != r.tag" => "";
        "a block need not be what its parent says": "!raw.says(&envelope) || raw" => "raw";
        "a block is opened under any tag":
            "key\n                        .open_in_place(&nonce, &aad, raw.body, &r.tag)\n                        .map_err(|_| refused())" => "key\n                        .open_in_place(&nonce, &aad, raw.body, &r.tag)\n                        .or(Ok(()))";
        "the digest of a block of suite 2 is not compared": "BlockKey::Ctr(key) if self.digest(&aad, &nonce, raw.body) == r.tag" => "BlockKey::Ctr(key) if aad.len() > nonce.len()";
        "the checksum of a plain block is not compared": "None if checksum(&aad, raw.body) == r.tag" => "None if !aad.is_empty()";
        "a block may lie behind the end": "end.is_none_or(|end| end > end_sector)" => "end.is_none_or(|end| end_sector == 0 && end > 0)";
        "a superblock's checksum is not looked at": "if !raw.is_intact() {\n            return Err(Error::SuperblockDamaged);" => "if raw.body.is_empty() {\n            return Err(Error::SuperblockDamaged);";
    }
    Storage "crates/storage/src/block/key_epochs.rs" {
        "a key of before a fork seals on": ".filter(|epoch| epoch.process == process)" => ".filter(|epoch| epoch.process == process || process > 0)";
        "seals of a key are not counted": "epoch.seals.fetch_add(1, Ordering::Relaxed)" => "epoch.seals.fetch_add(0, Ordering::Relaxed)";
    }
    Crashes "crates/storage/src/store/committing.rs" {
        "the root moves before its blocks are durable": "self.sync().and_then(|()| self.flip(&root, superblock))" => "self.flip(&root, superblock)";
        "a superblock or header copy is not waited for": "written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?;\n        self.sync()" => "written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?;\n        Ok(())";
        "only one superblock slot is written": "for slot in [first, 1 - first]" => "for slot in [first]";
        "a handle writes on after a failed write of a fixed part": "written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?" => "written?";
        "a handle writes on after a failed sync": "Ok(synced.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?)" => "Ok(synced?)";
        "a change of slots overwrites the copy that is in force": "let standby = (header.sequence() & 1) as usize;" => "let standby = 1 - (header.sequence() & 1) as usize;";
    }
    Storage "crates/storage/src/store/opening.rs" {
        "a superblock need not name the header": "(named.header_sequence, named.header_mac) != (header.sequence(), header.mac())" => "named.header_sequence > u64::MAX - 1";
        "two superblocks of one generation are no fork": "a.superblock.generation == b.superblock.generation && a.page != b.page" => "a.superblock.generation == 0 && a.page != b.page";
        "the older superblock is taken": "b.superblock.generation > a.superblock.generation => b" => "b.superblock.generation < a.superblock.generation => b";
        "a superblock may have another generation than its envelope": "superblock.generation != block_ref.birth_generation" => "superblock.generation == u64::MAX";
        "a file may be shorter than its superblock says": "Some(expected_bytes) if expected_bytes <= found_bytes => Ok(())" => "Some(_) => Ok(())";
    }
    Storage "crates/storage/src/log/log_seal.rs" {
        "any header of a log holds": "constant_time_eq(&self.header_mac(header), mac)" => "constant_time_eq(mac, mac) || header.is_empty()";
        "a record is not bound to the one before it": "aad[32..48].copy_from_slice(previous);" => "aad[32..48].copy_from_slice(&previous.map(|_| 0));";
        "a record is not bound to its log": "aad[24..32].copy_from_slice(&self.sequence.to_le_bytes());" => "let _ = self.sequence;";
        "a record is not bound to its database": "aad[8..24].copy_from_slice(&self.database_id);" => "let _ = self.database_id;";
    }
    Storage "crates/storage/src/log/log_header.rs" {
        "a log need not have its sequence": "found.sequence != basis.sequence" => "false";
        "a log need not build on its generation": "found.base_generation != basis.base_generation" => "false";
        "a log need not have the chain tag and salt": "found.chain_tag == basis.chain_tag && salt.is_none_or(|salt| *salt == self.salt)" => "salt.is_none_or(|salt| salt.len() == self.salt.len())";
        "a log of another database is taken": "self.database_id() != owner.database_id" => "false";
    }
    Storage "crates/storage/src/log/log_reader.rs" {
        "records may be missing before one": "found > lsn" => "false && found > lsn";
        "a record may come again": "found < lsn" => "false && found < lsn";
        "a record may say that what follows it is durable": "head.durable_lsn > lsn" => "false && head.durable_lsn > lsn";
        "what is durable may go back": "head.durable_lsn < self.durable_lsn" => "false";
        "damage before a record that was durable is a torn tail": "head.filter(|(head, _)| head.proves_durable(at, lsn))" => "head.filter(|(head, _)| head.proves_durable(at, lsn) && at < lsn)";
    }
    Crashes "crates/storage/src/log/log_writer.rs" {
        "a record is written before the last one is durable": "if self.synchronous == Synchronous::Full {\n            self.sync()?;\n        }\n        if self.records" => "if self.records";
        "a new log's header is not waited for": "this.extend(position)?;\n        this.file.sync()?;" => "this.extend(position)?;";
        "a log takes records without an end": "self.records >= MAX_RECORDS || " => "";
        "a log of before a fork goes on": " || self.process != std::process::id()" => "";
        "a log goes on after a write that failed": "self.failed |= !is_undone;" => "let _ = is_undone;";
        "a log goes on after a sync that failed": "self.failed |= result.is_err();" => "";
    }
    Crashes "crates/storage/src/catalog/commit_log.rs" {
        "a commit is acknowledged before its record is durable": "writer.append(&payload)?;\n        if self.synchronous == Synchronous::Full {\n            writer.sync()?;\n        }" => "writer.append(&payload)?;";
        "the name of a new log is not waited for": "let writer = LogWriter::create(file, &blocks.log_owner(), basis, self.synchronous)?;\n        files.sync()?;" => "let writer = LogWriter::create(file, &blocks.log_owner(), basis, self.synchronous)?;";
        "the next log takes its name without waiting": "files.sync()?;\n        self.name = Name::Own;" => "self.name = Name::Own;";
    }
    Storage "crates/storage/src/catalog/recovery.rs" {
        "a next log need not follow the last record": "found.chain_tag == end.last_tag" => "found.chain_tag.len() == end.last_tag.len()";
        "a log with another salt is the one that is named": "&& *header.salt() == state.salt" => "";
        "a log that builds on a later state is left over": "basis.base_generation > blocks.generation() || reader.next_record()?.is_some()" => "reader.next_record()?.is_some()";
        "a log of a later state with records is left over": "basis.base_generation > blocks.generation() || reader.next_record()?.is_some()" => "basis.base_generation > blocks.generation()";
    }
    Crashes "crates/storage/src/store/space.rs" {
        "space is used again while it is still needed": "self.extents.release(oldest).map_err(freed_twice)" => "self.extents.release(oldest.max(u64::MAX)).map_err(freed_twice)";
    }
}
