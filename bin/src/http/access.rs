//! Who calls, and from which page: keys, `Host` and `Origin`.

use std::net::{IpAddr, SocketAddr};

use actix_web::HttpMessage;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};

use super::problem::Problem;
use crate::key::Key;

/// The header that carries a key.
const KEY_HEADER: &str = "X-API-Key";

/// What decides whether a request is let in.
#[derive(Debug)]
pub struct Access {
    key: Key,
    open: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Who makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The person at this machine.
    Person,
    /// Somebody without a key.
    Visitor,
}

/// Proof that a request is the person's. As an argument of a handler it refuses everybody else.
pub struct Person;

impl Access {
    /// `open` lets keyless callers on loopback be the person. `hosts` and `origins` are accepted
    /// beside loopback and the server's own pages.
    pub fn new(key: Key, open: bool, hosts: Vec<String>, origins: Vec<String>) -> Access {
        Access { key, open, hosts, origins }
    }

    /// Checks where a request comes from and says who makes it.
    fn admit(&self, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Identity, Problem> {
        let host = self.check_host(headers)?;
        self.check_origin(headers, host)?;
        self.identify(headers, peer)
    }

    /// A page on the web can make a name point at this machine, but not make the browser send
    /// another `Host` than that name; an address is no name.
    fn check_host<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.unwrap_or_default();
        let name = without_port(host);
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let listed = self.hosts.iter().any(|allowed| {
            allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name)
        });
        if is_address || listed || name.eq_ignore_ascii_case("localhost") {
            return Ok(host);
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden_host",
            format!("the host {host:?} is not accepted; add it to allowed_hosts in scripta.toml"),
        ))
    }

    fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<(), Problem> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default();
        let own = origin.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && rest.eq_ignore_ascii_case(host)
        });
        if own || self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden_origin",
            format!(
                "pages of {origin:?} are not accepted; add it to allowed_origins in scripta.toml"
            ),
        ))
    }

    fn identify(&self, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Identity, Problem> {
        let mut keys = presented(headers).peekable();
        if keys.peek().is_some() {
            return match keys.all(|key| self.key.matches(key)) {
                true => Ok(Identity::Person),
                false => Err(unauthorized("this key is not known")),
            };
        }
        let loopback = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
        Ok(if self.open && loopback { Identity::Person } else { Identity::Visitor })
    }
}

/// The keys that a request shows. What is no text is a wrong key.
fn presented(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let own = headers.get_all(KEY_HEADER).map(|value| value.to_str().unwrap_or_default().trim());
    let bearer = headers.get_all(header::AUTHORIZATION).map(|value| {
        let value = value.to_str().unwrap_or_default().trim();
        match value.split_once(' ') {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim(),
            _ => value,
        }
    });
    own.chain(bearer)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn unauthorized(why: &str) -> Problem {
    let detail = format!(
        "{why}: send the key in the header `{KEY_HEADER}: …` or `Authorization: Bearer …`; it is in the file admin.key of the server's data folder"
    );
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
}

/// Lets a request in or answers it; who makes it is kept for the handlers.
pub async fn guard(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let access = request.app_data::<Data<Access>>();
    let access = access.ok_or_else(|| Problem::internal("the server has no access rules"))?;
    let identity = access.admit(request.headers(), request.peer_addr())?;
    request.extensions_mut().insert(identity);
    next.call(request).await
}

/// Who makes the request, as [`guard`] found out.
pub fn identity(request: &HttpRequest) -> Identity {
    request.extensions().get::<Identity>().copied().unwrap_or(Identity::Visitor)
}

impl FromRequest for Person {
    type Error = Problem;
    type Future = std::future::Ready<Result<Person, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut actix_web::dev::Payload) -> Self::Future {
        std::future::ready(match identity(request) {
            Identity::Person => Ok(Person),
            Identity::Visitor => Err(unauthorized("a key is needed")),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn access(open: bool) -> (Access, String) {
        let key = Key::random().unwrap();
        let text = key.reveal().to_owned();
        let (hosts, origins) = (vec!["box.lan".to_owned()], vec!["http://pal.lan".to_owned()]);
        (Access::new(key, open, hosts, origins), text)
    }

    fn admit(access: &Access, headers: &[(&str, &str)], peer: &str) -> Result<Identity, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let peer = Some(format!("{peer}:1").parse().unwrap());
        access.admit(&map, peer).map_err(|problem| problem.code)
    }

    const HOST: (&str, &str) = ("Host", "127.0.0.1:7411");

    #[test]
    fn a_key_makes_the_person_and_a_wrong_one_nobody() {
        let (access, key) = access(false);
        let bearer = format!("Bearer {key}");
        let here = "127.0.0.1";
        assert_eq!(admit(&access, &[HOST], here), Ok(Identity::Visitor));
        assert_eq!(admit(&access, &[HOST, ("X-API-Key", &key)], here), Ok(Identity::Person));
        assert_eq!(admit(&access, &[HOST, ("Authorization", &bearer)], here), Ok(Identity::Person));
        let wrong = Err("unauthorized".to_owned());
        assert_eq!(admit(&access, &[HOST, ("X-API-Key", "x")], here), wrong);
        assert_eq!(admit(&access, &[HOST, ("X-API-Key", "")], here), wrong);
        let both = [HOST, ("X-API-Key", key.as_str()), ("Authorization", "Bearer x")];
        assert_eq!(admit(&access, &both, here), wrong);
    }

    #[test]
    fn open_is_for_loopback_and_wrong_keys_stay_wrong() {
        let (access, _) = access(true);
        assert_eq!(admit(&access, &[HOST], "127.0.0.1"), Ok(Identity::Person));
        assert_eq!(admit(&access, &[HOST], "10.0.0.7"), Ok(Identity::Visitor));
        let wrong = admit(&access, &[HOST, ("X-API-Key", "x")], "127.0.0.1");
        assert_eq!(wrong, Err("unauthorized".to_owned()));
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let (access, _) = access(true);
        let code = |headers: &[(&str, &str)]| admit(&access, headers, "127.0.0.1");
        for host in ["localhost", "LOCALHOST:1", "[::1]:7411", "10.0.0.7", "box.lan", "box.lan:80"]
        {
            assert_eq!(code(&[("Host", host)]), Ok(Identity::Person), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", ""] {
            assert_eq!(code(&[("Host", host)]), Err("forbidden_host".to_owned()), "{host}");
        }
        assert_eq!(code(&[]), Err("forbidden_host".to_owned()));
        for origin in ["http://127.0.0.1:7411", "http://pal.lan"] {
            assert_eq!(code(&[HOST, ("Origin", origin)]), Ok(Identity::Person), "{origin}");
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1:3000", ""] {
            let answer = code(&[HOST, ("Origin", origin)]);
            assert_eq!(answer, Err("forbidden_origin".to_owned()), "{origin}");
        }
    }
}
