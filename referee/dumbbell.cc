// The referee: one experiment, simulated by ns-3 instead of by Whimbrel.
//
//   source 1 --access--\                                 /--access-- sink 1
//   source 2 --access---router ==L== router [ ==L2== router ]--access-- sink 2
//   source N --access--/                                 \--access-- sink N
//
// Every flow has its own access link on both sides. The data of all flows crosses one bottleneck link, or two in
// series. Random loss strikes each packet independently, in the data direction of the bottleneck links only. Every
// device has the same DropTail queue, counted in packets, not counting the packet being sent; it is the only queue
// (no traffic control, no flow control between device and IP).
//
// Prints one JSON object. Units: rates in bit/s, sizes in bytes, times in seconds, unless a name says otherwise.
// A packet on the wire is segment + 54 bytes (20 IP, 20 TCP, 12 timestamp option, 2 PPP); an ACK without SACK blocks 54.

#include "laws.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-helper.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

struct Parameters
{
    std::string controller = "newreno";
    std::string recovery = "rfc6675";
    uint32_t flows = 1;
    std::string starts; // "0.5,1.25": one start time per flow; all 0 when left out
    double duration = 100;
    uint32_t seed = 1;

    std::string accessRate = "1Mbps";
    std::string accessDelay = "10ms";
    std::string rate = "8Mbps";
    std::string delay = "50ms";
    double loss = 0; // probability, 0..1
    std::string rate2; // a second bottleneck exists if this is given
    std::string delay2 = "50ms";
    double loss2 = 0;
    uint32_t queue = 100; // packets, on every device

    uint32_t segment = 1460; // payload bytes
    uint32_t buffer = 8'000'000; // send and receive buffer; must never limit
    std::string delAckTimeout = "200ms";
    std::string minRto = "1s";

    bool nix = false; // how packets find their way; the same packets either way
    std::string trace; // prefix of trace files; none are written when empty
};

[[noreturn]] void
Refuse(const std::string& why)
{
    std::cerr << "dumbbell: " << why << std::endl;
    std::exit(2);
}

std::string
LawNames()
{
    std::string names;
    for (const auto& [name, law] : referee::Laws())
    {
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

Parameters
ReadCommandLine(int argc, char* argv[])
{
    Parameters p;
    CommandLine cmd(__FILE__);
    cmd.AddValue("controller", LawNames(), p.controller);
    cmd.AddValue("recovery", "rfc6675 (cwnd is ssthresh during recovery) or prr (as ns-3.44 does it)", p.recovery);
    cmd.AddValue("flows", "number of flows", p.flows);
    cmd.AddValue("starts", "start time of each flow in s, comma separated (default: all 0)", p.starts);
    cmd.AddValue("duration", "simulated seconds", p.duration);
    cmd.AddValue("seed", "run number of ns-3's generator (1 or more)", p.seed);
    cmd.AddValue("accessRate", "rate of each access link", p.accessRate);
    cmd.AddValue("accessDelay", "one-way delay of each access link", p.accessDelay);
    cmd.AddValue("rate", "rate of the bottleneck", p.rate);
    cmd.AddValue("delay", "one-way delay of the bottleneck", p.delay);
    cmd.AddValue("loss", "loss probability on the bottleneck, data direction", p.loss);
    cmd.AddValue("rate2", "rate of a second bottleneck in series (none if left out)", p.rate2);
    cmd.AddValue("delay2", "its one-way delay", p.delay2);
    cmd.AddValue("loss2", "its loss probability, data direction", p.loss2);
    cmd.AddValue("queue", "DropTail limit of every device in packets", p.queue);
    cmd.AddValue("segment", "payload of a segment in bytes", p.segment);
    cmd.AddValue("buffer", "send and receive buffer in bytes", p.buffer);
    cmd.AddValue("delAckTimeout", "delayed-ACK timeout", p.delAckTimeout);
    cmd.AddValue("minRto", "lower bound of the retransmission timeout", p.minRto);
    cmd.AddValue("nix", "route by Nix vectors: faster than static routes for many flows", p.nix);
    cmd.AddValue("trace", "prefix for trace files", p.trace);
    cmd.Parse(argc, argv);
    return p;
}

void
ConfigureTcp(const Parameters& p)
{
    // NewReno builds on ns3::TcpLinuxReno: it counts acknowledged segments, as RFC 5681 section 3.1 recommends and RFC 3465
    // describes. ns3::TcpNewReno grows per ACK instead, so delayed ACKs would halve its growth.
    // TcpLinuxReno halves cwnd at a loss, where RFC 5681 halves FlightSize; a bulk flow keeps the two about equal.
    const auto law = referee::Laws().find(p.controller);
    if (law == referee::Laws().end())
    {
        Refuse("unknown controller '" + p.controller + "': " + LawNames());
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(law->second));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
    // TcpClassicRecovery keeps cwnd at ssthresh, and the SACK scoreboard's pipe decides what is sent: RFC 6675.
    // TcpPrrRecovery of 3.44 is not RFC 6937: it counts a SACKed segment twice, and overflows 32 bits in
    // prr_delivered * ssthresh once windows exceed 45 segments or so.
    if (p.recovery != "rfc6675" && p.recovery != "prr")
    {
        Refuse("unknown recovery '" + p.recovery + "': rfc6675 or prr");
    }
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(p.recovery == "prr" ? TcpPrrRecovery::GetTypeId()
                                                       : TcpClassicRecovery::GetTypeId()));

    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Time(p.minRto)));

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(p.segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(p.buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(p.buffer));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Time(p.delAckTimeout)));
    // RFC 6298's first timeout; ns-3 would wait 3 s for a lost SYN.
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    // A flow never gives up.
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1'000'000));
}

