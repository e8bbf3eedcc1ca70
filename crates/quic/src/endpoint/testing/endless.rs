//! Connections that send without an end, with what transfers have.

use super::{Network, client_config, server_config, transport};
use crate::{Factory, Monitor, SharedNode, request_prompt_acks};
use bytes::Bytes as Data;
use noq_proto::{TransportConfig, VarInt};
use whimbrel_cc::fairness::Priority;

/// Bytes of a stream. noq 1.4 closes a connection of which one stream holds 2048 packets behind a
/// gap, so a stream has less data than that.
const PER_STREAM: usize = 1 << 20;

/// What transfers have: windows of so many bytes for long paths, and prompt acknowledgments.
pub(crate) fn settings(window: u32) -> TransportConfig {
    let mut transport = transport();
    let receive = VarInt::from_u32(window);
    transport
        .send_window(window.into())
        .send_fairness(false)
        .stream_receive_window(receive)
        .receive_window(receive);
    request_prompt_acks(&mut transport);
    transport
}

/// Adds a connection that sends by `spec`, without an end, with these [`settings`].
pub(crate) fn add_endless(
    network: &mut Network,
    spec: &str,
    seed: u64,
    settings: &TransportConfig,
) -> Monitor {
    let of = |spec: &str| Factory::for_endpoint(spec.parse().expect("registered")).seed(seed);
    let sending = of(spec);
    let monitor = sending.monitor();
    let client = sending.client(
        client_config(transport()),
        settings.clone(),
        Priority::LOWEST,
    );
    let server = of("newreno").server(
        server_config(transport()),
        settings.clone(),
        SharedNode::default(),
    );
    let (client, server) = network.connect(client, server);
    server.admit(Priority::HIGHEST);
    network.spawn(async move {
        let data = Data::from(vec![7; PER_STREAM]);
        while let Ok(mut stream) = client.open_uni().await {
            stream.write_chunk(data.clone()).await.ok();
        }
    });
    network.spawn(async move {
        while let Ok(mut stream) = server.accept_uni().await {
            stream.read_to_end(PER_STREAM).await.ok();
        }
    });
    monitor
}
