//! Where a path leads.

use std::io::ErrorKind;
use std::path::Path;

use scripta_events::domain::ResourceKind;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path without links and detours.
    pub path: String,
    /// What is there.
    pub kind: ResourceKind,
    /// Whether the project may read it.
    pub readable: bool,
}

/// Looks a path up on the disk, which blocks; or says what is wrong with it, as the rest of a
/// sentence.
pub(super) fn look(path: &str, directories: &[String]) -> Result<Place, String> {
    if !Path::new(path).is_absolute() {
        return Err(format!("is the relative path '{path}'; give an absolute one"));
    }
    let found = std::fs::canonicalize(path).map_err(|error| wrong(path, &error))?;
    let metadata = std::fs::metadata(&found).map_err(|error| wrong(path, &error))?;
    let kind = if metadata.is_dir() {
        ResourceKind::Directory
    } else if metadata.is_file() {
        ResourceKind::File
    } else {
        return Err(format!("leads to '{path}', which is neither a file nor a directory"));
    };
    let readable = is_readable(&found, directories);
    let path = found.into_os_string().into_string();
    let path = path.map_err(|_| "leads to a name that is not UTF-8; rename it".to_owned())?;
    Ok(Place { path, kind, readable })
}

/// Whether a project with these directories may read there: inside of them, and anywhere for one
/// without any.
fn is_readable(path: &Path, directories: &[String]) -> bool {
    directories.is_empty()
        || directories.iter().any(|directory| {
            std::fs::canonicalize(directory).is_ok_and(|directory| path.starts_with(directory))
        })
}

/// A sentence of ours, without what the operating system would add.
fn wrong(path: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            format!("leads nowhere: there is no '{path}'; give one that is there")
        }
        ErrorKind::PermissionDenied => format!("leads to '{path}', which may not be looked at"),
        _ => format!("can't be followed to '{path}'; give one that can"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_is_followed_to_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let inner = root.join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a.txt"), "x").unwrap();
        std::os::unix::fs::symlink(inner.join("a.txt"), root.join("link")).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();

        let straight = look(&text(&inner.join("a.txt")), &[]).unwrap();
        assert_eq!((straight.kind, straight.readable), (ResourceKind::File, true));
        let link = look(&text(&root.join("link")), &[]).unwrap();
        assert_eq!(link, straight);
        let detour = look(&text(&inner.join("../inner/./a.txt")), &[]).unwrap();
        assert_eq!(detour, straight);
        assert_eq!(look(&text(&inner), &[]).unwrap().kind, ResourceKind::Directory);

        // The link is inside, what it leads to may be outside.
        let within = look(&text(&root.join("link")), &[text(&inner)]).unwrap();
        assert!(within.readable);
        let other = tempfile::tempdir().unwrap();
        let outside = look(&text(&root.join("link")), &[text(other.path())]).unwrap();
        assert!(!outside.readable);

        assert!(look("a.txt", &[]).unwrap_err().contains("relative"));
        assert!(look(&text(&root.join("none")), &[]).unwrap_err().contains("leads nowhere"));
        assert!(look(&format!("/{}", "x".repeat(5_000)), &[]).is_err());
        assert!(look("/with\0nul", &[]).is_err());
    }
}
