//! Gathers settings from where an operator writes them: properties files, variables of Kafka's image, flags.
//!
//! It must not read a file or the environment itself, nor know which keys exist.

use crate::config::problem::{ConfigProblem, Origin};
use crate::config::properties::{self, Property};

/// One setting and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, as Kafka spells it.
    pub key: String,
    /// The text of the value.
    pub value: String,
    /// Where it was written.
    pub origin: Origin,
}

/// Everything that an operator set, in rising precedence: files, then the environment, then flags.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Setting>,
    variables: Vec<Setting>,
    overrides: Vec<Setting>,
    idle_variables: Vec<String>,
    cluster_id: Option<String>,
    notices: Vec<String>,
    misread_paths: Vec<Setting>,
    problems: Vec<ConfigProblem>,
}

impl Sources {
    /// No settings at all: every default.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds the bytes of a properties file; `name` is what messages call it.
    #[must_use]
    pub fn with_properties(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Sources {
        let unreadable = |line, reason: &str| ConfigProblem {
            key: String::new(),
            value: None,
            origin: Some(Origin::File { name: name.to_owned(), line }),
            reason: reason.to_owned(),
        };
        let Some(text) = properties::decode(bytes.as_ref()) else {
            self.problems
                .push(unreadable(1, "the file is in UTF-16; save it as plain ASCII, with \\uXXXX for the rest"));
            return self;
        };
        if let Some(line) = properties::line_in_utf8(bytes.as_ref()) {
            self.notices.push(format!(
                "{name}, line {line}: what looks like UTF-8 is read as ISO-8859-1, as Kafka reads it; write \\uXXXX for a character beyond ASCII."
            ));
        }
        match properties::parse(&text) {
            Ok(found) => found.into_iter().for_each(|property| self.add_property(name, property)),
            Err(properties::BadEscape { line }) => self
                .problems
                .push(unreadable(line, "has a \\u that is not followed by the four hexadecimal digits of a character")),
        }
        self
    }

    fn add_property(&mut self, name: &str, Property { key, value, is_in_utf8, line }: Property) {
        let setting = Setting { key, value, origin: Origin::File { name: name.to_owned(), line } };
        if is_in_utf8 && PATHS.contains(&setting.key.as_str()) {
            self.misread_paths.push(setting.clone());
        }
        self.files.push(setting);
    }

    /// Adds the variables of the environment; those that do not begin with `KAFKA_` or `KLAMM_` are not looked at, but
    /// for `CLUSTER_ID`.
    #[must_use]
    pub fn with_environment<'a>(mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Sources {
        let mut variables: Vec<_> = variables.into_iter().collect();
        // The environment has no order of its own; two variables for one key must not win by chance.
        variables.sort_unstable();
        for (name, value) in variables {
            if matches!(name, "CLUSTER_ID" | "KAFKA_CLUSTER_ID" | "KAFKA_KRAFT_CLUSTER_ID") {
                self.cluster_id = Some(value.trim().to_owned()).filter(|id| !id.is_empty());
            } else if is_idle_variable(name) {
                self.idle_variables.push(name.to_owned());
            } else if let Some(key) = key_of_variable(name) {
                let origin = Origin::Variable(name.to_owned());
                self.variables.push(Setting { key, value: value.to_owned(), origin });
            }
        }
        self
    }

    /// Adds the `key=value` texts of the flag `--override`.
    #[must_use]
    pub fn with_overrides<'a>(mut self, overrides: impl IntoIterator<Item = &'a str>) -> Sources {
        for text in overrides {
            match text.split_once('=') {
                Some((key, value)) => self.overrides.push(Setting {
                    key: key.trim().to_owned(),
                    value: value.to_owned(),
                    origin: Origin::Override,
                }),
                None => self.problems.push(ConfigProblem {
                    key: text.to_owned(),
                    value: None,
                    origin: Some(Origin::Override),
                    reason: "has no value; write key=value".to_owned(),
                }),
            }
        }
        self
    }

    /// The cluster id that the environment asks for (`CLUSTER_ID`, as Kafka's image has it).
    pub fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Every setting in rising precedence.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.files.iter().chain(&self.variables).chain(&self.overrides)
    }

    /// Variables that are known and mean nothing here.
    pub(crate) fn idle_variables(&self) -> &[String] {
        &self.idle_variables
    }

    /// What was read otherwise than its author may have meant.
    pub(crate) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether it names another log directory than its author meant, in whose place an empty one would begin.
    pub(crate) fn is_misread_path(&self, setting: &Setting) -> bool {
        self.misread_paths.contains(setting)
    }

    /// What could not even be read.
    pub(crate) fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

