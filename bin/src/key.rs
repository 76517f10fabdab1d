//! The key of the person at this machine, made at the first start.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::data::{DataFolder, write_private};
use crate::failure::{Failure, Outcome};

/// Bytes of randomness in a key: as hard to guess as a 256-bit cipher's.
const KEY_BYTES: usize = 32;

/// What every key begins with, so that a person and a leak scanner recognise one.
const PREFIX: &str = "scripta_";

/// A key. It is never printed by `Debug`; [`Key::reveal`] is the only way to its text.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// A new key, from the operating system's randomness.
    pub fn random() -> Outcome<Key> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::failed(format!("no key can be made: {error}")))?;
        Ok(Key(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// The key of a data folder; made if there is none.
    pub fn load_or_create(data: &DataFolder) -> Outcome<Key> {
        let path = data.admin_key();
        match Key::load(&path)? {
            Some(key) => Ok(key),
            None => {
                let key = Key::random()?;
                write_private(&path, format!("{}\n", key.0).as_bytes()).map_err(|error| {
                    Failure::failed(format!("{} can't be written: {error}", path.display()))
                })?;
                Ok(key)
            }
        }
    }

    /// The key in this file, or `None` if there is no such file.
    pub fn load(path: &Path) -> Outcome<Option<Key>> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::failed(format!("{shown} can't be read: {error}"))),
        };
        let mode = std::fs::metadata(path).map(|meta| meta.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            return Err(Failure::refused(format!(
                "{shown} can be read by others; run `chmod 600 {shown}`, or delete it to get a new key"
            )));
        }
        let text = text.trim();
        let long_enough = text.len() >= PREFIX.len() + KEY_BYTES;
        if !text.starts_with(PREFIX) || !long_enough || text.contains(char::is_whitespace) {
            return Err(Failure::failed(format!(
                "{shown} holds no key; delete it, and the next start makes a new one"
            )));
        }
        Ok(Some(Key(text.to_owned())))
    }

    /// Whether `presented` is this key, in a time that doesn't depend on how much of it is right.
    pub fn matches(&self, presented: &str) -> bool {
        // Hashes have one length, so that not even the length is told.
        let own = blake3::hash(self.0.as_bytes());
        let other = blake3::hash(presented.as_bytes());
        own.as_bytes().ct_eq(other.as_bytes()).into()
    }

    /// The key's text: for the configuration to paste, and for requests to the own server.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        let key = Key::load_or_create(&data).unwrap();
        let again = Key::load_or_create(&data).unwrap();
        assert_eq!(key.reveal(), again.reveal());
        let mode = std::fs::metadata(data.admin_key()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{key:?}").contains(key.reveal()));
    }

    #[test]
    fn only_the_whole_key_matches() {
        let key = Key::random().unwrap();
        assert!(key.matches(key.reveal()));
        assert!(!key.matches(""));
        assert!(!key.matches(key.reveal().get(..10).unwrap()));
        assert!(!key.matches(Key::random().unwrap().reveal()));
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        Key::load_or_create(&data).unwrap();
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(data.admin_key(), open).unwrap();
        let text = Key::load(&data.admin_key()).unwrap_err().to_string();
        assert!(text.contains("chmod 600"), "{text}");
        write_private(&data.admin_key(), b"\n").unwrap();
        assert!(Key::load(&data.admin_key()).unwrap_err().to_string().contains("holds no key"));
    }
}