std::vector<double>
StartTimes(const Parameters& p)
{
    std::vector<double> starts;
    std::stringstream list(p.starts);
    for (std::string item; std::getline(list, item, ',');)
    {
        starts.push_back(std::stod(item));
    }
    if (starts.empty())
    {
        starts.assign(p.flows, 0.0);
    }
    if (starts.size() != p.flows)
    {
        Refuse("--starts has " + std::to_string(starts.size()) + " times for " + std::to_string(p.flows) + " flows");
    }
    return starts;
}

// A link whose devices have the one queue we want, and an MTU that never fragments.
NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, const std::string& rate, const std::string& delay, const Parameters& p)
{
    PointToPointHelper link;
    link.DisableFlowControl(); // otherwise IP would drop silently in front of a full device queue
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetDeviceAttribute("Mtu", UintegerValue(p.segment + 200));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(PACKETS, p.queue)));
    return link.Install(a, b);
}

Ptr<PointToPointNetDevice>
Device(const NetDeviceContainer& link, uint32_t side)
{
    return DynamicCast<PointToPointNetDevice>(link.Get(side));
}

void
AddRandomLoss(Ptr<PointToPointNetDevice> receiver, double probability, int64_t stream, uint64_t& drops)
{
    if (probability <= 0)
    {
        return;
    }
    auto error = CreateObject<RateErrorModel>();
    error->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    error->SetRate(probability);
    error->AssignStreams(stream); // so that the seed alone decides which packets are lost
    receiver->SetReceiveErrorModel(error);
    receiver->TraceConnectWithoutContext(
        "PhyRxDrop",
        Callback<void, Ptr<const Packet>>([&drops](Ptr<const Packet>) { ++drops; }));
}

Ptr<Ipv4StaticRouting>
Routes(Ptr<Node> node)
{
    return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());
}

// Interface number of a device's node, for a route that leaves through it.
uint32_t
InterfaceOf(Ptr<NetDevice> device)
{
    return device->GetNode()->GetObject<Ipv4>()->GetInterfaceForDevice(device);
}

// One flow's ends, what it has sent again, and where its trace goes.
struct Flow
{
    Ptr<BulkSendApplication> sender;
    Ptr<PacketSink> sink;
    uint64_t retransmits = 0;
    uint64_t timeouts = 0;
    std::unique_ptr<std::ofstream> trace;

    void Retransmitted(Ptr<const Packet>,
                       const TcpHeader&,
                       const Address&,
                       const Address&,
                       Ptr<const TcpSocketBase>)
    {
        ++retransmits;
    }

    void StateChanged(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        timeouts += now == TcpSocketState::CA_LOSS; // a second timeout in a row does not change the state
    }

    void WindowChanged(uint32_t, uint32_t cwnd)
    {
        m_cwnd = cwnd;
        WriteTrace();
    }

