//! The rules of the repository that a program can check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use scripta_tests::binary::workspace;

/// The longest a source file may be, in lines: a reader holds a file of this size in mind.
const MAX_LINES: usize = 600;

/// Which crates of the workspace each may use. What is not listed here is forbidden.
const EDGES: &[(&str, &[&str])] = &[
    ("scripta-events", &[]),
    ("scripta-actors", &["scripta-events"]),
    ("scripta-projections", &["scripta-events"]),
    ("scripta-mcp", &["scripta-events", "scripta-actors", "scripta-projections"]),
    ("scripta", &["scripta-events", "scripta-actors", "scripta-projections", "scripta-mcp"]),
    ("scripta-tests", &["scripta-events"]),
    ("scripta-benches", &["scripta-events"]),
];

const HTTP: &[&str] = &[
    "actix-http",
    "actix-web",
    "axum",
    "http",
    "hyper",
    "reqwest",
    "rmcp-actix-web",
    "tonic",
    "utoipa",
    "warp",
];

/// What each crate must not know: it may not stand in its own dependencies, for tests either.
fn forbidden(package: &str) -> Vec<&'static str> {
    let with_http = |names: &[&'static str]| [names, HTTP].concat();
    match package {
        "scripta-events" => with_http(&[
            "actix",
            "dashmap",
            "genai",
            "rmcp",
            "schemars",
            "serde_json",
            "tantivy",
            "clap",
        ]),
        "scripta-actors" => with_http(&["sled", "tantivy", "rmcp", "clap"]),
        "scripta-projections" => with_http(&["actix", "dashmap", "genai", "rmcp", "clap"]),
        "scripta-mcp" => with_http(&["actix", "clap", "genai", "sled", "tantivy"]),
        _ => Vec::new(),
    }
}

/// `anyhow` is for the ends of the program only: a library has typed errors.
const LIBRARIES: &[&str] =
    &["scripta-events", "scripta-actors", "scripta-projections", "scripta-mcp"];

fn metadata() -> &'static Metadata {
    static METADATA: OnceLock<Metadata> = OnceLock::new();
    METADATA.get_or_init(|| {
        let manifest = workspace().join("Cargo.toml");
        MetadataCommand::new().manifest_path(manifest).exec().expect("cargo metadata runs")
    })
}

fn packages() -> Vec<&'static Package> {
    metadata().workspace_packages()
}

fn direct_dependencies(package: &Package) -> BTreeSet<&str> {
    package.dependencies.iter().map(|dependency| dependency.name.as_str()).collect()
}

#[test]
fn imports_go_one_way() {
    let allowed: BTreeMap<_, _> = EDGES.iter().copied().collect();
    let members: BTreeSet<&str> = packages().iter().map(|package| package.name.as_str()).collect();
    assert_eq!(
        members,
        allowed.keys().copied().collect(),
        "a crate has no rule, or a rule no crate"
    );
    for package in packages() {
        let used = direct_dependencies(package);
        let may = allowed[package.name.as_str()];
        let wrong: Vec<_> =
            used.iter().filter(|name| members.contains(*name) && !may.contains(name)).collect();
        assert!(wrong.is_empty(), "{} must not use {wrong:?}", package.name);
    }
}

#[test]
fn no_crate_knows_what_it_must_not() {
    for package in packages() {
        let used = direct_dependencies(package);
        let forbidden = forbidden(&package.name);
        let wrong: Vec<_> = used.iter().filter(|name| forbidden.contains(name)).collect();
        assert!(wrong.is_empty(), "{} must not know {wrong:?}", package.name);
        if LIBRARIES.contains(&package.name.as_str()) {
            let untyped = used.iter().any(|name| ["anyhow", "eyre"].contains(name));
            assert!(!untyped, "{} is a library: its errors are typed", package.name);
        }
    }
}

/// What a dependency brings along counts, too: a library that pulls in a web server knows HTTP.
#[test]
fn no_crate_reaches_what_it_must_not() {
    let reach = |package: &str| normal_closure(package);
    for (package, never) in [
        ("scripta-events", &["actix", "tantivy", "rmcp", "hyper", "actix-http", "serde_json"][..]),
        // Not sled: the log's own index is in it, below the log's contract.
        ("scripta-actors", &["tantivy", "rmcp", "hyper", "actix-http", "scripta-projections"]),
        ("scripta-projections", &["actix", "rmcp", "hyper", "actix-http", "scripta-actors"]),
        ("scripta-mcp", &["actix-web", "actix-http", "clap"]),
    ] {
        let reached = reach(package);
        assert!(reached.len() > 1, "{package} depends on nothing?");
        let wrong: Vec<_> = never.iter().filter(|name| reached.contains(**name)).collect();
        assert!(wrong.is_empty(), "{package} reaches {wrong:?}");
    }
}

