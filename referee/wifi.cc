// The Wi-Fi referee: two stations on one 802.11n channel, simulated by ns-3 instead of by Whimbrel.
//
// They are 1 m apart in an ad hoc network in 5 GHz: no beacons, no association, no frame lost but to collisions.
// Packets are handed to the devices and taken from them (no IP stack, no ARP): what Whimbrel calls a packet is the
// payload of a frame, around which the device puts 8 bytes of LLC/SNAP and the MAC 30 bytes of header and checksum.
//
// Either the queues of one or both stations are never empty, or one station gets a train of packets at one instant
// every so often. Prints one JSON object. Units: rates in bit/s, sizes in bytes, times in seconds.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <array>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

using namespace ns3;

namespace
{

struct Parameters
{
    std::string mode = "HtMcs0";
    uint32_t width = 20; // MHz
    bool shortGuard = false;
    std::string control = "OfdmRate6Mbps"; // of RTS; answers follow from the mode
    uint32_t ampdu = 65535; // bytes; 0: each frame goes alone
    bool rts = false;
    bool bothWays = false;
    uint32_t aifsn = 3;
    uint32_t packet = 1500;
    uint32_t answer = 0; // bytes of the second station's packets, if they are of another size
    double loss = 0; // probability that a data frame is not understood, 0..1
    double duration = 10; // seconds that are measured, after one that is not
    uint32_t train = 0; // packets of a train; 0: saturated queues
    double gap = 0.2; // seconds from train to train
    uint32_t seed = 1;
    bool bar = false; // ns-3's own way after a missing block ACK, see README.md
    bool infrastructure = false; // access point and client instead of ad hoc, with beacons
    bool trace = false;
};

[[noreturn]] void
Refuse(const std::string& why)
{
    std::cerr << "wifi: " << why << std::endl;
    std::exit(2);
}

Parameters
ReadCommandLine(int argc, char* argv[])
{
    Parameters p;
    CommandLine cmd(__FILE__);
    cmd.AddValue("mode", "HtMcs0 to HtMcs31", p.mode);
    cmd.AddValue("width", "of the channel in MHz, 20 or 40", p.width);
    cmd.AddValue("shortGuard", "guard interval of 400 ns instead of 800 ns", p.shortGuard);
    cmd.AddValue("control", "OfdmRate6Mbps, 12 or 24: of requests to send", p.control);
    cmd.AddValue("ampdu", "most bytes of an aggregate, 0 for none", p.ampdu);
    cmd.AddValue("rts", "requests to send before everything", p.rts);
    cmd.AddValue("bothWays", "both stations have packets", p.bothWays);
    cmd.AddValue("aifsn", "of best effort", p.aifsn);
    cmd.AddValue("packet", "bytes of a packet", p.packet);
    cmd.AddValue("answer", "the same of the second station, if it is different", p.answer);
    cmd.AddValue("loss", "probability that a data frame, also one of an aggregate, is not understood", p.loss);
    cmd.AddValue("duration", "simulated seconds that are measured, after a second that is not", p.duration);
    cmd.AddValue("train", "packets of a train; 0: queues that are never empty", p.train);
    cmd.AddValue("gap", "seconds from one train to the next", p.gap);
    cmd.AddValue("seed", "run number of ns-3's generator (1 or more)", p.seed);
    cmd.AddValue("bar", "ask with a BlockAckReq after a missing block ACK instead of sending again", p.bar);
    cmd.AddValue("infrastructure", "access point and client, with beacons, instead of ad hoc", p.infrastructure);
    cmd.AddValue("trace", "every frame that is sent, on stderr", p.trace);
    cmd.Parse(argc, argv);
    if (p.width != 20 && p.width != 40)
    {
        Refuse("--width must be 20 or 40");
    }
    return p;
}

const Time WARM_UP = Seconds(1); // block-ACK agreements are made in it

// Takes data frames, each of an aggregate by itself, and leaves control frames: they are shorter than any packet's.
class DataFrameLoss : public ErrorModel
{
  public:
    DataFrameLoss(double probability, int64_t stream)
        : m_probability(probability)
    {
        m_random->SetStream(stream);
    }

