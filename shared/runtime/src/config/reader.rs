//! Reads settings one by one and collects all errors.
//!
//! A wrong or missing setting is read as a placeholder. A configuration with an error is never returned, so no caller
//! sees a placeholder.
//!
//! Settings are no derived structs, because serde stops at the first error of a struct. Most values also belong to structs of
//! lower crates, which have neither the names nor the units of the settings.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use secrecy::SecretString;
use toml::{Table, Value};

use super::errors::{ConfigError, ConfigErrors};

/// The settings of one process, by path: `section.key` is the variable `IDEM_SECTION__KEY`.
pub struct SettingsReader {
    service: &'static str,
    settings: BTreeMap<String, Setting>,
    errors: Vec<ConfigError>,
    /// Accepts settings that are safe in development only.
    is_development: bool,
}

/// A setting as text, so that a password of digits is not a number.
struct Setting {
    text: String,
    /// `None`: the text is the default.
    variable: Option<String>,
    is_read: bool,
}

impl SettingsReader {
    /// Later defaults override earlier ones, and the environment overrides all. An empty variable counts as absent, because
    /// shells and compose files set empty variables.
    pub(super) fn new(
        service: &'static str,
        defaults: &[&str],
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let (settings, errors) = (BTreeMap::new(), Vec::new());
        let mut reader = Self { service, settings, errors, is_development: false };
        for text in defaults {
            match text.parse() {
                Ok(table) => reader.add_defaults("", table),
                Err(error) => reader.wrong("", format!("the defaults of {service} are not TOML: {error}")),
            }
        }
        for (variable, text) in variables {
            if let Some(path) = path_of(&variable).filter(|_| !text.is_empty()) {
                let setting = Setting { text, variable: Some(variable), is_read: false };
                reader.settings.insert(path, setting);
            }
        }
        reader
    }

    fn add_defaults(&mut self, section: &str, values: Table) {
        for (key, value) in values {
            let path = if section.is_empty() { key } else { format!("{section}.{key}") };
            let text = match value {
                Value::Table(values) => {
                    self.add_defaults(&path, values);
                    continue;
                }
                Value::String(text) => text,
                value => value.to_string(),
            };
            self.settings.insert(path, Setting { text, variable: None, is_read: false });
        }
    }

    /// Reads which values [`refuse_in_production`](Self::refuse_in_production) accepts.
    pub(super) fn read_mode(&mut self) {
        self.is_development = self.switch("mode.development");
    }

    /// A whole number.
    pub fn number<T: TryFrom<u64> + Default>(&mut self, path: &str, range: RangeInclusive<u64>) -> T {
        let number = self.optional_number(path, range.clone());
        self.required(path, &expected_number(&range), number).unwrap_or_default()
    }

    /// A whole number that may be absent.
    pub fn optional_number<T: TryFrom<u64>>(&mut self, path: &str, range: RangeInclusive<u64>) -> Option<T> {
        self.find(path, &expected_number(&range), |text| {
            let number = text.parse().ok().filter(|number| range.contains(number))?;
            T::try_from(number).ok()
        })
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
        self.parsed(path, "true or false", false)
    }

    /// Text that is not secret; `meaning` explains it in the error of a missing setting.
    pub fn text(&mut self, path: &str, meaning: &str) -> String {
        self.parsed(path, meaning, String::new())
    }