/// Keys whose values say where the data lie.
const PATHS: [&str; 3] = ["log.dir", "log.dirs", "metadata.log.dir"];

/// Variables of Kafka's scripts and images that set up a JVM, its logging or the image itself.
const SCRIPT_VARIABLES: [&str; 20] = [
    "KAFKA_CLASSPATH",
    "KAFKA_DATA",
    "KAFKA_DEBUG",
    "KAFKA_DEBUG_SUSPEND_FLAG",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_HEAP_OPTS",
    "KAFKA_HOME",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_LOG4J_CMD_OPTS",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_MODE",
    "KAFKA_OPTS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_USER",
    "KAFKA_VERSION",
];

/// Whether the variable is known and sets nothing: one of Kafka's scripts, or one that Kubernetes makes for a service
/// named `kafka…` or `klamm…`.
fn is_idle_variable(name: &str) -> bool {
    if SCRIPT_VARIABLES.contains(&name) {
        return true;
    }
    let Some(rest) = name.strip_prefix("KAFKA_").or_else(|| name.strip_prefix("KLAMM_")) else { return false };
    let rest = format!("_{rest}");
    let is_link =
        rest.split_once("_PORT_").is_some_and(|(_, after)| after.starts_with(|first: char| first.is_ascii_digit()));
    is_link || rest.ends_with("_SERVICE_HOST") || rest.contains("_SERVICE_PORT") || rest.ends_with("_PORT")
}

/// The key that a variable stands for: `KAFKA_LOG_RETENTION_MS` is `log.retention.ms`; two underscores are one, three a
/// hyphen. `KAFKA_CFG_` (Bitnami's image) and `KLAMM_` (for Klamm's own keys) work too.
fn key_of_variable(name: &str) -> Option<String> {
    let (beginning, rest) = if let Some(rest) = name.strip_prefix("KAFKA_CFG_") {
        ("", rest)
    } else if let Some(rest) = name.strip_prefix("KAFKA_") {
        ("", rest)
    } else {
        ("klamm.", name.strip_prefix("KLAMM_")?)
    };
    let key = rest.to_lowercase().replace("___", "-").replace("__", "\u{0}").replace('_', ".").replace('\u{0}', "_");
    Some(format!("{beginning}{key}"))
}

#[cfg(test)]
mod tests {
    use super::{Sources, is_idle_variable, key_of_variable};

    #[test]
    fn underscores_of_a_variable_become_what_the_key_has() {
        let keys = [
            ("KAFKA_LOG_RETENTION_MS", "log.retention.ms"),
            ("KAFKA_CFG_NODE_ID", "node.id"),
            ("KAFKA_A__B___C_D", "a_b-c.d"),
            ("KLAMM_ACKS_ALL_FSYNC", "klamm.acks.all.fsync"),
        ];
        for (variable, key) in keys {
            assert_eq!(key_of_variable(variable).as_deref(), Some(key));
        }
        assert_eq!(key_of_variable("PATH"), None);
    }

    #[test]
    fn variables_of_scripts_and_of_kubernetes_set_nothing() {
        for name in
            ["KAFKA_HEAP_OPTS", "KLAMM_PORT", "KLAMM_PORT_9092_TCP", "KAFKA_SERVICE_HOST", "KAFKA_PORT_9092_TCP_ADDR"]
        {
            assert!(is_idle_variable(name), "{name}");
        }
        for name in ["KAFKA_SERVICE_PORT_BROKER", "KAFKA_BROKER_PORT_9092_TCP", "KAFKA_UI_PORT"] {
            assert!(is_idle_variable(name), "{name}");
        }
        assert!(!is_idle_variable("KAFKA_LISTENERS") && !is_idle_variable("KAFKA_LOG_DIRS"));
    }

    #[test]
    fn the_cluster_id_of_the_image_is_kept() {
        let sources = Sources::new().with_environment([("CLUSTER_ID", " abc "), ("PATH", "/bin")]);
        assert_eq!(sources.cluster_id(), Some("abc"));
        assert_eq!(sources.settings().count(), 0);
    }
}
