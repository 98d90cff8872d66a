//! The command line: `klamm [server.properties] [--override key=value …]`, as Kafka's own start script takes it.
//!
//! It must not know what a key means; `config` does. Nothing is read here but the file that the operator names and the environment.

use std::path::PathBuf;

use clap::Parser;

use crate::config::{ConfigProblems, Sources, StaticConfig};

/// A message broker that speaks the Kafka protocol.
///
/// Without arguments it listens on 127.0.0.1:9092 and keeps its data in ./klamm-data. Settings are Kafka's own: a server.properties
/// file, KAFKA_… variables as Kafka's image takes them, and --override, in rising precedence.
#[derive(Debug, Parser)]
#[command(name = "klamm", version)]
pub struct Arguments {
    /// A properties file, such as an existing server.properties.
    #[arg(value_name = "server.properties")]
    pub properties: Option<PathBuf>,
    /// Sets one key, over the file and the environment.
    #[arg(long = "override", value_name = "key=value")]
    pub overrides: Vec<String>,
    /// How much is logged.
    #[arg(long, value_name = "level", default_value = "info", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub log_level: String,
}

/// Why the configuration is not usable: one sentence for each problem.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Keys or values are wrong.
    #[error(transparent)]
    Problems(#[from] ConfigProblems),
}

impl Arguments {
    /// The configuration that file, environment and flags add up to. `read` reads the file, `variables` is the environment.
    pub fn configuration(
        &self,
        read: impl FnOnce(&PathBuf) -> std::io::Result<Vec<u8>>,
        variables: &[(String, String)],
    ) -> Result<StaticConfig, ConfigurationError> {
        let mut sources = Sources::new();
        if let Some(path) = &self.properties {
            let bytes = read(path).map_err(|source| ConfigurationError::File { path: path.clone(), source })?;
            sources = sources.with_properties(&path.display().to_string(), bytes);
        }
        let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        sources = sources.with_environment(variables).with_overrides(self.overrides.iter().map(String::as_str));
        Ok(StaticConfig::from_sources(&sources)?)
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::Parser;

    #[test]
    fn flags_win_over_the_environment_and_the_environment_over_the_file() {
        let arguments = ["klamm", "a.properties", "--override", "num.partitions=3"];
        let arguments = Arguments::try_parse_from(arguments).unwrap();
        let text = "num.partitions=1\nnum.io.threads=5\nlog.dirs=/from-file\n".as_bytes().to_vec();
        let variables = [("KAFKA_NUM_PARTITIONS", "2"), ("KAFKA_NUM_IO_THREADS", "6"), ("HOME", "/root")];
        let variables = variables.map(|(name, value)| (name.to_string(), value.to_string()));
        let configuration = arguments.configuration(|_| Ok(text), &variables).unwrap();
        assert_eq!(configuration.get("num.partitions"), Some("3"));
        assert_eq!(configuration.get("num.io.threads"), Some("6"));
        assert_eq!(configuration.get("log.dirs"), Some("/from-file"));
    }

    #[test]
    fn a_missing_file_and_a_wrong_key_are_named() {
        let arguments = Arguments::try_parse_from(["klamm", "gone.properties"]).unwrap();
        let missing = arguments.configuration(|_| Err(std::io::ErrorKind::NotFound.into()), &[]).unwrap_err();
        assert!(missing.to_string().contains("gone.properties"), "{missing}");
        let arguments = Arguments::try_parse_from(["klamm", "--override", "num.partitons=3"]).unwrap();
        let wrong = arguments.configuration(|_| Ok(Vec::new()), &[]).unwrap_err().to_string();
        assert!(wrong.contains("num.partitons") && wrong.contains("num.partitions"), "{wrong}");
    }
}
