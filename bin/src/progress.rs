//! How far long work has come: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use scripta_events::segment::Rebuilt;

/// How often a plain line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Bytes that are read or copied.
pub struct ByteProgress {
    bar: ProgressBar,
    what: &'static str,
    next_line: Instant,
}

impl ByteProgress {
    /// For work that is called so.
    pub fn new(what: &'static str) -> ByteProgress {
        let bar = bar("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
        bar.set_message(what);
        ByteProgress { bar, what, next_line: Instant::now() + LINE_EVERY }
    }

    /// So many bytes are done, of so many.
    pub fn set(&mut self, done: u64, total: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_length(total);
            self.bar.set_position(done);
        } else if Instant::now() >= self.next_line {
            self.next_line = Instant::now() + LINE_EVERY;
            eprintln!("{}: {} of {}", self.what, HumanBytes(done), HumanBytes(total));
        }
    }
}

impl Drop for ByteProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The rebuilding of the log's index. If there was any, the end tells how long it took.
pub struct IndexProgress {
    bar: ProgressBar,
    begun: Instant,
    next_line: Instant,
    segments: u64,
}

impl Default for IndexProgress {
    fn default() -> IndexProgress {
        let bar = bar("rebuilding the index of the log {wide_bar} {pos}/{len} segments {eta}");
        let now = Instant::now();
        IndexProgress { bar, begun: now, next_line: now, segments: 0 }
    }
}

impl IndexProgress {
    /// Another segment is indexed.
    pub fn tell(&mut self, rebuilt: Rebuilt) {
        let Rebuilt { segments, of } = rebuilt;
        self.segments += 1;
        if !self.bar.is_hidden() {
            self.bar.set_length(of as u64);
            self.bar.set_position(segments as u64);
        } else if Instant::now() >= self.next_line {
            self.next_line = Instant::now() + LINE_EVERY;
            tracing::info!("the index of the log is being rebuilt: {segments} of {of} segments");
        }
    }
}

impl Drop for IndexProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.segments > 0 {
            let seconds = self.begun.elapsed().as_secs_f64();
            let segments = self.segments;
            tracing::info!(
                "the index of the log was rebuilt from {segments} segments in {seconds:.1} s"
            );
        }
    }
}

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}
