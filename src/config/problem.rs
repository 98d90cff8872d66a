//! What is wrong with a configuration, in one sentence each that names the key, the value and where it came from.
//!
//! It must not know the rules that find a problem.

use std::fmt;

/// Where a setting was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a properties file.
    File {
        /// The file's name as the operator gave it.
        name: String,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(String),
    /// A flag of the command line.
    Override,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { name, line } => write!(formatter, "{name}, line {line}"),
            Origin::Variable(name) => write!(formatter, "the variable {name}"),
            Origin::Override => formatter.write_str("the flag --override"),
        }
    }
}

/// One thing that keeps the broker from starting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ConfigProblem {
    /// The key, as written; empty if a line has none.
    pub key: String,
    /// The value as it may be shown; `None` if there is none, or if it is beside the point.
    pub value: Option<String>,
    /// Where it was written; `None` for a default.
    pub origin: Option<Origin>,
    /// The rest of the sentence: what is wanted, and the cure.
    pub reason: String,
}

impl ConfigProblem {
    fn sentence(&self) -> String {
        let origin = self.origin.as_ref().map(|origin| format!("{origin}: ")).unwrap_or_default();
        let key = if self.key.is_empty() { String::new() } else { format!("{} ", self.key) };
        let value = self.value.as_ref().map(|value| format!("= {value} ")).unwrap_or_default();
        let stop = if self.reason.ends_with('?') { "" } else { "." };
        format!("{origin}{key}{value}{}{stop}", self.reason)
    }
}

/// Every problem that was found, in the order of the sources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigProblems(pub Vec<ConfigProblem>);
