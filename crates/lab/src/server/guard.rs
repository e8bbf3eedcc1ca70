//! Who may ask the server for what. It listens on loopback only, but every page in the user's
//! browser can send requests there, and every user of the machine can connect.
//!
//! * A **token** in the path, drawn anew for each server, keeps out other users and other pages,
//!   which cannot read it: the server sends no `Referer`, and no CORS headers.
//! * The **Host** must be the loopback address: a page whose name was made to resolve to 127.0.0.1
//!   (DNS rebinding) sends its own name.
//! * The **Origin**, and what browsers say of the sender (`Sec-Fetch-Site`), must be the server's
//!   own. A request that changes or computes something must come with a content type that other
//!   pages may not send without being asked first (CORS preflight), which is refused.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};

/// The content type of a request with a body. Another site's page cannot send it unasked.
pub const BODY_TYPE: &str = "application/x-whimbrel-lab";
/// What browsers say of the sender of a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The server's own address and token.
#[derive(Debug, Clone)]
pub struct Guard {
    token: String,
    hosts: [String; 2],
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: StatusCode,
    /// The text of the answer.
    pub why: &'static str,
}

const fn refused(status: StatusCode, why: &'static str) -> Refusal {
    Refusal { status, why }
}

impl Guard {
    /// For a server on this port of loopback, with this token.
    pub fn new(port: u16, token: String) -> Self {
        Self {
            token,
            hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")),
        }
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    /// The path of an allowed request behind the token: `run`; empty for the page.
    ///
    /// # Errors
    /// Why the request is refused.
    pub fn admit<'a>(
        &self,
        method: &Method,
        path: &'a str,
        headers: &HeaderMap,
    ) -> Result<&'a str, Refusal> {
        let host = only(headers, &HOST);
        let Some(host) = host.filter(|host| self.hosts.iter().any(|own| own == host)) else {
            return Err(refused(
                StatusCode::MISDIRECTED_REQUEST,
                "this server answers only under its loopback address",
            ));
        };
        let path = path.strip_prefix('/').unwrap_or(path);
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !equal(token.as_bytes(), self.token.as_bytes()) {
            return Err(refused(
                StatusCode::FORBIDDEN,
                "the address lacks the token; use the whole address that `whimbrel lab` printed",
            ));
        }
        let foreign = refused(
            StatusCode::FORBIDDEN,
            "another site's page sent this request",
        );
        if headers.contains_key(&ORIGIN)
            && only(headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://"))
                != Some(host)
        {
            return Err(foreign);
        }
        let navigates = *method == Method::GET && rest.is_empty();
        match only(headers, &FETCH_SITE) {
            None if headers.contains_key(&FETCH_SITE) => return Err(foreign),
            None | Some("same-origin") => {}
            // Typed, or opened from a terminal.
            Some("none") if *method == Method::GET => {}
            // A link to the page, from wherever: the page itself is no secret.
            Some(_) if navigates => {}
            Some(_) => return Err(foreign),
        }
        if *method == Method::POST && only(headers, &CONTENT_TYPE) != Some(BODY_TYPE) {
            return Err(refused(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the content type must be application/x-whimbrel-lab",
            ));
        }
        Ok(rest)
    }
}

/// The value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    match all.next() {
        None => first.to_str().ok(),
        Some(_) => None,
    }
}

/// Compares without telling by its duration how much is equal.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(method: Method, path: &str, headers: &[(&str, &str)]) -> Result<String, u16> {
        let guard = Guard::new(4000, "secret".to_owned());
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).expect("a name");
            all.append(name, value.parse().expect("a value"));
        }
        let admitted = guard.admit(&method, path, &all);
        admitted
            .map(str::to_owned)
            .map_err(|refusal| refusal.status.as_u16())
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:4000");
    const BODY: (&str, &str) = ("content-type", BODY_TYPE);

    #[test]
    fn the_page_itself_is_admitted() {
        let get = |headers: &[_]| admit(Method::GET, "/secret/", headers);
        assert_eq!(get(&[HOST]), Ok(String::new()));
        assert_eq!(get(&[("host", "localhost:4000")]), Ok(String::new()));
        assert_eq!(get(&[HOST, ("sec-fetch-site", "none")]), Ok(String::new()));
        let post = |headers: &[_]| admit(Method::POST, "/secret/run", headers);
        let own = ("origin", "http://127.0.0.1:4000");
        let same = ("sec-fetch-site", "same-origin");
        assert_eq!(post(&[HOST, BODY, own, same]), Ok("run".to_owned()));
        assert_eq!(post(&[HOST, BODY]), Ok("run".to_owned()));
    }

    #[test]
    fn other_names_of_the_host_are_refused() {
        for host in [
            "evil.example:4000",
            "127.0.0.1",
            "127.0.0.1:4001",
            "127.0.0.1:4000.evil.example",
            "LOCALHOST:4000",
            "[::1]:4000",
            "",
        ] {
            let refused = admit(Method::GET, "/secret/", &[("host", host)]);
            assert_eq!(refused, Err(421), "{host}");
        }
        assert_eq!(admit(Method::GET, "/secret/", &[]), Err(421));
        assert_eq!(admit(Method::GET, "/secret/", &[HOST, HOST]), Err(421));
    }

    #[test]
    fn requests_without_the_token_are_refused() {
        for path in [
            "/",
            "",
            "/secre/",
            "/secret1/run",
            "/Secret/",
            "//secret/",
            "/run",
        ] {
            assert_eq!(admit(Method::GET, path, &[HOST]), Err(403), "{path}");
        }
    }

    #[test]
    fn other_sites_are_refused() {
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:4000",
            "http://127.0.0.1:4001",
            "http://localhost:4000",
            "null",
            "",
        ] {
            let headers = [HOST, BODY, ("origin", origin)];
            let refused = admit(Method::POST, "/secret/run", &headers);
            assert_eq!(refused, Err(403), "{origin}");
        }
        for site in ["cross-site", "same-site", "none"] {
            let headers = [HOST, BODY, ("sec-fetch-site", site)];
            assert_eq!(
                admit(Method::POST, "/secret/run", &headers),
                Err(403),
                "{site}"
            );
        }
        let script = [HOST, ("sec-fetch-site", "cross-site")];
        assert_eq!(admit(Method::GET, "/secret/lab.js", &script), Err(403));
    }

    #[test]
    fn a_form_of_another_site_has_the_wrong_type() {
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            let headers = [HOST, ("content-type", kind)];
            assert_eq!(admit(Method::POST, "/secret/run", &headers), Err(415));
        }
        assert_eq!(admit(Method::POST, "/secret/run", &[HOST]), Err(415));
    }
}
