//! `route`, `routes` and `back` of a flow.

use super::ScenarioError;
use super::fields::{Field, Fields, unknown};
use super::link::Link;

/// Maximum number of links of one route.
const MAX_LINKS: usize = 64;
/// Maximum number of routes of one flow.
const MAX_ROUTES: usize = 8;
/// Maximum number of links of all routes of one flow, in both directions.
pub(super) const MAX_HOPS: usize = 2 * MAX_LINKS;

/// One route of a flow.
#[derive(Debug, Clone)]
pub struct FlowRoute {
    /// The links that data passes.
    pub forward: Vec<Hop>,
    /// The links that acknowledgments pass; the mirrored route when `None`.
    pub back: Option<Vec<Hop>>,
}

impl FlowRoute {
    /// Over one link, which all flows share.
    pub fn over(link: usize) -> Self {
        Self::through([link])
    }

    /// Over these links in order, which all flows share.
    pub fn through(links: impl IntoIterator<Item = usize>) -> Self {
        let hop = |link| Hop { link, own: false };
        Self {
            forward: links.into_iter().map(hop).collect(),
            back: None,
        }
    }

    /// All written hops: forward, then back.
    pub(super) fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.forward.iter().chain(self.back.iter().flatten())
    }
}

/// One link of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Its index among the links.
    pub link: usize,
    /// Each flow has its own copy of it.
    pub own: bool,
}

/// Reads `route = ["a", "b"]` and `back`.
pub(super) fn one_route(
    fields: &Fields<'_>,
    field: &Field<'_>,
    links: &[Link],
) -> Result<FlowRoute, ScenarioError> {
    let forward = route(field, links)?;
    let back = fields.get("back").map(|field| route(&field, links));
    Ok(FlowRoute {
        forward,
        back: back.transpose()?,
    })
}

/// Reads `routes = [["a"], ["b"]]` and `back`, which has one entry per route.
pub(super) fn several_routes(
    fields: &Fields<'_>,
    field: &Field<'_>,
    links: &[Link],
) -> Result<Vec<FlowRoute>, ScenarioError> {
    if let Some(route) = fields.get("route") {
        return Err(route.fail("cannot be combined with `routes`"));
    }
    let forwards = field.list()?;
    if forwards.is_empty() || forwards.len() > MAX_ROUTES {
        return Err(field.fail(format!(
            "must have 1 to {MAX_ROUTES} routes, not {}",
            forwards.len()
        )));
    }
    let backs = match fields.get("back") {
        None => vec![None; forwards.len()],
        Some(field) => {
            let backs = field.list()?;
            if backs.len() != forwards.len() {
                return Err(field.fail(format!(
                    "must have one entry for each of the {} `routes`, not {}",
                    forwards.len(),
                    backs.len()
                )));
            }
            let read = backs.iter().map(|back| route(back, links).map(Some));
            read.collect::<Result<_, _>>()?
        }
    };
    let read = forwards.iter().zip(backs).map(|(forward, back)| {
        Ok(FlowRoute {
            forward: route(forward, links)?,
            back,
        })
    });
    let routes: Vec<FlowRoute> = read.collect::<Result<_, ScenarioError>>()?;
    let hops = routes.iter().flat_map(FlowRoute::hops).count();
    if hops > MAX_HOPS {
        return Err(field.fail(format!(
            "all routes of a flow together must have at most {MAX_HOPS} links, not {hops}"
        )));
    }
    Ok(routes)
}

fn route(field: &Field<'_>, links: &[Link]) -> Result<Vec<Hop>, ScenarioError> {
    let hops = field.list()?;
    if hops.is_empty() || hops.len() > MAX_LINKS {
        return Err(field.fail(format!(
            "must have 1 to {MAX_LINKS} links, not {}",
            hops.len()
        )));
    }
    let hop = |field: Field<'_>| {
        let text = field.text()?;
        let (name, own) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        match links.iter().position(|link| link.name == name) {
            Some(link) => Ok(Hop { link, own }),
            None => Err(field.fail(unknown("link", name, links.iter().map(|l| l.name.as_str())))),
        }
    };
    hops.into_iter().map(hop).collect()
}
