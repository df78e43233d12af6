//! Reads what one source file imports, names and defines.

use std::collections::BTreeSet;
use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One name that a `use` brings in.
#[derive(Debug, Clone)]
pub struct Import {
    /// The name in this file; `*` for a glob.
    pub name: String,
    /// Where it comes from, as written.
    pub path: Vec<String>,
    /// True if the file passes it on (`pub use`, with any visibility).
    pub is_public: bool,
    /// How many modules inside the file surround it.
    pub depth: usize,
}

/// A file without its comments, strings and test-only items.
#[derive(Debug, Default)]
pub struct FileTokens {
    /// What its `use` items bring in.
    pub imports: Vec<Import>,
    /// Paths of two segments or more outside of `use`, each with the number of modules inside the file around it.
    pub paths: BTreeSet<(Vec<String>, usize)>,
    /// Names of the items that it defines.
    pub defines: BTreeSet<String>,
    /// Every identifier outside of `use`.
    pub idents: BTreeSet<String>,
    /// Children that are declared under `#[cfg(test)]`.
    pub test_modules: Vec<String>,
}

type Tokens = Peekable<IntoIter>;

/// The surroundings of a token.
#[derive(Clone, Copy)]
struct Nesting {
    /// How many modules inside the file.
    modules: usize,
    /// True if items here belong to the file's own module.
    is_item: bool,
}

/// Reads one file.
pub fn read(tokens: TokenStream) -> FileTokens {
    let mut file = FileTokens::default();
    walk(tokens, Nesting { modules: 0, is_item: true }, &mut file);
    file
}

fn walk(tokens: TokenStream, place: Nesting, file: &mut FileTokens) {
    let mut tokens = tokens.into_iter().peekable();
    let (mut is_public, mut colons) = (false, 0);
    while let Some(token) = tokens.next() {
        let after_colons = colons >= 2;
        colons = if is_punct(Some(&token), ':') { colons + 1 } else { 0 };
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => attribute(&mut tokens, place, file),
            TokenTree::Punct(_) | TokenTree::Literal(_) => is_public = false,
            // The group may be the `(crate)` of `pub(crate)`.
            TokenTree::Group(group) => walk(group.stream(), Nesting { is_item: false, ..place }, file),
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                match word.as_str() {
                    "use" => imports(&mut tokens, is_public, place.modules, file),
                    "mod" => submodule(&mut tokens, place, file),
                    "struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static" => {
                        if let (true, Some(TokenTree::Ident(name))) = (place.is_item, tokens.peek()) {
                            file.defines.insert(name.to_string());
                        }
                    }
                    _ => {
                        if !after_colons {
                            path(&word, &mut tokens, place.modules, file);
                        }
                        file.idents.insert(word.clone());
                    }
                }
                is_public = word == "pub";
            }
        }
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn colons(tokens: &mut Tokens) -> bool {
    let mut ahead = tokens.clone();
    let found = is_punct(ahead.next().as_ref(), ':') && is_punct(ahead.next().as_ref(), ':');
    if found {
        *tokens = ahead;
    }
    found
}

/// Reads on after the first segment of what may be a path.
fn path(first: &str, tokens: &mut Tokens, depth: usize, file: &mut FileTokens) {
    let mut segments = vec![first.to_owned()];
    while colons(tokens) {
        let Some(TokenTree::Ident(ident)) = tokens.peek() else { break };
        file.idents.insert(ident.to_string());
        segments.push(ident.to_string());
        tokens.next();
    }
    if segments.len() > 1 {
        file.paths.insert((segments, depth));
    }
}

/// After `#`: skips the item if it is for tests alone, else reads what the attribute names.
fn attribute(tokens: &mut Tokens, place: Nesting, file: &mut FileTokens) {
    tokens.next_if(|token| is_punct(Some(token), '!'));
    let Some(TokenTree::Group(group)) = tokens.next() else { return };
    let text = group.stream().to_string().replace(' ', "");
    if text == "cfg(test)" || text.starts_with("cfg(all(test") {
        skip_item(tokens, file);
    } else {
        walk(group.stream(), Nesting { is_item: false, ..place }, file);
    }
}

fn skip_item(tokens: &mut Tokens, file: &mut FileTokens) {
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            TokenTree::Ident(ident) if ident == "mod" => {
                if let Some(TokenTree::Ident(name)) = tokens.peek() {
                    file.test_modules.push(name.to_string());
                }
            }
            _ => {}
        }
    }
}

/// After `mod`: a module that is written inside the file is read as a part of the file.
fn submodule(tokens: &mut Tokens, place: Nesting, file: &mut FileTokens) {
    let Some(TokenTree::Ident(name)) = tokens.next() else { return };
    if let Some(TokenTree::Group(group)) = tokens.next_if(|token| matches!(token, TokenTree::Group(_))) {
        file.defines.insert(name.to_string());
        walk(group.stream(), Nesting { modules: place.modules + 1, is_item: false }, file);
    }
}

/// After `use`: reads the tree up to its semicolon.
fn imports(tokens: &mut Tokens, is_public: bool, depth: usize, file: &mut FileTokens) {
    let tree: TokenStream = tokens.by_ref().take_while(|token| !is_punct(Some(token), ';')).collect();
    branch(&mut tree.into_iter().peekable(), &[], &mut |name, path| {
        file.imports.push(Import { name, path, is_public, depth });
    });
}

fn branch(tokens: &mut Tokens, prefix: &[String], found: &mut dyn FnMut(String, Vec<String>)) {
    let (mut path, mut name) = (prefix.to_vec(), None);
    let mut is_open = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == "as" => name = tokens.next().map(|alias| alias.to_string()),
            TokenTree::Ident(ident) => {
                is_open = true;
                // `self` at the end of a path is the module before it.
                if ident != "self" || path.is_empty() {
                    path.push(ident.to_string());
                }
            }
            TokenTree::Group(group) => {
                branch(&mut group.stream().into_iter().peekable(), &path, found);
                is_open = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == '*' => {
                name = Some("*".to_owned());
                is_open = true;
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                finish(is_open, name.take(), &path, found);
                path = prefix.to_vec();
                is_open = false;
            }
            _ => {}
        }
    }
    finish(is_open, name, &path, found);
}

fn finish(is_open: bool, name: Option<String>, path: &[String], found: &mut dyn FnMut(String, Vec<String>)) {
    if let (true, Some(last)) = (is_open, path.last()) {
        found(name.unwrap_or_else(|| last.clone()), path.to_vec());
    }
}
