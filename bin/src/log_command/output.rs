//! Standard output, which whoever reads it may close.

use std::io::{BufWriter, ErrorKind, StdoutLock, Write};
use std::ops::ControlFlow;

use crate::failure::{Failure, Outcome};

/// Lines to standard output. A reader that has seen enough, such as `head`, ends them.
pub struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    failure: Option<std::io::Error>,
}

impl Lines {
    /// Begins.
    pub fn new() -> Lines {
        Lines { out: BufWriter::new(std::io::stdout().lock()), failure: None }
    }

    /// One line; a break if nobody reads on.
    pub fn line(&mut self, line: &dyn std::fmt::Display) -> ControlFlow<()> {
        let written = writeln!(self.out, "{line}");
        self.kept(written)
    }

    /// Lets the reader have all lines so far.
    pub fn flush(&mut self) -> ControlFlow<()> {
        let flushed = self.out.flush();
        self.kept(flushed)
    }

    /// Ends: an error only if lines were lost that somebody wanted.
    pub fn end(mut self) -> Outcome {
        let _told_below = self.flush();
        match self.failure {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::failed(format!("standard output can't be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn kept(&mut self, result: std::io::Result<()>) -> ControlFlow<()> {
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    }
}
