//! Where a path leads.

use std::io::ErrorKind;
use std::path::{Component, Path};
use std::time::Duration;

use scripta_events::domain::ResourceKind;

/// How long a look at the disk may take: the project waits for it, and a network's disk may never
/// answer.
pub(super) const MAX_LOOK: Duration = Duration::from_secs(5);

/// What is at a path that the project may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path without links and detours.
    pub path: String,
    /// What is there.
    pub kind: ResourceKind,
}

/// Why a path can't be referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// It leads outside of what the project may read, whatever is there.
    Outside,
    /// What is wrong with it, as the rest of a sentence.
    Wrong(String),
}

/// Looks a path up on the disk, which blocks, for a project that may read these directories.
///
/// What is outside of them is not told of: not whether it is there, what it is, or where a link
/// leads.
pub(super) fn look(path: &str, directories: &[String]) -> Result<Place, NoPlace> {
    if !Path::new(path).is_absolute() {
        let problem = format!("is the relative path '{path}'; give an absolute one");
        return Err(NoPlace::Wrong(problem));
    }
    let found = match std::fs::canonicalize(path) {
        Ok(found) if is_readable(&found, directories) => found,
        Err(error) if leads_inside(Path::new(path), directories) => {
            return Err(NoPlace::Wrong(wrong(path, &error)));
        }
        Ok(_) | Err(_) => return Err(NoPlace::Outside),
    };
    let metadata = std::fs::metadata(&found).map_err(|error| wrong(path, &error));
    let metadata = metadata.map_err(NoPlace::Wrong)?;
    let kind = if metadata.is_dir() {
        ResourceKind::Directory
    } else if metadata.is_file() {
        ResourceKind::File
    } else {
        let problem = format!("leads to '{path}', which is neither a file nor a directory");
        return Err(NoPlace::Wrong(problem));
    };
    // The model is told of it in a line of its own.
    match found.into_os_string().into_string() {
        Ok(path) if !path.chars().any(char::is_control) => Ok(Place { path, kind }),
        _ => {
            let problem = "leads to a name that is not UTF-8 or has line breaks or other control \
                           characters; rename it";
            Err(NoPlace::Wrong(problem.to_owned()))
        }
    }
}

/// Whether it is inside of what the project may read.
fn is_readable(path: &Path, directories: &[String]) -> bool {
    directories.iter().any(|directory| {
        std::fs::canonicalize(directory).is_ok_and(|directory| path.starts_with(directory))
    })
}

/// Whether a path that can't be followed to its end leads inside as far as it can.
fn leads_inside(path: &Path, directories: &[String]) -> bool {
    // A detour back from what isn't there leads nowhere that could be told.
    let detours = path.components().any(|it| it == Component::ParentDir);
    let there = path.ancestors().find_map(|ancestor| std::fs::canonicalize(ancestor).ok());
    !detours && there.is_some_and(|there| is_readable(&there, directories))
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

        let all = [text(&root)];
        let straight = look(&text(&inner.join("a.txt")), &all).unwrap();
        assert_eq!(straight.kind, ResourceKind::File);
        let link = look(&text(&root.join("link")), &all).unwrap();
        assert_eq!(link, straight);
        let detour = look(&text(&inner.join("../inner/./a.txt")), &all).unwrap();
        assert_eq!(detour, straight);
        assert_eq!(look(&text(&inner), &all).unwrap().kind, ResourceKind::Directory);
        let wrong = |path: &str| match look(path, &all) {
            Err(NoPlace::Wrong(problem)) => problem,
            other => panic!("{other:?}"),
        };
        assert!(wrong("a.txt").contains("relative"));
        assert!(wrong(&text(&root.join("none"))).contains("leads nowhere"));
        assert!(wrong(&format!("{}/{}", text(&root), "x".repeat(5_000))).contains("followed"));
        std::fs::write(inner.join("a\n# Instructions"), "x").unwrap();
        assert!(wrong(&text(&inner.join("a\n# Instructions"))).contains("control"));
    }

    #[test]
    fn what_is_outside_is_not_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (inner, other) = (root.join("inner"), root.join("other"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("a.txt"), "x").unwrap();
        std::os::unix::fs::symlink(other.join("a.txt"), inner.join("out")).unwrap();
        std::os::unix::fs::symlink(other.join("none"), inner.join("broken")).unwrap();
        std::os::unix::fs::symlink(&other, inner.join("folder")).unwrap();
        for path in ["other", "other/a.txt", "other/none", "inner/out", "inner/folder/none"] {
            let outside = look(&text(&root.join(path)), &[text(&inner)]);
            assert_eq!(outside, Err(NoPlace::Outside), "{path}");
        }
        assert_eq!(look("/with\0nul", &[text(&inner)]), Err(NoPlace::Outside));
        // A project without directories and grants may read nothing.
        assert_eq!(look(&text(&inner), &[]), Err(NoPlace::Outside));
        assert!(look(&text(&inner), &["/".to_owned()]).is_ok());
    }
}
