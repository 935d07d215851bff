//! Reading the pages of a Parquet file: where the bytes of a page cannot stand for what its head says that they unpack to, it is not
//! unpacked.

use super::gzip::unpacked_bytes;
use super::thrift::{self, Part};
use crate::memory::MemoryBudget;
use bytes::Bytes;
use datafusion::common::Result as DfResult;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetFileReaderFactory;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::ops::Range;
use std::sync::Arc;

/// Fields of a page's head, by their numbers.
const UNPACKED: &[i16] = &[2];
const PACKED: &[i16] = &[3];
const DICTIONARY_VALUES: &[i16] = &[7, 1];
/// Of a page of the second version: bytes before what is packed, and whether anything is.
const LEVELS: [&[i16]; 2] = [&[8, 5], &[8, 6]];
const IS_PACKED: &[i16] = &[8, 7];

/// Makes readers that look at pages before the library does.
#[derive(Debug)]
pub(in crate::plan) struct SoundReaders {
    pub(in crate::plan) readers: Arc<dyn ParquetFileReaderFactory>,
    pub(in crate::plan) memory: Arc<MemoryBudget>,
}

impl ParquetFileReaderFactory for SoundReaders {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> DfResult<Box<dyn AsyncFileReader + Send>> {
        let file_bytes = file.object_meta.size;
        let reader = self
            .readers
            .create_reader(partition, file, metadata_size_hint, metrics)?;
        Ok(Box::new(SoundReader {
            reader,
            file_bytes,
            chunks: vec![],
            // Two threads may unpack one each.
            most_bytes: self.memory.limit() / 2,
        }))
    }
}

struct SoundReader {
    reader: Box<dyn AsyncFileReader + Send>,
    file_bytes: u64,
    /// Where the values of columns lie, and how they are packed, in the order of their places.
    chunks: Vec<(Range<u64>, Compression)>,
    /// Bytes that a page may take.
    most_bytes: usize,
}

impl SoundReader {
    fn check_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        let is_there =
            |range: &Range<u64>| range.start <= range.end && range.end <= self.file_bytes;
        match ranges.iter().all(is_there) {
            true => Ok(()),
            false => Err(damaged("it says that it has more bytes than it has")),
        }
    }

    /// Looks at the pages that were read, if pages were.
    fn check_pages(&self, from: u64, bytes: &[u8]) -> Result<()> {
        let behind = self
            .chunks
            .partition_point(|(chunk, _)| chunk.start <= from);
        let chunk = behind.checked_sub(1).and_then(|at| self.chunks.get(at));
        let Some((_, compression)) = chunk.filter(|(chunk, _)| chunk.contains(&from)) else {
            return Ok(());
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (head_len, head) =
                PageHead::read(rest).ok_or_else(|| damaged("the head of a page is damaged"))?;
            head.check(*compression, self.most_bytes)?;
            let behind = head_len.checked_add(head.packed);
            let body = rest.get(head_len..).unwrap_or_default();
            let body = body.get(..head.packed).unwrap_or(body);
            if matches!(compression, Compression::GZIP(_)) {
                head.check_gzip(body, self.most_bytes)?;
            }
            rest = behind.and_then(|at| rest.get(at..)).unwrap_or_default();
        }
        Ok(())
    }
}

impl AsyncFileReader for SoundReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        async move {
            self.check_ranges(std::slice::from_ref(&range))?;
            let from = range.start;
            let bytes = self.reader.get_bytes(range).await?;
            self.check_pages(from, &bytes)?;
            Ok(bytes)
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move {
            self.check_ranges(&ranges)?;
            let from: Vec<u64> = ranges.iter().map(|range| range.start).collect();
            let read = self.reader.get_byte_ranges(ranges).await?;
            for (from, bytes) in from.into_iter().zip(&read) {
                self.check_pages(from, bytes)?;
            }
            Ok(read)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            let metadata = self.reader.get_metadata(options).await?;
            let groups = metadata.row_groups().iter();
            let chunks = groups.flat_map(|group| group.columns()).map(|chunk| {
                let (from, bytes) = chunk.byte_range();
                (from..from.saturating_add(bytes), chunk.compression())
            });
            self.chunks = chunks.collect();
            self.chunks.sort_by_key(|(chunk, _)| chunk.start);
            Ok(metadata)
        }
        .boxed()
    }
}

/// What a byte of gzip unpacks to, at most: the longest copy is written in two bits.
const GZIP_TIMES: usize = 1032;

/// What a page says of itself.
#[derive(Default)]
struct PageHead {
    unpacked: usize,
    packed: usize,
    dictionary_values: usize,
    /// Bytes before what is packed, of two kinds.
    levels: [usize; 2],
    /// It says that nothing is packed.
    is_plain: bool,
}

impl PageHead {
    /// The head that bytes begin with, and its length.
    fn read(bytes: &[u8]) -> Option<(usize, Self)> {
        let mut head = Self::default();
        let mut is_sound = true;
        let len = thrift::structure(bytes, &mut |fields, part| {
            let value = match part {
                Part::Integer(value) => value,
                Part::Flag(is_packed) if fields == IS_PACKED => {
                    head.is_plain = !is_packed;
                    return;
                }
                _ => return,
            };
            let [repeated, defined] = &mut head.levels;
            let to = match fields {
                UNPACKED => &mut head.unpacked,
                PACKED => &mut head.packed,
                DICTIONARY_VALUES => &mut head.dictionary_values,
                _ if fields == LEVELS[0] => repeated,
                _ if fields == LEVELS[1] => defined,
                _ => return,
            };
            match usize::try_from(value) {
                Ok(value) => *to = value,
                Err(_) => is_sound = false,
            }
        })?;
        is_sound.then_some((len, head))
    }

    fn check(&self, compression: Compression, most_bytes: usize) -> Result<()> {
        if self.unpacked > most_bytes {
            return Err(damaged(
                "a page unpacks to more than half of memory_limit, which can be raised with SET memory_limit",
            ));
        }
        let possible = most_unpacked(compression, self.packed);
        if possible.is_some_and(|most| self.unpacked > most) {
            return Err(damaged("a page cannot unpack to as much as its head says"));
        }
        // A value of a dictionary takes a byte at least.
        if self.dictionary_values > self.unpacked {
            return Err(damaged("a dictionary has fewer values than its head says"));
        }
        Ok(())
    }

    /// The library makes room for all that gzip unpacks to, whatever the head says.
    fn check_gzip(&self, body: &[u8], most_bytes: usize) -> Result<()> {
        let levels = self.levels.iter().sum::<usize>();
        let most = self.unpacked.saturating_sub(levels);
        let packed = body.get(levels..).unwrap_or_default();
        let is_small = packed.len().saturating_mul(GZIP_TIMES) <= most_bytes;
        if is_small || self.is_plain || most == 0 {
            return Ok(());
        }
        match unpacked_bytes(packed, most) {
            Some(bytes) if bytes <= most => Ok(()),
            Some(_) => Err(damaged("a page unpacks to more than its head says")),
            None => Err(damaged("a page is damaged")),
        }
    }
}

/// What so many bytes can unpack to, where that is limited by the form.
fn most_unpacked(compression: Compression, packed: usize) -> Option<usize> {
    // The longest copy and what it is written in, for Snappy and LZ4.
    let times = match compression {
        Compression::SNAPPY => 22,
        Compression::LZ4 | Compression::LZ4_RAW => 256,
        Compression::GZIP(_) => GZIP_TIMES,
        _ => return None,
    };
    Some(packed.saturating_mul(times).saturating_add(64))
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.into())
}
