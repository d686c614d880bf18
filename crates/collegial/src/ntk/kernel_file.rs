//! A kernel in a .npy file that grows tile by tile.
//!
//! The file has its final size from the beginning, and tiles are written at their places: no page of
//! it counts as the process's memory, as a memory map's would, and any number of processes can fill
//! it. Each writes the same header and length, so none has to be first.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collegial_core::files::{WriteError, disk};
use collegial_core::tensors::npy;
use collegial_ntk::tiles::Tile;

use super::journal::{self, Journal};
use crate::{Error, Monitor};

/// Share of the time that forcing bytes to disk may take: one part in so many.
const PATIENCE: u32 = 20;

/// An open file, and which of its tiles are finished.
pub(crate) struct KernelFile {
    path: PathBuf,
    file: File,
    /// Where the numbers begin.
    start: u64,
    columns: usize,
    journal: Option<Journal>,
    /// Tiles that are written, but perhaps not on disk.
    pending: Vec<(usize, u32)>,
    last: Instant,
    pause: Duration,
}

impl KernelFile {
    /// Opens the file of a kernel of some rows and columns; of a diagonal the shape has one axis.
    pub(crate) fn open(path: &Path, (rows, columns): (usize, usize), axes: usize) -> Result<Self, Error> {
        let header = npy::header::<f64>(&[rows, columns][..axes]);
        let start = header.len() as u64;
        let length = start + (rows as u64) * (columns as u64) * size_of::<f64>() as u64;
        let unwritable = |source| WriteError { path: path.to_owned(), source };
        let mut file = disk::open_resized(path, length).map_err(unwritable)?;
        disk::write_at(&mut file, path, 0, &header).map_err(unwritable)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        disk::sync_directory(parent.unwrap_or(Path::new("."))).map_err(unwritable)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            start,
            columns,
            journal: None,
            pending: vec![],
            last: Instant::now(),
            pause: Duration::ZERO,
        })
    }

    /// Those of some tiles that have to be computed: what no journal has, and what is not as its
    /// journal says.
    pub(crate) fn missing(&mut self, tiles: Vec<Tile>, monitor: &dyn Monitor) -> Result<Vec<Tile>, Error> {
        let finished = journal::finished(&self.path)?;
        let path = self.path.clone();
        let mut missing = vec![];
        for tile in tiles {
            let Some(crcs) = finished.get(&tile.index) else {
                missing.push(tile);
                continue;
            };
            if !self.holds(&tile, crcs).map_err(Error::reading(&path))? {
                let name = self.path.display();
                monitor.say(&format!(
                    "{name}: tile {} is not as it was written; computing it again",
                    tile.index
                ));
                missing.push(tile);
            }
        }
        Ok(missing)
    }

    /// Whether a tile, and its mirror image, are as they were written.
    fn holds(&mut self, tile: &Tile, crcs: &[u32]) -> io::Result<bool> {
        let bytes = self.read(tile.rows.clone(), tile.columns.clone())?;
        if !crcs.contains(&crc32fast::hash(&bytes)) {
            return Ok(false);
        }
        let (rows, columns) = (tile.rows.clone(), tile.columns.clone());
        Ok(!tile.mirrored || transposed(&self.read(columns, rows)?, tile.columns.len()) == bytes)
    }

    /// The bytes of a part, row by row.
    fn read(&mut self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> io::Result<Vec<u8>> {
        let width = columns.len() * size_of::<f64>();
        let mut bytes = vec![0; rows.len() * width];
        for (row, bytes) in rows.zip(bytes.chunks_exact_mut(width.max(1))) {
            let place = self.place(row, columns.start);
            disk::read_at(&mut self.file, place, bytes)?;
        }
        Ok(bytes)
    }

    /// The values of some rows.
    pub(crate) fn rows(&mut self, rows: std::ops::Range<usize>) -> Result<Vec<f64>, Error> {
        let path = self.path.clone();
        let bytes = self.read(rows, 0..self.columns).map_err(Error::reading(&path))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    fn place(&self, row: usize, column: usize) -> u64 {
        self.start + (row as u64 * self.columns as u64 + column as u64) * size_of::<f64>() as u64
    }

    /// Writes a tile, and its mirror image.
    pub(crate) fn write(&mut self, tile: &Tile, values: &[f64]) -> Result<(), Error> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.put(tile.rows.start, tile.columns.clone(), &bytes)?;
        if tile.mirrored {
            self.put(tile.columns.start, tile.rows.clone(), &transposed(&bytes, tile.rows.len()))?;
        }
        self.pending.push((tile.index, crc32fast::hash(&bytes)));
        if self.last.elapsed() >= self.pause { self.flush() } else { Ok(()) }
    }

    fn put(&mut self, first: usize, columns: std::ops::Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        for (row, bytes) in (first..).zip(bytes.chunks_exact(columns.len() * size_of::<f64>())) {
            let place = self.place(row, columns.start);
            disk::write_at(&mut self.file, &self.path, place, bytes)
                .map_err(|source| WriteError { path: self.path.clone(), source })?;
        }
        Ok(())
    }

    /// Forces what is written to disk, and says so in the journal.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let unwritable = |source| WriteError { path: self.path.clone(), source };
        disk::sync(&self.file, &self.path).map_err(unwritable)?;
        let journal = match &mut self.journal {
            Some(journal) => journal,
            journal => journal.insert(Journal::create(&self.path)?),
        };
        journal.add(&self.pending)?;
        self.pending.clear();
        self.pause = PATIENCE * begin.elapsed();
        self.last = Instant::now();
        Ok(())
    }

    /// How many of the tiles are finished, by all processes.
    pub(crate) fn finished(&self) -> Result<usize, Error> {
        Ok(journal::finished(&self.path)?.len())
    }
}

/// The transpose of a matrix of 8-byte numbers with so many rows.
fn transposed(bytes: &[u8], rows: usize) -> Vec<u8> {
    let numbers = bytes.as_chunks::<8>().0;
    let columns = numbers.len() / rows.max(1);
    (0..columns).flat_map(|column| (0..rows).flat_map(move |row| numbers[row * columns + column])).collect()
}
