//! Names of links and flows in a run: as the scenario has them, and which of several it is.

use std::fmt;

/// The name of one direction of a link, shown as `L`; `access*[3]` for the own copy of flow 3;
/// `access*[3.2]` for its second one; with ` (reverse)` behind it for the mirrored direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkName {
    /// The link's name in the scenario.
    pub link: String,
    /// The flow that has the link for itself; `None`: all flows share it.
    pub copy: Option<LinkCopy>,
    /// Whether it is the mirrored direction.
    pub mirrored: bool,
}

/// A flow's own copy of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkCopy {
    /// The flow; flows are counted from 1.
    pub flow: usize,
    /// Which of its copies, counted from 1; `None`: it has one.
    pub number: Option<usize>,
}

impl LinkName {
    /// As a scenario writes it in a route: `access*` for a copy.
    pub(crate) fn in_route(&self) -> String {
        match self.copy {
            Some(_) => format!("{}*", self.link),
            None => self.to_string(),
        }
    }
}

/// A shared link in its written direction.
impl<T: Into<String>> From<T> for LinkName {
    fn from(link: T) -> Self {
        Self {
            link: link.into(),
            copy: None,
            mirrored: false,
        }
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.link)?;
        match self.copy {
            None => {}
            Some(LinkCopy { flow, number: None }) => write!(f, "*[{flow}]")?,
            Some(LinkCopy {
                flow,
                number: Some(number),
            }) => write!(f, "*[{flow}.{number}]")?,
        }
        match self.mirrored {
            true => f.write_str(" (reverse)"),
            false => Ok(()),
        }
    }
}

/// The name of a flow, shown as `web`, or `web #3` if it is one of several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowName {
    /// Its name in the scenario, or that of its controller.
    pub name: String,
    /// Which of all flows it is, counted from 1; `None`: the only one with its name.
    pub number: Option<usize>,
}

/// The only flow of a name.
impl<T: Into<String>> From<T> for FlowName {
    fn from(name: T) -> Self {
        Self {
            name: name.into(),
            number: None,
        }
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{} #{number}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
