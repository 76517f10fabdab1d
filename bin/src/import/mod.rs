//! `scripta import`.

mod chatgpt;
mod reader;
mod tree;