    void ThresholdChanged(uint32_t, uint32_t ssthresh)
    {
        m_ssthresh = ssthresh;
        WriteTrace();
    }

    // The socket exists only once the application has started.
    void WatchSocket(const std::string& tracePrefix, uint32_t number)
    {
        auto socket = sender->GetSocket();
        socket->TraceConnectWithoutContext("Retransmission", MakeCallback(&Flow::Retransmitted, this));
        socket->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::StateChanged, this));
        if (tracePrefix.empty())
        {
            return;
        }
        trace = std::make_unique<std::ofstream>(tracePrefix + "-flow" + std::to_string(number) + ".csv");
        *trace << "time_s,cwnd_bytes,ssthresh_bytes\n";
        socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::WindowChanged, this));
        socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Flow::ThresholdChanged, this));
    }

  private:
    uint32_t m_cwnd = 0;
    uint32_t m_ssthresh = UINT32_MAX;

    void WriteTrace()
    {
        *trace << Simulator::Now().GetSeconds() << ',' << m_cwnd << ',' << m_ssthresh << '\n';
    }
};

void
TraceQueue(Ptr<PointToPointNetDevice> device, const std::string& name, std::ostream& out)
{
    device->GetQueue()->TraceConnectWithoutContext(
        "PacketsInQueue",
        Callback<void, uint32_t, uint32_t>([&out, name](uint32_t, uint32_t packets) {
            out << Simulator::Now().GetSeconds() << ',' << name << ',' << packets << '\n';
        }));
}

} // namespace

