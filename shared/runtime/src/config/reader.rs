//! Reads settings one by one and collects all errors.
//!
//! A wrong or missing setting is read as a placeholder. A configuration with an error is never returned, so no caller
//! sees a placeholder.

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

use super::errors::{ConfigError, ConfigErrors};

/// The settings of one process, by path: `section.key` is the variable `IDEM_SECTION__KEY`.
pub struct SettingsReader {
    service: &'static str,
    values: Figment,
    /// The settings from the environment: path and variable.
    from_environment: BTreeMap<String, String>,
    read: BTreeSet<String>,
    errors: Vec<ConfigError>,
    /// Accepts settings that are safe in development only.
    is_development: bool,
}

/// The error is in the list.
struct Reported;

/// The value, or `None` if the setting is absent.
type ReadResult<T> = Result<Option<T>, Reported>;

impl SettingsReader {
    /// Later defaults override earlier ones, and the environment overrides all. A value from the environment stays text
    /// until it is read, so that a password of digits is not a number. An empty variable counts as absent, because shells
    /// and compose files set empty variables.
    pub(super) fn new(
        service: &'static str,
        defaults: &[&str],
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut values = Figment::new();
        for text in defaults {
            values = values.merge(Toml::string(text));
        }
        let mut from_environment = BTreeMap::new();
        for (variable, value) in variables {
            let Some(path) = path_of(&variable) else { continue };
            if value.is_empty() {
                continue;
            }
            if path.split('.').all(|part| !part.is_empty()) {
                values = values.merge((path.as_str(), value));
            }
            from_environment.insert(path, variable);
        }
        let (read, errors) = (BTreeSet::new(), Vec::new());
        Self { service, values, from_environment, read, errors, is_development: false }
    }

