//! How far the reading of a file has come.

use std::io::{self, IsTerminal, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a plain line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Is told how many bytes were read.
pub trait Progress: Send {
    /// More bytes were read.
    fn advance(&mut self, bytes: u64);
}

/// Nobody watches.
pub struct Silent;

impl Progress for Silent {
    fn advance(&mut self, _bytes: u64) {}
}

/// A bar on a terminal, and plain lines elsewhere.
pub struct Shown {
    bar: ProgressBar,
    name: String,
    read: u64,
    total: Option<u64>,
    next_line: Instant,
}

impl Shown {
    /// For a file of this length in bytes, if that is known.
    pub fn new(name: &str, total: Option<u64>) -> Shown {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_message(name.to_owned());
        let next_line = Instant::now() + LINE_EVERY;
        Shown { bar, name: name.to_owned(), read: 0, total, next_line }
    }
}

impl Progress for Shown {
    fn advance(&mut self, bytes: u64) {
        self.read += bytes;
        self.bar.inc(bytes);
        if self.bar.is_hidden() && Instant::now() >= self.next_line {
            self.next_line = Instant::now() + LINE_EVERY;
            let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
            eprintln!("{}: {}{of} bytes read", self.name, self.read);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A reader that tells what was read.
pub struct Counted<R> {
    /// What is read.
    pub input: R,
    /// Who is told.
    pub progress: Box<dyn Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}