int
main(int argc, char* argv[])
{
    const Parameters p = ReadCommandLine(argc, argv);
    const auto starts = StartTimes(p);
    RngSeedManager::SetRun(p.seed);
    ConfigureTcp(p);

    // Nodes and links.
    NodeContainer sources(p.flows);
    NodeContainer sinks(p.flows);
    NodeContainer routers(p.rate2.empty() ? 2 : 3);
    InternetStackHelper internet;
    if (p.nix)
    {
        internet.SetRoutingHelper(Ipv4NixVectorHelper());
    }
    internet.Install(sources);
    internet.Install(sinks);
    internet.Install(routers);
    const auto first = routers.Get(0);
    const auto last = routers.Get(routers.GetN() - 1);

    std::vector<NetDeviceContainer> bottlenecks;
    bottlenecks.push_back(Connect(first, routers.Get(1), p.rate, p.delay, p));
    if (!p.rate2.empty())
    {
        bottlenecks.push_back(Connect(routers.Get(1), last, p.rate2, p.delay2, p));
    }
    uint64_t randomDrops = 0;
    AddRandomLoss(Device(bottlenecks[0], 1), p.loss, 1, randomDrops);
    if (bottlenecks.size() == 2)
    {
        AddRandomLoss(Device(bottlenecks[1], 1), p.loss2, 2, randomDrops);
    }

    std::vector<NetDeviceContainer> sourceAccess;
    std::vector<NetDeviceContainer> sinkAccess;
    for (uint32_t i = 0; i < p.flows; ++i)
    {
        sourceAccess.push_back(Connect(sources.Get(i), first, p.accessRate, p.accessDelay, p));
        sinkAccess.push_back(Connect(last, sinks.Get(i), p.accessRate, p.accessDelay, p));
    }

    // Addresses: 10.1/16 on the sources' side, 10.2/16 on the sinks', 10.3/16 between routers.
    Ipv4AddressHelper sourceNet("10.1.0.0", "255.255.255.252");
    Ipv4AddressHelper sinkNet("10.2.0.0", "255.255.255.252");
    Ipv4AddressHelper coreNet("10.3.0.0", "255.255.255.252");
    const Ipv4Mask wide("255.255.0.0");
    for (const auto& link : bottlenecks)
    {
        const auto addresses = coreNet.Assign(link);
        coreNet.NewNetwork();
        if (!p.nix)
        {
            Routes(link.Get(0)->GetNode())
                ->AddNetworkRouteTo("10.2.0.0", wide, addresses.GetAddress(1), InterfaceOf(link.Get(0)));
            Routes(link.Get(1)->GetNode())
                ->AddNetworkRouteTo("10.1.0.0", wide, addresses.GetAddress(0), InterfaceOf(link.Get(1)));
        }
    }
    const uint16_t port = 5000;
    std::vector<Flow> flows(p.flows);
    for (uint32_t i = 0; i < p.flows; ++i)
    {
        const auto near = sourceNet.Assign(sourceAccess[i]);
        sourceNet.NewNetwork();
        const auto far = sinkNet.Assign(sinkAccess[i]);
        sinkNet.NewNetwork();
        if (!p.nix)
        {
            Routes(sources.Get(i))->SetDefaultRoute(near.GetAddress(1), InterfaceOf(sourceAccess[i].Get(0)));
            Routes(sinks.Get(i))->SetDefaultRoute(far.GetAddress(0), InterfaceOf(sinkAccess[i].Get(1)));
        }

        PacketSinkHelper sinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        flows[i].sink = DynamicCast<PacketSink>(sinkHelper.Install(sinks.Get(i)).Get(0));

        BulkSendHelper sendHelper("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), port));
        sendHelper.SetAttribute("MaxBytes", UintegerValue(0)); // endless
        sendHelper.SetAttribute("SendSize", UintegerValue(p.segment));
        const auto application = sendHelper.Install(sources.Get(i));
        application.Start(Seconds(starts[i]));
        flows[i].sender = DynamicCast<BulkSendApplication>(application.Get(0));
        Simulator::Schedule(Seconds(starts[i]) + NanoSeconds(1),
                            &Flow::WatchSocket,
                            &flows[i],
                            p.trace,
                            i);
    }

    // Every device, to prove that its DropTail queue is the only one, and to count what it drops.
    std::vector<Ptr<PointToPointNetDevice>> devices;
    for (const auto* links : {&bottlenecks, &sourceAccess, &sinkAccess})
    {
        for (const auto& link : *links)
        {
            for (uint32_t side : {0u, 1u})
            {
                devices.push_back(Device(link, side));
                const auto trafficControl = link.Get(side)->GetNode()->GetObject<TrafficControlLayer>();
                NS_ABORT_MSG_IF(trafficControl && trafficControl->GetRootQueueDiscOnDevice(link.Get(side)),
                                "a device has a queue disc");
            }
        }
    }

    std::ofstream queueTrace;
    if (!p.trace.empty())
    {
        queueTrace.open(p.trace + "-queues.csv");
        queueTrace << "time_s,queue,packets\n";
        for (uint32_t i = 0; i < p.flows; ++i)
        {
            TraceQueue(Device(sourceAccess[i], 0), "access" + std::to_string(i), queueTrace);
        }
        for (uint32_t i = 0; i < bottlenecks.size(); ++i)
        {
            TraceQueue(Device(bottlenecks[i], 0), i == 0 ? "L" : "L2", queueTrace);
        }
    }

    Simulator::Stop(Seconds(p.duration));
    const auto before = std::chrono::steady_clock::now();
    const auto cpuBefore = std::clock();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
    const double cpu = double(std::clock() - cpuBefore) / CLOCKS_PER_SEC;

    uint64_t queueDrops = 0;
    for (const auto& device : devices)
    {
        queueDrops += device->GetQueue()->GetTotalDroppedPackets();
    }
    uint64_t deliveredBytes = 0;
    std::ostringstream perFlow;
    for (uint32_t i = 0; i < p.flows; ++i)
    {
        const uint64_t bytes = flows[i].sink->GetTotalRx();
        deliveredBytes += bytes;
        perFlow << (i ? "," : "") << "{\"start_s\":" << starts[i]
                << ",\"goodput_bps\":" << 8.0 * bytes / (p.duration - starts[i])
                << ",\"delivered_packets\":" << bytes / p.segment << ",\"retransmits\":" << flows[i].retransmits
                << ",\"timeouts\":" << flows[i].timeouts << '}';
    }
    std::cout << "{\"controller\":\"" << p.controller << "\",\"seed\":" << p.seed
              << ",\"duration_s\":" << p.duration << ",\"wall_s\":" << wall.count() << ",\"cpu_s\":" << cpu
              << ",\"delivered_packets\":" << deliveredBytes / p.segment
              << ",\"goodput_bps\":" << 8.0 * deliveredBytes / p.duration << ",\"flows\":[" << perFlow.str()
              << "],\"events\":" << Simulator::GetEventCount() << ",\"queue_drops\":" << queueDrops
              << ",\"random_drops\":" << randomDrops << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
