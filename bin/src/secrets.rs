//! Secrets on the disk: one encrypted file, apart from the log, and the key that opens it.
//!
//! The file is a header (magic, version, nonce) and then XChaCha20-Poly1305 over all secrets, with
//! the header as associated data. It is written anew with each change, under a new nonce, and
//! renamed into place.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use scripta_events::domain::ToolServerId;
use scripta_mcp::{Secret, SecretError, SecretName, SecretStore, apply_to};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::data::{DataFolder, make_folder, replace_private, sync_folder_of, write_private};
use crate::failure::{Failure, Outcome};

/// What the file begins with.
const MAGIC: &[u8; 8] = b"SCRIPTAS";

/// The version of the file's form.
const VERSION: u32 = 1;

/// The length of a nonce, in bytes: long enough to be drawn at random.
const NONCE_BYTES: usize = 24;

/// The length of the header, in bytes.
const HEADER_BYTES: usize = MAGIC.len() + 4 + NONCE_BYTES;

/// The largest file that is read, in bytes (inclusive): far more than all secrets there can be.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What the key of the cipher is derived for, and that of digests.
const CIPHER: &str = "scripta 2026-12 secrets, the cipher of the file";
const DIGESTS: &str = "scripta 2026-12 secrets, the digests in events";

/// The environment variable that may hold the key.
pub const KEY_VARIABLE: &str = "SCRIPTA_SECRET_KEY";

/// The key that opens the secrets. `Debug` doesn't show it.
#[derive(Clone)]
pub struct SecretKey([u8; 32]);

/// The secrets of a data folder.
pub struct FileSecrets {
    path: PathBuf,
    cipher: XChaCha20Poly1305,
    digests: [u8; 32],
    secrets: Mutex<BTreeMap<SecretName, Secret>>,
}

/// One secret as it stands in the file.
#[derive(Serialize, Deserialize)]
struct Entry {
    kind: Kind,
    /// The connection's, or the server's.
    id: Uuid,
    /// Of the header, or of the variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    secret: String,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Kind {
    Connection,
    Header,
    Variable,
}

impl SecretKey {
    /// The key of this text: 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<SecretKey> {
        let hash = blake3::Hash::from_hex(text.trim()).ok()?;
        Some(SecretKey(*hash.as_bytes()))
    }

    fn random() -> Outcome<SecretKey> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::failed(format!("no key for secrets can be made: {error}")))?;
        Ok(SecretKey(bytes))
    }

    /// The key in a file that only its owner may read; `None` if there is no such file.
    fn load(path: &Path) -> Outcome<Option<SecretKey>> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::failed(format!("{shown} can't be read: {error}"))),
        };
        let mode = std::fs::metadata(path).map(|metadata| metadata.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            return Err(Failure::refused(format!(
                "{shown} can be read by others; run `chmod 600 {shown}`"
            )));
        }
        let key = SecretKey::parse(&text);
        let none = || {
            Failure::corrupt(format!("{shown} holds no key of 64 hexadecimal digits; restore it"))
        };
        key.ok_or_else(none).map(Some)
    }

    fn text(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

impl FileSecrets {
    /// The secrets of a data folder, which blocks. They are opened by the key that the
    /// configuration has, else by that in the folder's key file, which is made if there is none.
    pub fn open(data: &DataFolder) -> Outcome<FileSecrets> {
        make_folder(&data.secrets())?;
        let (path, key_path) = (data.secrets().join("store"), data.secrets().join("key"));
        let held = read(&path)?;
        let (key, from) = match data.secret_key() {
            Some(key) => (key.clone(), format!("the variable {KEY_VARIABLE}")),
            None => match (SecretKey::load(&key_path)?, &held) {
                (Some(key), _) => (key, key_path.display().to_string()),
                (None, None) => {
                    let key = SecretKey::random()?;
                    write_private(&key_path, format!("{}\n", key.text()).as_bytes()).map_err(
                        |error| {
                            let shown = key_path.display();
                            Failure::failed(format!("{shown} can't be written: {error}"))
                        },
                    )?;
                    (key, key_path.display().to_string())
                }
                (None, Some(_)) => {
                    return Err(Failure::corrupt(format!(
                        "the key of {} is gone: restore {}, or set {KEY_VARIABLE}, or delete the \
                         former to begin without secrets",
                        path.display(),
                        key_path.display()
                    )));
                }
            },
        };
        let cipher_key = Key::from(blake3::derive_key(CIPHER, &key.0));
        let store = FileSecrets {
            path,
            cipher: XChaCha20Poly1305::new(&cipher_key),
            digests: blake3::derive_key(DIGESTS, &key.0),
            secrets: Mutex::default(),
        };
        if let Some(bytes) = held {
            let secrets = store.decrypt(&bytes).map_err(|reason| {
                Failure::corrupt(format!(
                    "{} does not open with the key from {from} ({reason}): restore the file or the \
                     key, or delete the file to begin without secrets",
                    store.path.display()
                ))
            })?;
            *store.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets;
        }
        Ok(store)
    }

    fn decrypt(&self, bytes: &[u8]) -> Result<BTreeMap<SecretName, Secret>, &'static str> {
        let (header, sealed) =
            bytes.split_at_checked(HEADER_BYTES).ok_or("it is shorter than its header")?;
        let (magic, rest) = header.split_at_checked(MAGIC.len()).ok_or("it has no header")?;
        let (version, nonce) = rest.split_at_checked(4).ok_or("it has no header")?;
        if magic != MAGIC {
            return Err("it does not begin like a file of secrets");
        }
        if version != VERSION.to_le_bytes() {
            return Err("its version is not known to this program; use a newer one");
        }
        let nonce = XNonce::try_from(nonce).map_err(|_| "it has no nonce")?;
        let payload = Payload { msg: sealed, aad: header };
        let plain = self.cipher.decrypt(&nonce, payload);
        let plain = plain.map_err(|_| "the key is another one, or the file was damaged")?;
        let entries: Vec<Entry> =
            serde_json::from_slice(&plain).map_err(|_| "what is in it is not known")?;
        Ok(entries.into_iter().map(Entry::into_pair).collect())
    }

    fn encrypt(&self, secrets: &BTreeMap<SecretName, Secret>) -> Result<Vec<u8>, String> {
        let entries: Vec<Entry> = secrets.iter().map(Entry::of).collect();
        let plain = serde_json::to_vec(&entries).map_err(|error| error.to_string())?;
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| error.to_string())?;
        let mut file = Vec::with_capacity(HEADER_BYTES + plain.len() + 16);
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&VERSION.to_le_bytes());
        file.extend_from_slice(&nonce);
        let payload = Payload { msg: &plain, aad: &file };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        file.extend_from_slice(&sealed.map_err(|_| "they can't be encrypted".to_owned())?);
        Ok(file)
    }
}