/// The names of all packages that are linked with this one, tests left out.
fn normal_closure(package: &str) -> BTreeSet<String> {
    let resolve = metadata().resolve.as_ref().expect("cargo metadata resolves");
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let names: BTreeMap<_, _> =
        metadata().packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
    let start = packages().into_iter().find(|found| found.name.as_str() == package).unwrap();
    let mut open = vec![&start.id];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            let linked = nodes[id]
                .deps
                .iter()
                .filter(|dep| dep.dep_kinds.iter().any(|info| info.kind == DependencyKind::Normal));
            open.extend(linked.map(|dep| &dep.pkg));
        }
    }
    seen.into_iter().map(|id| names[id].to_owned()).collect()
}

#[test]
fn every_dependency_has_a_reason_beside_it() {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let section = manifest.split("[workspace.dependencies]").nth(1).expect("the section");
    let section = section.split("\n[").next().unwrap();
    let mut missing = Vec::new();
    let mut explained = false;
    for line in section.lines() {
        let line = line.trim();
        let own = line.starts_with("scripta-");
        match line {
            "" => explained = false,
            comment if comment.starts_with('#') => explained = true,
            _ if own => {}
            dependency => {
                // A comment stands for the line below it, or at the end of its own line.
                if !explained && !dependency.contains('#') {
                    missing.push(dependency.to_owned());
                }
                explained = false;
            }
        }
    }
    assert!(missing.is_empty(), "these have no reason beside them: {missing:#?}");
}

#[test]
fn every_crate_takes_its_versions_and_lints_from_the_workspace() {
    for package in packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{} doesn't take the workspace's lints",
            package.name
        );
        for (number, line) in manifest.lines().enumerate() {
            let versioned = line.contains("version = \"") || line.contains("git = \"");
            assert!(!versioned, "{}:{}: {line}", package.manifest_path, number + 1);
        }
    }
}

#[test]
fn no_source_file_is_too_long() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines, over {MAX_LINES}", path.display());
    }
}

#[test]
fn nothing_is_left_to_do() {
    // Put together here, so that this file doesn't find itself.
    let macros = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!"));
    let words = ["FIXME", "XXX"];
    for (path, text) in sources() {
        if path.ends_with("system/tidy.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let left = macros.iter().any(|name| line.contains(name.as_str()))
                || words.iter().any(|word| line.contains(word));
            assert!(!left, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

#[test]
fn no_drawer_for_everything() {
    for (path, _) in sources() {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let drawer = ["utils", "util", "common", "helpers", "misc"].contains(&stem);
        assert!(!drawer, "{}: a module has a name that says what it is for", path.display());
    }
}

/// A test waits for what it needs; time that passes proves nothing.
#[test]
fn no_test_sleeps() {
    let sleeps = ["thread::sleep(", "time::sleep("];
    for (path, text) in sources() {
        let whole_file = path.components().any(|part| part.as_os_str() == "tests");
        if path.ends_with("system/tidy.rs") {
            continue;
        }
        let tests = if whole_file { Some(&text[..]) } else { text.split("mod tests").nth(1) };
        let sleeping = tests.is_some_and(|tests| sleeps.iter().any(|sleep| tests.contains(sleep)));
        assert!(!sleeping, "{}: a test sleeps", path.display());
    }
}

#[test]
fn nothing_names_the_place_where_it_was_written() {
    // Put together here, so that this file doesn't find itself.
    let words = [
        ["/", "work/"].concat(),
        ["..", "/shared"].concat(),
        [".", "library"].concat(),
        ["/tmp/", "team"].concat(),
    ];
    for path in files(&workspace()) {
        // What isn't text has no words.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            let found = words.iter().any(|word| line.contains(word.as_str()));
            assert!(!found && !numbers_an_issue(line), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

/// Whether a line speaks of an issue by its bare number: nobody else can look that up.
fn numbers_an_issue(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.split("issue ").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// All Rust files of the workspace with their texts; their paths.
fn sources() -> Vec<(PathBuf, String)> {
    let paths = files(&workspace());
    let rust = paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let sources: Vec<_> =
        rust.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    assert!(sources.len() > EDGES.len(), "the sources were not found");
    sources
}

/// All files below a folder, build output and hidden folders but `.ci` left out.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let hidden = name.starts_with('.') && name != ".ci";
        let output = ["target", "node_modules", "venv"].contains(&name.as_str());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !hidden && !output {
            found.extend(files(&entry.path()));
        } else if kind.is_file() && !hidden {
            found.push(entry.path());
        }
    }
    found
}