    /// Reads which values [`refuse_in_production`](Self::refuse_in_production) accepts.
    pub(super) fn read_mode(&mut self) {
        self.is_development = self.switch("mode.development");
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

    /// Text that is not secret; `meaning` explains it in the error of a missing setting.
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
            let choice = choices.iter().find(|(choice, _)| *choice == word);
            choice.map(|(_, value)| Some(*value)).ok_or_else(|| self.wrong(path, &expected))
        });
        self.required(path, &expected, found)
    }

    /// Text that `T` parses; `expected` completes "must be …". The placeholder replaces a wrong or missing value.
    pub fn parsed<T: FromStr>(&mut self, path: &str, expected: &str, placeholder: T) -> T {
        let found = self.find_text(path, expected).and_then(|text| {
            let Some(text) = text else { return Ok(None) };
            text.parse().map(Some).map_err(|_| self.wrong(path, expected))
        });
        self.required_or(path, expected, found, placeholder)
    }

    /// A secret; `meaning` explains it in the error of a missing setting. `IDEM_SECTION__KEY_FILE` may name a file that
    /// contains it.
    pub fn secret(&mut self, path: &str, meaning: &str) -> SecretString {
        let found = self.find_secret(path);
        self.required(path, meaning, found)
    }

    /// A secret that may be absent.
    pub fn optional_secret(&mut self, path: &str) -> Option<SecretString> {
        self.find_secret(path).unwrap_or_default()
    }

    /// The values below a section whose names a library defines, as text. An underscore in a name stands for a dot, so that a
    /// variable overrides a default whose name has dots.
    pub(super) fn table(&mut self, section: &str) -> BTreeMap<String, String> {
        let values = self.values.extract_inner::<Dict>(section).unwrap_or_default();
        let mut table = BTreeMap::new();
        let mut leaves = leaves(section, &values);
        leaves.sort_by_key(|(path, _)| self.from_environment.contains_key(path));
        for (path, value) in leaves {
            let (number, switch) = (value.to_i128(), value.to_bool());
            let text =
                value.into_string().or(number.map(|it| it.to_string())).or(switch.map(|it| it.to_string()));
            match text {
                Some(text) => drop(table.insert(path[section.len() + 1..].replace('_', "."), text)),
                None => self.refuse(&path, "text"),
            }
            self.read.insert(path);
        }
        table
    }

    /// Reports a value that breaks a further rule; `expected` completes "must be …". Does nothing if the setting already
    /// has an error, because its placeholder may break the rule, too.
    pub fn refuse(&mut self, path: &str, expected: &str) {
        self.report(path, &format!("must be {expected}"));
    }

    /// Like [`refuse`](Self::refuse); `problem` is the rest of the sentence that begins with the variable.
    pub(super) fn report(&mut self, path: &str, problem: &str) {
        if !self.errors.iter().any(|error| error.path == path) {
            let text = format!("{} {problem}", variable_of(path));
            self.errors.push(ConfigError { path: path.to_owned(), missing: false, text });
        }
    }

    /// Reports a value that only development may have.
    pub fn refuse_in_production(&mut self, path: &str, expected: &str) {
        if !self.is_development {
            self.refuse(path, &format!("{expected}; IDEM_MODE__DEVELOPMENT=true accepts it"));
        }
    }

    /// Reports a missing setting.
    pub(super) fn missing(&mut self, path: &str, meaning: &str) {
        let text = format!("{} is missing: {meaning}", variable_of(path));
        self.errors.push(ConfigError { path: path.to_owned(), missing: true, text });
    }

    /// Returns all errors. A missing setting counts only if it is `needed`.
    pub(super) fn finish(mut self, needed: impl Fn(&str) -> bool) -> Result<(), ConfigErrors> {
        self.report_unread();
        self.errors.retain(|error| !error.missing || needed(&error.path));
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(ConfigErrors { service: self.service, errors: self.errors })
    }

    /// Reports settings that nothing has read: a typing mistake in the environment, or a stale default.
    fn report_unread(&mut self) {
        let mut unread = Vec::new();
        match self.values.extract::<Dict>() {
            Ok(all) => unread.extend(leaves("", &all).into_iter().map(|(path, _)| path)),
            Err(error) => {
                let text = format!("the defaults of {} are not TOML: {error}", self.service);
                self.errors.push(ConfigError { path: String::new(), missing: false, text });
            }
        }
        unread.extend(self.from_environment.keys().cloned());
        unread.sort();
        unread.dedup();
        for path in unread.into_iter().filter(|path| !self.read.contains(path)) {
            let text = match self.from_environment.get(&path) {
                Some(variable) => {
                    format!("{variable} is not a setting of {}; correct or unset it", self.service)
                }
                None => format!("{path} is in the defaults of {}, but nothing reads it", self.service),
            };
            self.errors.push(ConfigError { path, missing: false, text });
        }
    }

    fn required<T: Default>(&mut self, path: &str, meaning: &str, found: ReadResult<T>) -> T {
        self.required_or(path, meaning, found, T::default())
    }

    fn required_or<T>(&mut self, path: &str, meaning: &str, found: ReadResult<T>, placeholder: T) -> T {
        if let Ok(None) = found {
            self.missing(path, meaning);
        }
        found.ok().flatten().unwrap_or(placeholder)
    }

    fn find<T: DeserializeOwned>(&mut self, path: &str, expected: &str) -> ReadResult<T> {
        self.read.insert(path.to_owned());
        if !self.values.contains(path) {
            return Ok(None);
        }
        self.values.extract_inner_lossy(path).map(Some).map_err(|_| self.wrong(path, expected))
    }

    /// A number in the defaults counts as text, too: `mismatch_status = 409`.
    fn find_text(&mut self, path: &str, expected: &str) -> ReadResult<String> {
        let Some(value) = self.find::<Value>(path, expected)? else { return Ok(None) };
        let number = value.to_i128().map(|number| number.to_string());
        value.into_string().or(number).map(Some).ok_or_else(|| self.wrong(path, expected))
    }

    fn find_number<T: TryFrom<u64>>(&mut self, path: &str, range: &RangeInclusive<u64>) -> ReadResult<T> {
        let expected = expected_number(range);
        let Some(number) = self.find::<u64>(path, &expected)? else { return Ok(None) };
        let number = T::try_from(number).ok().filter(|_| range.contains(&number));
        number.map(Some).ok_or_else(|| self.wrong(path, &expected))
    }

    fn find_secret(&mut self, path: &str) -> ReadResult<SecretString> {
        let file = format!("{path}_file");
        match (self.find_text(path, "text")?, self.find::<PathBuf>(&file, "the path of a file")?) {
            (Some(_), Some(_)) => {
                Err(self.wrong(&file, &format!("unset where {} is set", variable_of(path))))
            }
            (None, Some(name)) => match std::fs::read_to_string(&name) {
                // Editors and `echo` end a file with a newline, which is not part of the secret.
                Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).into())),
                Err(error) => {
                    Err(self.wrong(&file, &format!("a file that can be read; {}: {error}", name.display())))
                }
            },
            (secret, None) => Ok(secret.map(SecretString::from)),
        }
    }

    fn wrong(&mut self, path: &str, expected: &str) -> Reported {
        let text = format!("{} must be {expected}", variable_of(path));
        self.errors.push(ConfigError { path: path.to_owned(), missing: false, text });
        Reported
    }
}

fn expected_number(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

/// `IDEM_HTTP__PORT` is `http.port`. A name without `__` is not a setting; scripts and tests use such names.
fn path_of(variable: &str) -> Option<String> {
    let (section, key) = variable.strip_prefix("IDEM_")?.split_once("__")?;
    Some(format!("{section}.{}", key.replace("__", ".")).to_ascii_lowercase())
}

/// `http.port` is `IDEM_HTTP__PORT`.
fn variable_of(path: &str) -> String {
    format!("IDEM_{}", path.replace('.', "__").to_ascii_uppercase())
}

/// All single values, by path.
fn leaves(prefix: &str, values: &Dict) -> Vec<(String, Value)> {
    let below = |(key, value): (&String, &Value)| {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Dict(_, inner) => leaves(&path, inner),
            _ => vec![(path, value.clone())],
        }
    };
    values.iter().flat_map(below).collect()
}
