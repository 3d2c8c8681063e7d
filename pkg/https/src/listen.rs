//! The listening socket.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};

use crate::{Error, Settings};

/// How many connections the kernel queues until they are accepted; its own limit may be lower.
const BACKLOG: i32 = 4096;

/// A client that is silent for this long gets a keep-alive probe (upstream's figure, then Go's):
/// nine probes without a response end the connection.
const KEEP_ALIVE: Duration = Duration::from_mins(3);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
const KEEP_ALIVE_TRIES: u32 = 9;

/// Why there is no listener: the step and its error.
type Failure = (&'static str, io::Error);

/// Opens the listener of the settings.
///
/// The unspecified address of either family is one socket for both families, as in Go. Without
/// IPv6, 0.0.0.0 is just IPv4.
pub(crate) fn listen(settings: &Settings) -> Result<TcpListener, Error> {
    let address = SocketAddr::new(settings.bind, settings.port);
    let all = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), settings.port);
    let has_ipv6 = || Socket::new(Domain::IPV6, Type::STREAM, None).is_ok();
    let listener = if settings.bind.is_unspecified() && has_ipv6() {
        match listen_on(all, settings) {
            // The family is supported, but has no addresses.
            Err((_, error))
                if error.kind() == io::ErrorKind::AddrNotAvailable && address.is_ipv4() =>
            {
                listen_on(address, settings)
            }
            listener => listener,
        }
    } else {
        listen_on(address, settings)
    };
    listener.map_err(|(step, source)| Error::Listen { address, step, source })
}

/// Makes an accepted connection detect a dead client, and send packets without delay.
pub(crate) fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let keep_alive = TcpKeepalive::new()
        .with_time(KEEP_ALIVE)
        .with_interval(KEEP_ALIVE_EVERY)
        .with_retries(KEEP_ALIVE_TRIES);
    SockRef::from(stream).set_tcp_keepalive(&keep_alive)?;
    stream.set_nodelay(true)
}

/// How many files the process may have open, connections included; none: any number. Raises the
/// soft limit to the hard one, as every Go program does at its start.
pub(crate) fn open_files_max() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

fn listen_on(address: SocketAddr, settings: &Settings) -> Result<TcpListener, Failure> {
    let at = |step: &'static str| move |error: io::Error| (step, error);
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM, None).map_err(at("socket"))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified()).map_err(at("setsockopt"))?;
    }
    // Without this, connections of the previous process would keep the port for a minute.
    socket.set_reuse_address(true).map_err(at("setsockopt"))?;
    if settings.share_port {
        socket.set_reuse_port(true).map_err(at("setsockopt"))?;
    }
    socket.set_nonblocking(true).map_err(at("setsockopt"))?;
    socket.bind(&address.into()).map_err(at("bind"))?;
    socket.listen(BACKLOG).map_err(at("listen"))?;
    TcpListener::from_std(socket.into()).map_err(at("listen"))
}
