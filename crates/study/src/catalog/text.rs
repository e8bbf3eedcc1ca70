//! The algorithms and loss classifiers as text.

use super::Catalog;
use std::fmt::Write;
use whimbrel_cc::registry::{Code, Domain, Parameter};
use whimbrel_report::hanging;

impl Catalog {
    /// The code: each file once, with its path.
    pub fn code_text(&self) -> String {
        let controllers = self.controllers.iter().flat_map(|e| e.code);
        let files = controllers
            .chain(self.classifiers.iter().flat_map(|e| e.code))
            .chain(self.layers.iter().flat_map(|e| e.code));
        let mut all: Vec<&Code> = Vec::new();
        for file in files {
            if !all.contains(&file) {
                all.push(file);
            }
        }
        let file = |file: &&Code| format!("// {}\n\n{}\n", file.path, file.text);
        all.iter().map(file).collect()
    }

    /// Each entry with its summary, citation and parameters; of `one` entry, the files of its
    /// code, too.
    pub fn text(&self, one: Option<&str>) -> String {
        let names = self.controllers.iter().map(|e| e.name);
        let names = names.chain(self.classifiers.iter().map(|e| e.name));
        let width = names.map(str::len).max().unwrap_or(0);
        let files = |code: &[Code]| {
            let paths: Vec<&str> = code.iter().map(|file| file.path).collect();
            one.map_or(String::new(), |_| format!("code: {}", paths.join(", ")))
        };
        let mut text = String::new();
        for entry in &self.controllers {
            let carried = match entry.is_fed_bursts() {
                false => "",
                true => "in the simulator and over QUIC; not on TCP",
            };
            let lines = [entry.summary, entry.citation, carried, &files(entry.code)];
            text += &entry_text(width, entry.name, &lines, entry.parameters);
        }
        if one.is_none() {
            for paragraph in [
                "All run in the simulator and over QUIC (`whimbrel send`), and all but those that \
                 send bursts on Linux TCP (`whimbrel tcp`).",
                "Loss classifiers. Combine one with any controller that has none of its own, as in \
                 cubic+cerl:",
            ] {
                text += &format!("{}\n\n", hanging(paragraph, 0));
            }
        }
        for entry in &self.classifiers {
            let lines = [entry.summary, entry.citation, &files(entry.code)];
            text += &entry_text(width, entry.name, &lines, entry.parameters);
        }
        if one.is_none() {
            let paragraph = "Layers. Put one on any controller with a window, as in vegas+ccafr:";
            text += &format!("{}\n\n", hanging(paragraph, 0));
        }
        for entry in &self.layers {
            let lines = [entry.summary, entry.citation, &files(entry.code)];
            text += &entry_text(width, entry.name, &lines, entry.parameters);
        }
        if let Some(name) = one {
            text += &format!("To read the code: whimbrel controllers '{name}' --code\n");
        }
        text
    }
}

/// A name, its lines (without empty ones), and its parameters.
fn entry_text(width: usize, name: &str, lines: &[&str], parameters: &[Parameter]) -> String {
    let mut text = String::new();
    let mut head = name;
    // Writing to a string cannot fail.
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let _ = writeln!(text, "{head:width$}  {}", hanging(line, width + 2));
        head = "";
    }
    for parameter in parameters {
        // Further lines begin behind the question mark.
        let line = hanging(&parameter_line(parameter), width + 3);
        let _ = writeln!(text, "{:width$}  ?{line}", "");
    }
    text + "\n"
}

fn parameter_line(parameter: &Parameter) -> String {
    let Parameter {
        name,
        domain,
        meaning,
    } = parameter;
    let default = domain.default();
    match domain {
        Domain::Number { range, .. } => {
            let (minimum, maximum) = range;
            format!("{name}={default}  ({minimum} to {maximum})  {meaning}")
        }
        Domain::Switch(_) => format!("{name}={default}  (true or false)  {meaning}"),
        Domain::Text(_) => format!("{name}={default}  {meaning}"),
    }
}
