//! Reads settings one by one and collects what is wrong, instead of stopping at the first fault.
//!
//! A faulty setting is read as a placeholder. Nobody sees it: a configuration with a fault is never handed out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use figment::Figment;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};
use secrecy::SecretString;
use serde::de::DeserializeOwned;

use super::faults::{Fault, Faults};

/// The settings of one process, by path: `section.key` is the variable `IDEM_SECTION__KEY`.
pub struct Fields {
    service: &'static str,
    values: Figment,
    /// What the environment sets: path and variable.
    given: BTreeMap<String, String>,
    asked: BTreeSet<String>,
    faults: Vec<Fault>,
}

/// The fault has been noted.
struct Noted;

/// Absent, or there and well-formed.
type Found<T> = Result<Option<T>, Noted>;

impl Fields {
    /// Later defaults override earlier ones, and the environment overrides them all. Values of the environment stay
    /// text until a field asks for them, so that a password of digits is no number. An empty variable is an absent
    /// one, as shells and compose files make them.
    pub(super) fn new(
        service: &'static str,
        defaults: &[&str],
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut values = Figment::new();
        for text in defaults {
            values = values.merge(Toml::string(text));
        }
        let mut given = BTreeMap::new();
        for (variable, value) in variables {
            let Some(path) = path_of(&variable) else { continue };
            if value.is_empty() {
                continue;
            }
            if path.split('.').all(|part| !part.is_empty()) {
                values = values.merge((path.as_str(), value));
            }
            given.insert(path, variable);
        }
        Self { service, values, given, asked: BTreeSet::new(), faults: Vec::new() }
    }

    /// A whole number.
    pub fn number<T: TryFrom<u64> + Default>(&mut self, path: &str, range: RangeInclusive<u64>) -> T {
        let number = self.find_number(path, &range);
        self.required(path, &expected_number(&range), number)
    }

    /// A whole number that may be absent.
    pub fn optional_number<T: TryFrom<u64>>(&mut self, path: &str, range: RangeInclusive<u64>) -> Option<T> {
        self.find_number(path, &range).unwrap_or_default()
    }

    /// A duration in seconds; the setting's name should end in `_seconds`.
    pub fn seconds(&mut self, path: &str, range: RangeInclusive<u64>) -> Duration {
        Duration::from_secs(self.number(path, range))
    }

