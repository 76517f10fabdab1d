//! Takes the conversations out of an export one by one, in bounded memory.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// The largest conversation that is read, in bytes: some hundred times the largest known, and
/// still held in memory without harm.
const MAX_CONVERSATION_BYTES: u64 = 256 * 1024 * 1024;

/// How much of a file is read at once, in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// Why a file can't be read to its end. What came before it was handed out.
#[derive(Debug, Error)]
pub enum ReaderError {
    /// It isn't an export at all.
    #[error("this is no export: {reason}")]
    NotAnExport {
        /// What it is instead.
        reason: String,
    },
    /// It is one up to here.
    #[error("conversation {number} can't be read: {reason}")]
    Broken {
        /// Which conversation of the file, from 1.
        number: usize,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// The file could not be read.
    #[error("it can't be read: {0}")]
    Io(io::Error),
    /// Whoever takes the conversations wants no more.
    #[error("the import was given up")]
    GivenUp,
}

/// Hands every element of the array, as text, with its number from 1, to `each`, which says
/// whether it wants more. One object alone counts as an array of it.
///
/// # Errors
///
/// [`ReaderError`]; elements before the error were handed out.
pub fn read(
    input: impl Read,
    each: &mut dyn FnMut(usize, Box<RawValue>) -> bool,
) -> Result<(), ReaderError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let first = first_byte(&mut input).map_err(ReaderError::Io)?;
    let budget = Rc::new(Cell::new(MAX_CONVERSATION_BYTES));
    let number = Rc::new(Cell::new(0));
    let metered = Metered { input, budget: Rc::clone(&budget) };
    let mut json = serde_json::Deserializer::from_reader(metered);
    let mut given_up = false;
    let elements = Elements { each, budget, number: Rc::clone(&number), given_up: &mut given_up };
    let result = match first {
        Some(b'[') => json.deserialize_seq(elements).and_then(|()| json.end()),
        Some(b'{') => elements.only(&mut json),
        first => return Err(not_json(first)),
    };
    match result {
        Ok(()) => Ok(()),
        Err(_) if given_up => Err(ReaderError::GivenUp),
        Err(error) if error.io_error_kind().is_some_and(|kind| kind != io::ErrorKind::Other) => {
            Err(ReaderError::Io(error.into()))
        }
        Err(error) => {
            Err(ReaderError::Broken { number: number.get() + 1, reason: error.to_string() })
        }
    }
}

/// The first byte that means something, left in the reader; a byte order mark is dropped.
fn first_byte(input: &mut impl BufRead) -> io::Result<Option<u8>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if input.fill_buf()?.starts_with(MARK) {
        input.consume(MARK.len());
    }
    loop {
        match input.fill_buf()?.first() {
            Some(byte) if byte.is_ascii_whitespace() => input.consume(1),
            first => return Ok(first.copied()),
        }
    }
}

fn not_json(first: Option<u8>) -> ReaderError {
    let reason = match first {
        None => "it is empty",
        Some(b'P') => {
            "it looks like a ZIP; unpack it and give the conversations.json that is in it"
        }
        Some(b'<') => "it looks like HTML; give the conversations.json that lies beside it",
        Some(_) => "it doesn't begin as JSON; give an export's conversations.json",
    };
    ReaderError::NotAnExport { reason: reason.to_owned() }
}

/// A reader that fails when one element takes more than its budget.
struct Metered<R> {
    input: R,
    budget: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let left = self.budget.get().checked_sub(read as u64);
        let over = || {
            let limit = MAX_CONVERSATION_BYTES / (1024 * 1024);
            io::Error::other(format!("it is over the limit of {limit} MiB"))
        };
        self.budget.set(left.ok_or_else(over)?);
        Ok(read)
    }
}

/// The array: each element is handed out as soon as it is read.
struct Elements<'a> {
    each: &'a mut dyn FnMut(usize, Box<RawValue>) -> bool,
    budget: Rc<Cell<u64>>,
    number: Rc<Cell<usize>>,
    given_up: &'a mut bool,
}

impl Elements<'_> {
    fn hand_out(&mut self, element: Box<RawValue>) -> bool {
        self.number.set(self.number.get() + 1);
        self.budget.set(MAX_CONVERSATION_BYTES);
        let more = (self.each)(self.number.get(), element);
        *self.given_up = !more;
        more
    }

    fn only<R: Read>(
        mut self,
        json: &mut serde_json::Deserializer<serde_json::de::IoRead<R>>,
    ) -> serde_json::Result<()> {
        let element = std::marker::PhantomData::<Box<RawValue>>.deserialize(&mut *json)?;
        self.hand_out(element);
        json.end()
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of conversations")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while let Some(element) = seq.next_element()? {
            if !self.hand_out(element) {
                return Err(serde::de::Error::custom("given up"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn all(text: &[u8]) -> (Vec<String>, Result<(), ReaderError>) {
        let mut elements = Vec::new();
        let result = read(text, &mut |number, element| {
            assert_eq!(number, elements.len() + 1);
            elements.push(element.get().to_owned());
            true
        });
        (elements, result)
    }

    #[test]
    fn elements_come_one_by_one() {
        let (elements, result) = all(b"\xef\xbb\xbf \n[ {\"a\":1}, 2 ,[3]]\n");
        result.unwrap();
        assert_eq!(elements, ["{\"a\":1}", "2", "[3]"]);
        let (elements, result) = all(b"{\"a\":1}");
        result.unwrap();
        assert_eq!(elements, ["{\"a\":1}"]);
    }

    #[test]
    fn what_comes_before_a_torn_end_is_handed_out() {
        let (elements, result) = all(b"[{\"a\":1},{\"b\":");
        assert_eq!(elements.len(), 1);
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with("conversation 2 can't be read"), "{text}");
    }

    #[test]
    fn what_is_no_export_says_what_it_is() {
        for (text, says) in
            [(&b""[..], "empty"), (b"PK\x03\x04", "ZIP"), (b"<html>", "HTML"), (b"hello", "JSON")]
        {
            let (elements, result) = all(text);
            assert!(elements.is_empty());
            let error = result.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_taker_may_give_up() {
        let result = read(&b"[1,2,3]"[..], &mut |number, _| number < 2);
        assert!(matches!(result, Err(ReaderError::GivenUp)));
    }
}
