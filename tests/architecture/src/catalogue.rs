//! The catalogue of problems: what the code declares, what docs/problems.md says, and where the two differ.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};

/// One problem type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The HTTP status.
    pub status: String,
    /// The title.
    pub title: String,
    /// `yes` or `no`.
    pub retryable: String,
}

/// Entries by code.
pub type Catalogue = BTreeMap<String, Entry>;

/// The entries that a source file declares with `problem_types!`.
///
/// # Errors
/// The file is no Rust source, or an entry has another form.
pub fn declared(source: &str) -> Result<Catalogue, String> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("{error}"))?;
    let mut found = Catalogue::new();
    invocations(tokens, &mut found)?;
    Ok(found)
}

fn invocations(tokens: TokenStream, found: &mut Catalogue) -> Result<(), String> {
    let mut before = (String::new(), String::new());
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            if before == ("problem_types".to_owned(), "!".to_owned()) {
                entries(group.stream(), found)?;
            } else {
                invocations(group.stream(), found)?;
            }
        }
        before = (before.1, token.to_string());
    }
    Ok(())
}

/// Reads `NAME = "code", status, "title", retryable: bool;` for each entry.
fn entries(tokens: TokenStream, found: &mut Catalogue) -> Result<(), String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for entry in tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';')) {
        let words: Vec<String> = entry
            .iter()
            .skip_while(|token| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == '='))
            .filter(|token| !matches!(token, TokenTree::Punct(_)))
            .map(|token| token.to_string().trim_matches('"').to_owned())
            .collect();
        match words.as_slice() {
            [] => {}
            [code, status, title, _, retryable] => {
                let retryable = if retryable == "true" { "yes" } else { "no" }.to_owned();
                found.insert(code.clone(), Entry { status: status.clone(), title: title.clone(), retryable });
            }
            other => return Err(format!("not an entry: {other:?}")),
        }
    }
    Ok(())
}

/// The entries of docs/problems.md: below `## code`, a line `Status 409 · retryable: yes`, then `**Title.** …`.
pub fn documented(document: &str) -> Catalogue {
    let sections = document.split("\n## ").skip(1);
    sections
        .filter_map(|section| {
            let (code, text) = section.split_once('\n')?;
            let (line, text) = text.trim_start().split_once('\n')?;
            let (status, retryable) = line.strip_prefix("Status ")?.split_once(" · retryable: ")?;
            let title = text.trim_start().strip_prefix("**")?.split_once(".**")?.0.replace('\n', " ");
            let entry = Entry { status: status.to_owned(), title, retryable: retryable.to_owned() };
            Some((code.trim().to_owned(), entry))
        })
        .collect()
}

/// Returns one line for each entry that only one of the two has, or that differs.
pub fn differences(declared: &Catalogue, documented: &Catalogue) -> Vec<String> {
    let codes = declared.keys().chain(documented.keys().filter(|code| !declared.contains_key(*code)));
    codes
        .filter_map(|code| match (declared.get(code), documented.get(code)) {
            (Some(declared), Some(documented)) if declared == documented => None,
            (Some(declared), Some(documented)) => {
                Some(format!("{code}: the code says {declared:?}, the document {documented:?}"))
            }
            (Some(declared), None) => Some(format!("{code} is not in the document: {declared:?}")),
            (None, _) => Some(format!("{code} is in the document, and no crate declares it")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        macro_rules! problem_types { ($($name:ident)*) => {}; }
        mod inner { edge::problem_types! {
            /// Someone else was first; wait.
            BUSY = "busy", 409, "It is in use", retryable: true;
            GONE = "gone", 410, "It is gone", retryable: false;
        } }
    "#;
    const DOCUMENT: &str = "# Problems\n\n## busy\n\nStatus 409 · retryable: yes\n\n**It is in use.** Wait.\n\n\
                            ## gone\n\nStatus 410 · retryable: no\n\n**It is gone.** Give up.\n";

    #[test]
    fn a_document_that_agrees_with_the_code_has_no_differences() {
        let declared = declared(SOURCE).expect("a source");
        assert_eq!(declared.len(), 2);
        assert_eq!(differences(&declared, &documented(DOCUMENT)), Vec::<String>::new());
    }

    #[test]
    fn every_planted_difference_is_found() {
        let declared = declared(SOURCE).expect("a source");
        for (from, to, message) in [
            ("## gone", "## lost", "gone is not in the document"),
            ("## gone", "## lost", "lost is in the document, and no crate declares it"),
            ("Status 410", "Status 404", "gone: the code says"),
            ("**It is in use.**", "**It is used.**", "busy: the code says"),
            ("retryable: yes", "retryable: no", "busy: the code says"),
        ] {
            let found = differences(&declared, &documented(&DOCUMENT.replace(from, to)));
            assert!(found.iter().any(|line| line.contains(message)), "{message}: {found:?}");
        }
    }
}