    /// A duration in milliseconds; the setting's name should end in `_milliseconds`.
    pub fn milliseconds(&mut self, path: &str, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.number(path, range))
    }

    /// `true` or `false`.
    pub fn switch(&mut self, path: &str) -> bool {
        let expected = "true or false";
        let found = self.find(path, expected);
        self.required(path, expected, found)
    }

    /// Text that is not secret; `meaning` says what it is for, should it be missing.
    pub fn text(&mut self, path: &str, meaning: &str) -> String {
        let found = self.find_text(path, "text");
        self.required(path, meaning, found)
    }

    /// One of these words.
    pub fn one_of<T: Copy + Default>(&mut self, path: &str, choices: &[(&str, T)]) -> T {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let expected = words.join(" or ");
        let found = self.find_text(path, &expected).and_then(|word| {
            let Some(word) = word else { return Ok(None) };
            match choices.iter().find(|(choice, _)| *choice == word) {
                Some((_, value)) => Ok(Some(*value)),
                None => Err(self.wrong(path, &expected)),
            }
        });
        self.required(path, &expected, found)
    }

    /// Text of a form of its own; `expected` completes "must be …". The placeholder stands for a faulty value.
    pub fn parsed<T: FromStr>(&mut self, path: &str, expected: &str, placeholder: T) -> T {
        match self.find_text(path, expected) {
            Ok(Some(text)) => text.parse().unwrap_or_else(|_| {
                self.wrong(path, expected);
                placeholder
            }),
            Ok(None) => {
                self.missing(path, expected);
                placeholder
            }
            Err(Noted) => placeholder,
        }
    }

    /// A secret; `meaning` says what it is for, should it be missing. `IDEM_SECTION__KEY_FILE` may name a file that
    /// holds it instead.
    pub fn secret(&mut self, path: &str, meaning: &str) -> SecretString {
        let found = self.find_secret(path);
        self.required(path, meaning, found)
    }

    /// A secret that may be absent.
    pub fn optional_secret(&mut self, path: &str) -> Option<SecretString> {
        self.find_secret(path).unwrap_or_default()
    }

    /// Notes that a value breaks a rule that its type does not tell; `expected` completes "must be …". Placeholders
    /// break rules, too: a setting that is missing or faulty already is told of once.
    pub fn refuse(&mut self, path: &str, expected: &str) {
        if !self.faults.iter().any(|fault| fault.path == path) {
            let Noted = self.wrong(path, expected);
        }
    }

    /// Notes that a setting is needed and not there.
    pub(super) fn missing(&mut self, path: &str, meaning: &str) {
        let text = format!("{} is missing: {meaning}", variable_of(path));
        self.faults.push(Fault { path: path.to_owned(), missing: true, text });
    }

    /// Everything that is wrong. Missing settings count if they are `needed`.
    pub(super) fn finish(mut self, needed: impl Fn(&str) -> bool) -> Result<(), Faults> {
        self.note_unknown();
        self.faults.retain(|fault| !fault.missing || needed(&fault.path));
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(Faults { service: self.service, faults: self.faults })
    }

    /// Whatever nobody has asked for is a mistake: of who set the variable, or of who wrote the defaults.
    fn note_unknown(&mut self) {
        let mut unknown = Vec::new();
        match self.values.extract::<Dict>() {
            Ok(all) => leaves("", &all, &mut unknown),
            Err(error) => {
                let text = format!("the defaults of {} are not TOML: {error}", self.service);
                self.faults.push(Fault { path: String::new(), missing: false, text });
            }
        }
        unknown.extend(self.given.keys().cloned());
        unknown.sort();
        unknown.dedup();
        for path in unknown.into_iter().filter(|path| !self.asked.contains(path)) {
            let text = match self.given.get(&path) {
                Some(variable) => {
                    format!("{variable} is not a setting of {}; correct or unset it", self.service)
                }
                None => format!("{path} stands in the defaults of {}, but nothing reads it", self.service),
            };
            self.faults.push(Fault { path, missing: false, text });
        }
    }

    fn required<T: Default>(&mut self, path: &str, meaning: &str, found: Found<T>) -> T {
        match found {
            Ok(Some(value)) => value,
            Ok(None) => {
                self.missing(path, meaning);
                T::default()
            }
            Err(Noted) => T::default(),
        }
    }

    fn find<T: DeserializeOwned>(&mut self, path: &str, expected: &str) -> Found<T> {
        self.asked.insert(path.to_owned());
        if !self.values.contains(path) {
            return Ok(None);
        }
        self.values.extract_inner_lossy(path).map(Some).map_err(|_| self.wrong(path, expected))
    }

    /// A number in the defaults is text, too: `mismatch_status = 409`.
    fn find_text(&mut self, path: &str, expected: &str) -> Found<String> {
        let Some(value) = self.find::<Value>(path, expected)? else { return Ok(None) };
        let number = value.to_i128().map(|number| number.to_string());
        value.into_string().or(number).map(Some).ok_or_else(|| self.wrong(path, expected))
    }

    fn find_number<T: TryFrom<u64>>(&mut self, path: &str, range: &RangeInclusive<u64>) -> Found<T> {
        let expected = expected_number(range);
        let Some(number) = self.find::<u64>(path, &expected)? else { return Ok(None) };
        let number = T::try_from(number).ok().filter(|_| range.contains(&number));
        number.map(Some).ok_or_else(|| self.wrong(path, &expected))
    }

    fn find_secret(&mut self, path: &str) -> Found<SecretString> {
        let file = format!("{path}_file");
        match (self.find_text(path, "text")?, self.find::<PathBuf>(&file, "the path of a file")?) {
            (Some(_), Some(_)) => {
                Err(self.wrong(&file, &format!("unset where {} is set", variable_of(path))))
            }
            (None, Some(name)) => match std::fs::read_to_string(&name) {
                // Editors and `echo` end a file with a newline, which is no part of the secret.
                Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).into())),
                Err(error) => {
                    Err(self.wrong(&file, &format!("a file that can be read; {}: {error}", name.display())))
                }
            },
            (secret, None) => Ok(secret.map(SecretString::from)),
        }
    }

    fn wrong(&mut self, path: &str, expected: &str) -> Noted {
        let text = format!("{} must be {expected}", variable_of(path));
        self.faults.push(Fault { path: path.to_owned(), missing: false, text });
        Noted
    }
}

fn expected_number(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

/// `IDEM_HTTP__PORT` is `http.port`. Names without `__` belong to scripts and tests.
fn path_of(variable: &str) -> Option<String> {
    let (section, key) = variable.strip_prefix("IDEM_")?.split_once("__")?;
    Some(format!("{section}.{}", key.replace("__", ".")).to_ascii_lowercase())
}

/// `http.port` is `IDEM_HTTP__PORT`.
fn variable_of(path: &str) -> String {
    format!("IDEM_{}", path.replace('.', "__").to_ascii_uppercase())
}

/// The paths of all single values.
fn leaves(prefix: &str, values: &Dict, into: &mut Vec<String>) {
    for (key, value) in values {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Dict(_, inner) => leaves(&path, inner, into),
            _ => into.push(path),
        }
    }
}
