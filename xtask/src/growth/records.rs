//! What was measured, run by run, as the CSV file beside the figures keeps it.

use std::path::Path;

use super::measure::Usage;

const HEADINGS: &str = "operation,size,run,seconds,peak_bytes,machine";

/// One run of an operation at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub operation: String,
    pub size: u64,
    /// From 1.
    pub run: u32,
    pub usage: Usage,
    pub machine: String,
}

/// All runs.
#[derive(Debug, Default, PartialEq)]
pub struct Records(pub Vec<Record>);

impl Records {
    /// Of a file; none if there is no such file.
    pub fn read(path: &Path) -> Result<Self, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADINGS) {
            return Err(format!("the first line must be {HEADINGS}"));
        }
        let records = lines.enumerate().map(|(index, line)| {
            parse_line(line).ok_or_else(|| format!("line {} is no record: {line}", index + 2))
        });
        records.collect::<Result<_, _>>().map(Self)
    }

    pub fn to_csv(&self) -> String {
        let mut text = format!("{HEADINGS}\n");
        for Record { operation, size, run, usage, machine } in &self.0 {
            let Usage { seconds, peak_bytes } = usage;
            text.push_str(&format!("{operation},{size},{run},{seconds:.4},{peak_bytes},{machine}\n"));
        }
        text
    }

    /// Forgets the runs of an operation.
    pub fn forget(&mut self, operation: &str) {
        self.0.retain(|record| record.operation != operation);
    }

    /// The best run of an operation at every size, in the order of sizes: the least time, since what
    /// else a machine does only adds to it, and the least peak.
    pub fn best(&self, operation: &str) -> Vec<(u64, Usage)> {
        let mut best: Vec<(u64, Usage)> = vec![];
        for record in self.0.iter().filter(|record| record.operation == operation) {
            match best.iter_mut().find(|(size, _)| *size == record.size) {
                Some((_, least)) => {
                    least.seconds = least.seconds.min(record.usage.seconds);
                    least.peak_bytes = least.peak_bytes.min(record.usage.peak_bytes);
                }
                None => best.push((record.size, record.usage)),
            }
        }
        best.sort_by_key(|(size, _)| *size);
        best
    }

    /// The machines, in the order of the file.
    pub fn machines(&self) -> Vec<&str> {
        let mut machines: Vec<&str> = vec![];
        for record in &self.0 {
            if !machines.contains(&record.machine.as_str()) {
                machines.push(&record.machine);
            }
        }
        machines
    }
}

fn parse_line(line: &str) -> Option<Record> {
    let mut cells = line.split(',');
    let record = Record {
        operation: cells.next()?.to_owned(),
        size: cells.next()?.parse().ok()?,
        run: cells.next()?.parse().ok()?,
        usage: Usage { seconds: cells.next()?.parse().ok()?, peak_bytes: cells.next()?.parse().ok()? },
        machine: cells.next()?.to_owned(),
    };
    cells.next().is_none().then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "operation,size,run,seconds,peak_bytes,machine\n\
        loading,5,1,0.0040,5000000,2 cores of one\n\
        search,20,1,0.5000,7000000,2 cores of one\n\
        search,10,1,0.2500,6000000,2 cores of one\n\
        search,20,2,0.4000,8000000,4 cores of another\n";

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let records = Records::parse(TEXT).unwrap();
        assert_eq!(records.to_csv(), TEXT);
        assert_eq!(records.machines(), ["2 cores of one", "4 cores of another"]);
    }

    #[test]
    fn the_best_runs_come_by_size() {
        let mut records = Records::parse(TEXT).unwrap();
        let least = |seconds: f64, peak_bytes: u64| Usage { seconds, peak_bytes };
        assert_eq!(records.best("search"), [(10, least(0.25, 6_000_000)), (20, least(0.4, 7_000_000))]);
        records.forget("search");
        assert_eq!((records.best("search").len(), records.best("loading").len()), (0, 1));
    }

    #[test]
    fn what_is_no_record_is_named() {
        let sentence = Records::parse(&TEXT.replace("0.2500", "soon")).unwrap_err();
        assert!(sentence.starts_with("line 4 is no record: search,10,1,soon"), "{sentence}");
        assert!(Records::parse("a,b\n").unwrap_err().contains("first line"));
    }
}