  private:
    bool DoCorrupt(Ptr<Packet> frame) override
    {
        return frame->GetSize() > 38 && m_random->GetValue() < m_probability;
    }

    void DoReset() override
    {
    }

    const double m_probability;
    const Ptr<UniformRandomVariable> m_random = CreateObject<UniformRandomVariable>();
};

// One station, what it sent and what it received.
struct Station
{
    Ptr<WifiNetDevice> device;
    Ptr<UniformRandomVariable> phase; // of trains, within a slot and more
    uint64_t accesses = 0; // frames on the air with data in them
    uint32_t size = 0; // of its packets
    uint64_t frames = 0; // the same, those in aggregates one by one
    uint64_t requests = 0; // BlockAckReq
    uint64_t drops = 0; // frames given up, and packets that found no room
    uint64_t received = 0; // bytes
    // Trains:
    uint32_t inTrain = 0;
    Time first;
    uint64_t trains = 0;
    double bandwidth = 0; // sum of each train's estimate

    bool Measured() const
    {
        return Simulator::Now() >= WARM_UP;
    }

    void Send(const Address& to)
    {
        device->Send(Create<Packet>(size), to, 0x0800);
    }

    void FillUp(const Parameters& p, const Address& to)
    {
        // Frames on the air count until they are acknowledged. 128 are two windows; 600 Mbit/s take 10 of them in 0.2 ms.
        while (device->GetMac()->GetTxopQueue(AC_BE)->GetNPackets() < 128)
        {
            Send(to);
        }
        Simulator::Schedule(MicroSeconds(200), &Station::FillUp, this, p, to);
    }

    void SendTrain(const Parameters& p, const Address& to)
    {
        for (uint32_t i = 0; i < p.train; ++i)
        {
            Send(to);
        }
        const auto next = Seconds(p.gap) + NanoSeconds(phase->GetInteger(0, 100'000));
        Simulator::Schedule(next, &Station::SendTrain, this, p, to);
    }

    void Received(const Parameters& p, uint32_t bytes)
    {
        received += Measured() ? bytes : 0;
        if (++inTrain == 1)
        {
            first = Simulator::Now();
        }
        if (inTrain != p.train)
        {
            return;
        }
        inTrain = 0; // nothing is lost in between
        if (Measured())
        {
            ++trains;
            bandwidth += 8.0 * p.packet * (p.train - 1) / (Simulator::Now() - first).GetSeconds();
        }
    }

    void Transmitted(const Parameters& p, const WifiConstPsduMap& psdus, const WifiTxVector& vector)
    {
        const auto& psdu = psdus.begin()->second;
        if (p.trace)
        {
            const auto length = WifiPhy::CalculateTxDuration(psdus, vector, WIFI_PHY_BAND_5GHZ);
            std::cerr << Simulator::Now().GetMicroSeconds() << " us node " << device->GetNode()->GetId() << ' '
                      << psdu->GetHeader(0).GetTypeString() << ' ' << psdu->GetNMpdus() << " frames "
                      << psdu->GetSize() << " bytes " << vector.GetMode() << ' ' << length.GetNanoSeconds() << " ns\n";
        }
        if (Measured())
        {
            const bool data = psdu->GetHeader(0).IsQosData();
            accesses += data;
            frames += data ? psdu->GetNMpdus() : 0;
            requests += psdu->GetHeader(0).IsBlockAckReq();
        }
    }
};

void
Configure(const Parameters& p)
{
    RngSeedManager::SetRun(p.seed);
    Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(p.ampdu));
    Config::SetDefault("ns3::WifiMac::BE_MaxAmsduSize", UintegerValue(0));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(p.rts ? 0 : 4'692'480));
    // ns-3's way costs an access that tells the sender what it could know: nothing of a collision was received.
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(p.bar));
}

