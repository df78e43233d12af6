//! Reads a service's source files into a graph of modules: which file names which other file of the same crate.
//!
//! The files are tokenised, not compiled. Comments and strings therefore never count, and code inside macros does. A name
//! that a module re-exports belongs to the module that defines it. Items under `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;

use crate::tokens::{FileTokens, Import, read};

/// The path of a module from the crate's root, such as `["store", "orders"]`. The root is empty.
pub type ModulePath = Vec<String>;

/// One source file with the paths that it names.
#[derive(Debug, Default)]
pub struct Module {
    /// Modules of the same crate that the file names, re-exports included.
    pub names: BTreeSet<ModulePath>,
    /// The subset of `names` that the file's own code needs. A pure re-export is not in it.
    pub needs: BTreeSet<ModulePath>,
    /// Items of `lib.rs` that the file names.
    pub root_items: BTreeSet<String>,
    /// Paths into other crates, such as `chrono::Utc::now`.
    pub outside: BTreeSet<String>,
}

/// All modules of one crate.
#[derive(Debug, Default)]
pub struct Modules(pub BTreeMap<ModulePath, Module>);

impl Modules {
    /// Reads every `.rs` file below `src`. `main.rs` is a crate of its own and is left out.
    ///
    /// # Errors
    /// A file cannot be read; otherwise as [`of`](Self::of).
    pub fn read(src: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        collect(src, &mut files)?;
        let mut sources = Vec::new();
        for file in files {
            let Ok(relative) = file.strip_prefix(src) else { continue };
            sources.push((relative.to_string_lossy().into_owned(), fs::read_to_string(&file)?));
        }
        Self::of(sources.iter().map(|(file, text)| (file.as_str(), text.as_str()))).map_err(io::Error::other)
    }

    /// Builds the graph from file names relative to `src` and their texts.
    ///
    /// # Errors
    /// The first file that is no Rust source.
    pub fn of<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        for (file, text) in sources.into_iter().filter(|(file, _)| *file != "main.rs") {
            let tokens: TokenStream = text.parse().map_err(|error| format!("{file}: {error}"))?;
            files.insert(module_path(file), read(tokens));
        }
        for path in test_only(&files) {
            files.retain(|other, _| !other.starts_with(&path));
        }
        let graph = files.keys().map(|path| (path.clone(), module(&files, path))).collect();
        Ok(Self(graph))
    }

    /// Groups of modules that need each other in a circle, each group sorted. `lib.rs` is not part of any group: it wires the
    /// rooms, and `root_items` are checked on their own.
    pub fn circles(&self) -> Vec<Vec<ModulePath>> {
        let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            self.0.keys().map(|path| (path, self.reached_from(path))).collect();
        let mut circles = BTreeSet::new();
        for (path, reached) in &reach {
            let circle: Vec<ModulePath> = reached
                .iter()
                .filter(|other| reach.get(*other).is_some_and(|back| back.contains(path)))
                .map(|other| (*other).clone())
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from(&self, path: &ModulePath) -> BTreeSet<&ModulePath> {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&ModulePath> =
            self.0.get(path).into_iter().flat_map(|module| &module.needs).collect();
        while let Some(path) = next.pop() {
            if seen.insert(path) {
                next.extend(self.0.get(path).into_iter().flat_map(|module| &module.needs));
            }
        }
        seen
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// `store/orders.rs` is `["store", "orders"]`; `store/mod.rs` is `["store"]`; `lib.rs` is the root.
fn module_path(file: &str) -> ModulePath {
    let mut path: ModulePath = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// Modules that exist in tests alone.
fn test_only(files: &BTreeMap<ModulePath, FileTokens>) -> Vec<ModulePath> {
    let children =
        files.iter().flat_map(|(path, file)| file.test_modules.iter().map(move |name| (path, name)));
    children.map(|(path, name)| join(path, name)).collect()
}

fn join(path: &ModulePath, name: &str) -> ModulePath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn module(files: &BTreeMap<ModulePath, FileTokens>, path: &ModulePath) -> Module {
    let mut module = Module::default();
    let Some(file) = files.get(path) else { return module };
    let mut add = |written: &[String], depth: usize, is_needed: bool| {
        let Some(target) = absolute(files, path, written, depth) else {
            module.outside.insert(written.join("::"));
            return;
        };
        let defined_in = resolve(files, &target);
        if let (true, Some(item)) = (defined_in.is_empty(), target.first()) {
            module.root_items.insert(item.clone());
            return;
        }
        if is_needed {
            module.needs.insert(defined_in.clone());
        }
        module.names.insert(defined_in);
    };
    for import in &file.imports {
        add(&import.path, import.depth, !import.is_public || file.idents.contains(&import.name));
    }
    for (used, depth) in &file.paths {
        // A path may begin with a name that an import of this file has brought in.
        match file.imports.iter().find(|import| used.first() == Some(&import.name)) {
            Some(import) => {
                let written: Vec<String> = import.path.iter().chain(used.iter().skip(1)).cloned().collect();
                add(&written, import.depth, true);
            }
            None => add(used, *depth, true),
        }
    }
    module.names.remove(path);
    module.needs.remove(path);
    module
}

/// The path from the crate's root; none if it leads into another crate.
fn absolute(
    files: &BTreeMap<ModulePath, FileTokens>,
    module: &ModulePath,
    path: &[String],
    depth: usize,
) -> Option<ModulePath> {
    let first = path.first()?;
    match first.as_str() {
        "crate" => Some(path.iter().skip(1).cloned().collect()),
        "self" => Some(module.iter().chain(path.iter().skip(1)).cloned().collect()),
        "super" => {
            let ups = path.iter().take_while(|segment| *segment == "super").count();
            // The first `super`s lead out of the modules that are written inside the file.
            let kept = module.len().saturating_sub(ups.saturating_sub(depth));
            Some(module.iter().take(kept).chain(path.iter().skip(ups)).cloned().collect())
        }
        _ if files.contains_key(&join(module, first)) => Some(module.iter().chain(path).cloned().collect()),
        _ => None,
    }
}

/// The module that defines what an absolute path names.
fn resolve(files: &BTreeMap<ModulePath, FileTokens>, target: &ModulePath) -> ModulePath {
    follow(files, target, 8)
}

fn follow(files: &BTreeMap<ModulePath, FileTokens>, target: &ModulePath, depth: u8) -> ModulePath {
    let known =
        (0..=target.len()).rev().find(|length| files.contains_key(target.get(..*length).unwrap_or_default()));
    let (module, rest) = target.split_at(known.unwrap_or_default());
    let (module, Some(name)) = (module.to_vec(), rest.first()) else { return module.to_vec() };
    let Some(file) = files.get(&module) else { return module };
    if depth == 0 || file.defines.contains(name) {
        return module;
    }
    let further = |import: &Import, rest: &[String]| {
        let start = absolute(files, &module, &import.path, import.depth)?;
        Some(follow(files, &start.into_iter().chain(rest.iter().cloned()).collect(), depth - 1))
    };
    if let Some(found) = file
        .imports
        .iter()
        .find(|import| import.name == *name)
        .and_then(|import| further(import, rest.get(1..).unwrap_or_default()))
    {
        return found;
    }
    let mut globs = file.imports.iter().filter(|import| import.name == "*" && import.is_public);
    globs.find_map(|import| further(import, rest)).unwrap_or(module)
}
