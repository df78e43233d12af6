//! The dependencies of the workspace, as cargo resolves them.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};

/// Dependencies between packages, separately for shipped code and for tests.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Our packages by name, with their folder, such as `shared/database`. The name is that of the folder, without the prefix of
    /// the published crates.
    pub ours: BTreeMap<String, String>,
    /// Direct normal and build dependencies of every package, including third-party packages.
    pub normal: BTreeMap<String, BTreeSet<String>>,
    /// Direct development dependencies of our packages.
    pub development: BTreeMap<String, BTreeSet<String>>,
}

fn short(package: &Package) -> String {
    package.name.trim_start_matches("idem-").to_owned()
}

impl Graph {
    /// Reads the graph from cargo's metadata.
    pub fn of(metadata: &Metadata) -> Self {
        let names: BTreeMap<&PackageId, String> =
            metadata.packages.iter().map(|package| (&package.id, short(package))).collect();
        let name = |id: &PackageId| names.get(id).cloned().unwrap_or_default();
        let mut graph = Self::default();
        for package in metadata.workspace_packages() {
            let folder = package.manifest_path.parent().map(ToString::to_string).unwrap_or_default();
            let folder = folder.strip_prefix(metadata.workspace_root.as_str()).unwrap_or(&folder);
            graph.ours.insert(short(package), folder.trim_start_matches('/').to_owned());
        }
        for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
            for dependency in &node.deps {
                let kinds = || dependency.dep_kinds.iter().map(|kind| kind.kind);
                if kinds().any(|kind| kind != DependencyKind::Development) {
                    graph.normal.entry(name(&node.id)).or_default().insert(name(&dependency.pkg));
                }
                if kinds().any(|kind| kind == DependencyKind::Development) {
                    graph.development.entry(name(&node.id)).or_default().insert(name(&dependency.pkg));
                }
            }
        }
        graph
    }

    /// All packages that ship with a package.
    pub fn reaches(&self, package: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut next = vec![package.to_owned()];
        while let Some(name) = next.pop() {
            for dependency in self.normal.get(&name).into_iter().flatten() {
                if seen.insert(dependency.clone()) {
                    next.push(dependency.clone());
                }
            }
        }
        seen
    }

    /// The names of our packages below a folder.
    pub fn below<'g>(&'g self, folder: &'g str) -> impl Iterator<Item = &'g str> {
        let is_below = move |at: &str| at.starts_with(folder) && at != folder;
        self.ours.iter().filter(move |(_, at)| is_below(at)).map(|(name, _)| name.as_str())
    }
}