    /// One of these words.
    pub fn one_of<T: Copy + Default>(&mut self, path: &str, choices: &[(&str, T)]) -> T {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let expected = words.join(" or ");
        let chosen = self.find(path, &expected, |text| {
            choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice)
        });
        self.required(path, &expected, chosen).unwrap_or_default()
    }

    /// Text that `T` parses; `expected` completes "must be …". The placeholder replaces a wrong or missing value.
    pub fn parsed<T: FromStr>(&mut self, path: &str, expected: &str, placeholder: T) -> T {
        let parsed = self.optional(path, expected);
        self.required(path, expected, parsed).unwrap_or(placeholder)
    }

    /// Text that `T` parses, and that may be absent or empty.
    pub fn optional<T: FromStr>(&mut self, path: &str, expected: &str) -> Option<T> {
        self.find(path, expected, |text| text.parse().ok())
    }

    /// A secret; `meaning` explains it in the error of a missing setting. `IDEM_SECTION__KEY_FILE` may name a file that
    /// contains it.
    pub fn secret(&mut self, path: &str, meaning: &str) -> SecretString {
        let secret = self.optional_secret(path);
        self.required(path, meaning, secret).unwrap_or_default()
    }

    /// A secret that may be absent.
    pub fn optional_secret(&mut self, path: &str) -> Option<SecretString> {
        let file_path = format!("{path}_file");
        let secret = self.optional::<String>(path, "text").map(SecretString::from);
        let Some(file) = self.optional::<String>(&file_path, "a path") else { return secret };
        let read = match secret {
            Some(_) => Err(format!("unset where {} is set", variable_of(path))),
            None => {
                fs::read_to_string(&file).map_err(|error| format!("a file that can be read; {file}: {error}"))
            }
        };
        // Editors and `echo` end a file with a newline, which is not part of the secret.
        let secret = read.map(|text| text.trim_end_matches(['\r', '\n']).into());
        let refuse = |expected| self.wrong(path, format!("{} must be {expected}", variable_of(&file_path)));
        secret.map_err(refuse).ok()
    }

    /// The values below a section whose names a library defines, as text. An underscore in a name stands for a dot, so that a
    /// variable overrides a default whose name has dots.
    pub(super) fn table(&mut self, section: &str) -> BTreeMap<String, String> {
        let (mut defaults, mut variables) = (BTreeMap::new(), BTreeMap::new());
        for (path, setting) in &mut self.settings {
            let Some(name) = path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            setting.is_read = true;
            let values = if setting.variable.is_some() { &mut variables } else { &mut defaults };
            values.insert(name.replace('_', "."), setting.text.clone());
        }
        defaults.extend(variables);
        defaults
    }

    /// Reports a value that breaks a further rule; `expected` completes "must be …". Does nothing if the setting already
    /// has an error, because its placeholder may break the rule, too.
    pub fn refuse(&mut self, path: &str, expected: &str) {
        self.report(path, &format!("must be {expected}"));
    }

    /// Like [`refuse`](Self::refuse); `problem` is the rest of the sentence that begins with the variable.
    pub(super) fn report(&mut self, path: &str, problem: &str) {
        self.wrong(path, format!("{} {problem}", variable_of(path)));
    }

    /// Reports a value that only development may have.
    pub fn refuse_in_production(&mut self, path: &str, expected: &str) {
        if !self.is_development {
            self.refuse(path, &format!("{expected}; IDEM_MODE__DEVELOPMENT=true accepts it"));
        }
    }

    /// Reports a setting that was not found as missing, unless it has an error already; `meaning` explains it.
    pub fn required<T>(&mut self, path: &str, meaning: &str, found: Option<T>) -> Option<T> {
        if found.is_none() {
            let text = format!("{} is missing: {meaning}", variable_of(path));
            self.add(ConfigError { path: path.to_owned(), missing: true, text });
        }
        found
    }

    /// Returns all errors. A missing setting counts only if it is `needed`.
    pub(super) fn finish(mut self, needed: impl Fn(&str) -> bool) -> Result<(), ConfigErrors> {
        // A typing mistake in the environment, or a stale default.
        for (path, setting) in std::mem::take(&mut self.settings) {
            if !setting.is_read {
                let text = match setting.variable {
                    Some(it) => format!("{it} is not a setting of {}; correct or unset it", self.service),
                    None => format!("{path} is in the defaults of {}, but nothing reads it", self.service),
                };
                self.wrong(&path, text);
            }
        }
        self.errors.retain(|error| !error.missing || needed(&error.path));
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(ConfigErrors { service: self.service, errors: self.errors })
    }

    /// `None` if the setting is absent or empty, or if `read` refuses it. Then its error is in the list.
    fn find<T>(&mut self, path: &str, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let setting = self.settings.get_mut(path)?;
        setting.is_read = true;
        if setting.text.is_empty() {
            return None;
        }
        let value = read(&setting.text);
        if value.is_none() {
            self.refuse(path, expected);
        }
        value
    }

    fn wrong(&mut self, path: &str, text: String) {
        self.add(ConfigError { path: path.to_owned(), missing: false, text });
    }

    /// A setting has one error, because its placeholder may cause others.
    fn add(&mut self, error: ConfigError) {
        if !self.errors.iter().any(|known| known.path == error.path) {
            self.errors.push(error);
        }
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