NetDeviceContainer
Install(const NodeContainer& nodes, const Parameters& p)
{
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue(p.width == 20 ? "{36, 20, BAND_5GHZ, 0}" : "{38, 40, BAND_5GHZ, 0}"));
    phy.Set("Antennas", UintegerValue(4));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(4));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(4));

    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211n);
    wifi.ConfigHtOptions("ShortGuardIntervalSupported", BooleanValue(p.shortGuard));
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(p.mode),
                                 "ControlMode",
                                 StringValue(p.control));
    WifiMacHelper mac;
    if (!p.infrastructure)
    {
        mac.SetType("ns3::AdhocWifiMac");
        return wifi.Install(phy, mac, nodes);
    }
    mac.SetType("ns3::ApWifiMac");
    auto devices = wifi.Install(phy, mac, nodes.Get(0));
    mac.SetType("ns3::StaWifiMac");
    devices.Add(wifi.Install(phy, mac, nodes.Get(1)));
    return devices;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Parameters p = ReadCommandLine(argc, argv);
    Configure(p);

    NodeContainer nodes(2);
    MobilityHelper mobility;
    auto positions = CreateObject<ListPositionAllocator>();
    positions->Add(Vector(0, 0, 0));
    positions->Add(Vector(1, 0, 0));
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
    const auto devices = Install(nodes, p);
    WifiHelper::AssignStreams(devices, 1);

    std::array<Station, 2> stations;
    for (uint32_t i = 0; i < 2; ++i)
    {
        auto& station = stations[i];
        station.device = DynamicCast<WifiNetDevice>(devices.Get(i));
        station.phase = CreateObject<UniformRandomVariable>();
        station.phase->SetStream(1000 + i);
        const auto mac = station.device->GetMac();
        mac->GetQosTxop(AC_BE)->SetAifsn(p.aifsn);
        station.size = i == 1 && p.answer ? p.answer : p.packet;
        if (p.loss > 0)
        {
            station.device->GetPhy()->SetPostReceptionErrorModel(Create<DataFrameLoss>(p.loss, 2000 + i));
        }
        station.device->GetPhy()->TraceConnectWithoutContext(
            "PhyTxPsduBegin",
            Callback<void, WifiConstPsduMap, WifiTxVector, double>(
                [&station, &p](WifiConstPsduMap psdus, WifiTxVector vector, double) {
                    station.Transmitted(p, psdus, vector);
                }));
        mac->TraceConnectWithoutContext(
            "DroppedMpdu",
            Callback<void, WifiMacDropReason, Ptr<const WifiMpdu>>(
                [&station](WifiMacDropReason, Ptr<const WifiMpdu>) { ++station.drops; }));
        station.device->SetReceiveCallback(
            Callback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>(
                [&station, &p](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&) {
                    station.Received(p, packet->GetSize());
                    return true;
                }));
    }
    for (uint32_t i = 0; i < (p.bothWays ? 2 : 1); ++i)
    {
        const auto to = stations[1 - i].device->GetAddress();
        Simulator::Schedule(MilliSeconds(500 + i),
                            p.train ? &Station::SendTrain : &Station::FillUp,
                            &stations[i],
                            p,
                            to);
    }

    Simulator::Stop(WARM_UP + Seconds(p.duration));
    Simulator::Run();

    std::ostringstream perStation;
    for (uint32_t i = 0; i < 2; ++i)
    {
        const auto& sender = stations[i];
        const auto& receiver = stations[1 - i];
        perStation << (i ? "," : "") << "{\"goodput_bps\":" << 8.0 * receiver.received / p.duration
                   << ",\"accesses\":" << sender.accesses << ",\"frames\":" << sender.frames
                   << ",\"requests\":" << sender.requests << ",\"drops\":" << sender.drops << '}';
    }
    std::cout << "{\"stations\":[" << perStation.str() << ']';
    if (const auto& far = stations[1]; far.trains)
    {
        std::cout << ",\"trains\":" << far.trains << ",\"train_bps\":" << far.bandwidth / far.trains;
    }
    std::cout << ",\"events\":" << Simulator::GetEventCount() << '}' << std::endl;
    Simulator::Destroy();
    return 0;
}