fn read(path: &Path) -> Outcome<Option<Vec<u8>>> {
    let shown = path.display();
    let failed = |error: std::io::Error| Failure::failed(format!("{shown} can't be read: {error}"));
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_FILE_BYTES => Err(Failure::corrupt(format!(
            "{shown} is too large to be a file of secrets; restore it"
        ))),
        Ok(_) => std::fs::read(path).map(Some).map_err(failed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

impl SecretStore for FileSecrets {
    fn change(&self, changes: &[(SecretName, Option<Secret>)]) -> Result<(), SecretError> {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = secrets.clone();
        apply_to(&mut new, changes);
        if new == *secrets {
            return Ok(());
        }
        let unchanged = |reason| SecretError::Unchanged { reason };
        let file = self.encrypt(&new).map_err(unchanged)?;
        if file.len() as u64 > MAX_FILE_BYTES {
            let reason =
                format!("all secrets together would have more than {MAX_FILE_BYTES} bytes");
            return Err(unchanged(reason));
        }
        replace_private(&self.path, &file).map_err(|error| unchanged(error.to_string()))?;
        *secrets = new;
        sync_folder_of(&self.path)
            .map_err(|error| SecretError::NotDurable { reason: error.to_string() })
    }

    fn get(&self, name: &SecretName) -> Option<Secret> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn names(&self, server: ToolServerId) -> Vec<SecretName> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.keys().filter(|name| name.server() == Some(server)).cloned().collect()
    }

    fn digest(&self, secret: &Secret) -> [u8; 32] {
        *blake3::keyed_hash(&self.digests, secret.reveal().as_bytes()).as_bytes()
    }
}

impl Entry {
    fn of((name, secret): (&SecretName, &Secret)) -> Entry {
        let (kind, id, name) = match name {
            SecretName::Connection(id) => (Kind::Connection, *id, None),
            SecretName::Header(server, name) => (Kind::Header, server.0, Some(name.clone())),
            SecretName::Variable(server, name) => (Kind::Variable, server.0, Some(name.clone())),
        };
        Entry { kind, id, name, secret: secret.reveal().to_owned() }
    }

    fn into_pair(self) -> (SecretName, Secret) {
        let name = self.name.unwrap_or_default();
        let name = match self.kind {
            Kind::Connection => SecretName::Connection(self.id),
            Kind::Header => SecretName::Header(ToolServerId(self.id), name),
            Kind::Variable => SecretName::Variable(ToolServerId(self.id), name),
        };
        (name, Secret::new(self.secret))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn connection(number: u128) -> SecretName {
        SecretName::Connection(Uuid::from_u128(number))
    }

    fn set(store: &FileSecrets, name: &SecretName, text: &str) {
        store.change(&[(name.clone(), Some(Secret::new(text)))]).unwrap();
    }

    fn told(store: &FileSecrets, name: &SecretName) -> Option<String> {
        store.get(name).map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn what_was_set_is_there_after_a_restart_and_unreadable_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        let server = ToolServerId(Uuid::from_u128(9));
        let header = SecretName::Header(server, "Authorization".to_owned());
        let variable = SecretName::Variable(server, "TOKEN".to_owned());
        let store = FileSecrets::open(&data).unwrap();
        for (name, text) in [
            (connection(1), "s3cret-1"),
            (header.clone(), "s3cret-2"),
            (variable.clone(), "s3cret-3"),
        ] {
            set(&store, &name, text);
        }
        store.change(&[(variable.clone(), None)]).unwrap();
        let digest = store.digest(&Secret::new("s3cret-1"));
        drop(store);

        let again = FileSecrets::open(&data).unwrap();
        assert_eq!(told(&again, &connection(1)).as_deref(), Some("s3cret-1"));
        assert_eq!(told(&again, &header).as_deref(), Some("s3cret-2"));
        assert_eq!(told(&again, &variable), None);
        assert_eq!(again.digest(&Secret::new("s3cret-1")), digest);
        assert_ne!(again.digest(&Secret::new("s3cret-2")), digest);
        for name in ["store", "key"] {
            let path = data.secrets().join(name);
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"s3cret"), "{name}");
        }
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed_and_never_an_empty_store() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        set(&FileSecrets::open(&data).unwrap(), &connection(1), "s3cret");
        let path = data.secrets().join("store");
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let failure = FileSecrets::open(&data).err().unwrap().to_string();
            assert!(failure.contains("store") && !failure.contains("s3cret"), "{failure}");
            std::fs::write(&path, &good[..at]).unwrap();
            assert!(FileSecrets::open(&data).is_err(), "cut at {at}");
        }
        std::fs::write(&path, &good).unwrap();
        assert!(FileSecrets::open(&data).is_ok());
    }

    #[test]
    fn another_key_or_none_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        set(&FileSecrets::open(&data).unwrap(), &connection(1), "s3cret");
        let other = data.clone().with_secret_key(SecretKey([7; 32]));
        let failure = FileSecrets::open(&other).err().unwrap().to_string();
        assert!(failure.contains(KEY_VARIABLE) && failure.contains("restore"), "{failure}");
        let key = data.secrets().join("key");
        let kept = std::fs::read(&key).unwrap();
        std::fs::remove_file(&key).unwrap();
        let failure = FileSecrets::open(&data).err().unwrap().to_string();
        assert!(failure.contains("is gone"), "{failure}");
        write_private(&key, b"nonsense").unwrap();
        assert!(FileSecrets::open(&data).is_err());
        write_private(&key, &kept).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
        let failure = FileSecrets::open(&data).err().unwrap().to_string();
        assert!(failure.contains("chmod 600"), "{failure}");
    }

    #[test]
    fn a_key_of_the_environment_leaves_no_key_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let key = SecretKey::parse(&"0f".repeat(32)).unwrap();
        let data = DataFolder::at(dir.path()).with_secret_key(key);
        set(&FileSecrets::open(&data).unwrap(), &connection(1), "s3cret");
        assert_eq!(
            told(&FileSecrets::open(&data).unwrap(), &connection(1)).as_deref(),
            Some("s3cret")
        );
        assert!(!data.secrets().join("key").exists());
        for wrong in ["", "0f", "zz"] {
            assert!(SecretKey::parse(wrong).is_none());
        }
    }

    /// Files of this version are readable for ever.
    #[test]
    fn a_file_of_version_1_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path()).with_secret_key(SecretKey([7; 32]));
        if let Some(path) = std::env::var_os("SCRIPTA_WRITE_GOLDEN_SECRETS") {
            let store = FileSecrets::open(&data).unwrap();
            set(&store, &connection(1), "one");
            let header = SecretName::Header(ToolServerId(Uuid::from_u128(2)), "H".to_owned());
            set(&store, &header, "two");
            std::fs::copy(data.secrets().join("store"), path).unwrap();
        }
        make_folder(&data.secrets()).unwrap();
        let golden = include_bytes!("../testdata/secrets-v1.bin");
        std::fs::write(data.secrets().join("store"), golden).unwrap();
        let store = FileSecrets::open(&data).unwrap();
        assert_eq!(told(&store, &connection(1)).as_deref(), Some("one"));
        let header = SecretName::Header(ToolServerId(Uuid::from_u128(2)), "H".to_owned());
        assert_eq!(told(&store, &header).as_deref(), Some("two"));
        let expected = "30d6fdc8";
        let digest = blake3::Hash::from_bytes(store.digest(&Secret::new("one"))).to_hex();
        assert_eq!(&digest[..8], expected);
    }

    #[test]
    fn a_store_that_can_not_be_written_says_so_and_keeps_what_it_had() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        let store = FileSecrets::open(&data).unwrap();
        set(&store, &connection(1), "s3cret");
        // A folder in the place of the draft can't be replaced by a file.
        std::fs::create_dir_all(data.secrets().join("store.draft/x")).unwrap();
        let failed = store.change(&[(connection(1), Some(Secret::new("an0ther")))]).unwrap_err();
        assert!(!failed.to_string().contains("an0ther"), "{failed}");
        assert_eq!(told(&store, &connection(1)).as_deref(), Some("s3cret"));
        assert_eq!(
            told(&FileSecrets::open(&data).unwrap(), &connection(1)).as_deref(),
            Some("s3cret")
        );
    }
}
