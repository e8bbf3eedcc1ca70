// The control laws of ns-3.44 as the referee runs them: ns-3's own code, with ns-3's mistakes taken out where they are not
// the law's. referee/README.md says what each of them is worth; dumbbell.cc's --controller=NAME-stock has them all.

#pragma once

#include "ns3/internet-module.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace referee
{

using namespace ns3;

// ns3::TcpLinuxReno without the growth that ns-3.44 grants at the end of a recovery. There, ns-3 sets cwnd to ssthresh
// and in the same breath counts the whole window that the last ACK covers, together with what had been counted before
// the loss, as progress in congestion avoidance: cwnd grows by two or three segments at once. RFC 5681 section 3.1
// allows one per round trip.
class TcpStrictReno : public TcpLinuxReno
{
  public:
    void CwndEvent(Ptr<TcpSocketState> tcb, TcpSocketState::TcpCAEvent_t event) override
    {
        m_recoveryEnds = m_recoveryEnds || event == TcpSocketState::CA_EVENT_COMPLETE_CWR;
        TcpLinuxReno::CwndEvent(tcb, event);
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override
    {
        m_acked = 0;
        return TcpLinuxReno::GetSsThresh(tcb, bytesInFlight);
    }

    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override
    {
        if (!std::exchange(m_recoveryEnds, false))
        {
            TcpLinuxReno::IncreaseWindow(tcb, segmentsAcked);
        }
    }

    void CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override
    {
        if (!tcb->m_isCwndLimited)
        {
            return;
        }
        m_acked += segmentsAcked;
        if (const uint32_t window = tcb->GetCwndInSegments(); m_acked >= window)
        {
            m_acked -= window;
            tcb->m_cWnd += tcb->m_segmentSize;
        }
    }

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpStrictReno").SetParent<TcpLinuxReno>().AddConstructor<TcpStrictReno>();
        return tid;
    }

    std::string GetName() const override
    {
        return "TcpStrictReno";
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictReno>(this);
    }

  private:
    bool m_recoveryEnds = false;
    uint32_t m_acked = 0; // segments acknowledged since cwnd last grew in congestion avoidance
};

// What is common to ns-3's laws and not RFC 5681, taken out of `Law`:
// - the growth at the end of a recovery, as in TcpStrictReno;
// - ssthresh is reckoned from what the SACK scoreboard calls in flight, which at the third duplicate is two segments less
//   than FlightSize; here from FlightSize, of it no more than cwnd;
// - growth for each ACK: ns3::TcpNewReno, which most laws are built on, grows half as fast when ACKs are delayed. Here a law
//   is told of each acknowledged segment by itself, in slow start of two at most for each ACK (RFC 3465);
// - PktsAcked is told of the whole window once more at the end of a recovery, after each segment of it was told of when its
//   duplicate ACK arrived. Here of what each ACK newly delivers.
template <class Law>
class Strict : public Law
{
  public:
    void CwndEvent(Ptr<TcpSocketState> tcb, TcpSocketState::TcpCAEvent_t event) override
    {
        m_recoveryEnds = m_recoveryEnds || event == TcpSocketState::CA_EVENT_COMPLETE_CWR;
        Law::CwndEvent(tcb, event);
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t) override
    {
        return Law::GetSsThresh(tcb, Flight(tcb));
    }

    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t, const Time& rtt) override
    {
        Law::PktsAcked(tcb, tcb->m_lastAckedSackedBytes / tcb->m_segmentSize, rtt);
    }

    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override
    {
        if (std::exchange(m_recoveryEnds, false) || !tcb->m_isCwndLimited)
        {
            return;
        }
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            segmentsAcked = std::min(segmentsAcked, 2u);
        }
        for (; segmentsAcked > 0; --segmentsAcked)
        {
            Grow(tcb);
        }
    }

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId(Law::GetTypeId().GetName() + "Strict")
                                .template SetParent<Law>()
                                .template AddConstructor<Strict<Law>>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<Strict<Law>>(this);
    }

  protected:
    // One segment was acknowledged.
    virtual void Grow(Ptr<TcpSocketState> tcb)
    {
        Law::IncreaseWindow(tcb, 1);
    }

    static uint32_t Flight(Ptr<const TcpSocketState> tcb)
    {
        const uint32_t flight = tcb->m_highTxMark.Get() - tcb->m_lastAckedSeq;
        return std::min(flight, tcb->m_cWnd.Get());
    }

  private:
    bool m_recoveryEnds = false;
};

// ns3::TcpWestwoodPlus counts the ACK that begins a sample into it: at every round trip one ACK more than the flow got. And
// its filter begins at nothing, so that it takes twenty round trips to know anything.
class TcpStrictWestwood : public Strict<TcpWestwoodPlus>
{
  public:
    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt) override
    {
        if (m_IsCount || rtt.IsZero())
        {
            return Strict<TcpWestwoodPlus>::PktsAcked(tcb, segmentsAcked, rtt);
        }
        if (!m_known && m_lastSampleBW > DataRate(0))
        {
            m_known = true;
            m_currentBW = m_lastBW = m_lastSampleBW;
        }
        Strict<TcpWestwoodPlus>::PktsAcked(tcb, segmentsAcked, rtt);
        m_ackedSegments = 0;
    }

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("TcpStrictWestwood")
                                .SetParent<Strict<TcpWestwoodPlus>>()
                                .AddConstructor<TcpStrictWestwood>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictWestwood>(this);
    }

  private:
    bool m_known = false; // the filter has had its first sample
};

// ns3::TcpVegas takes Vegas's own "one segment less" for the answer to a loss, and so gives up a quarter or nothing; Linux
// takes half. Its slow start doubles the window every round trip, and compares a window that has just grown; here every
// other, as in the paper.
class TcpStrictVegas : public Strict<TcpVegas>
{
  public:
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override
    {
        return m_growing ? TcpVegas::GetSsThresh(tcb, bytesInFlight)
                         : TcpNewReno::GetSsThresh(tcb, Flight(tcb));
    }

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpStrictVegas").SetParent<Strict<TcpVegas>>().AddConstructor<TcpStrictVegas>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictVegas>(this);
    }

  protected:
    void Grow(Ptr<TcpSocketState> tcb) override
    {
        const bool slowStart = tcb->m_cWnd < tcb->m_ssThresh;
        const bool roundEnds = tcb->m_lastAckedSeq >= m_begSndNxt;
        const bool doubled = roundEnds ? std::exchange(m_doubles, !m_doubles) : m_doubles;
        if (slowStart && roundEnds && doubled)
        {
            EnableVegas(tcb); // a round begins; what has just grown is not compared
            return;
        }
        if (slowStart && !m_doubles)
        {
            return;
        }
        m_growing = true;
        Strict<TcpVegas>::Grow(tcb);
        m_growing = false;
    }

  private:
    bool m_growing = false;
    bool m_doubles = false; // this round trip of slow start doubles the window
};

// ns3::TcpVeno forgets its samples at every ACK, though it wants three of them: its rule for a filled path never applies. (In
// Linux the line that forgets how many there were is commented out.) Here every sample counts for three.
class TcpStrictVeno : public Strict<TcpVeno>
{
  public:
    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt) override
    {
        m_rtt = rtt;
        Strict<TcpVeno>::PktsAcked(tcb, segmentsAcked, rtt);
    }

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpStrictVeno").SetParent<Strict<TcpVeno>>().AddConstructor<TcpStrictVeno>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictVeno>(this);
    }

  protected:
    void Grow(Ptr<TcpSocketState> tcb) override
    {
        for (int sample = 0; sample < 3; ++sample)
        {
            TcpVeno::PktsAcked(tcb, 1, m_rtt);
        }
        Strict<TcpVeno>::Grow(tcb);
    }

  private:
    Time m_rtt;
};

// ns3::TcpIllinois counts what alpha is worth in whole segments: with alpha below 1 the window never grows, and 1.9 is 1.
class TcpStrictIllinois : public Strict<TcpIllinois>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("TcpStrictIllinois")
                                .SetParent<Strict<TcpIllinois>>()
                                .AddConstructor<TcpStrictIllinois>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictIllinois>(this);
    }

  protected:
    void Grow(Ptr<TcpSocketState> tcb) override
    {
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            Strict<TcpIllinois>::Grow(tcb);
            return;
        }
        TcpIllinois::IncreaseWindow(tcb, 0); // once a round trip: alpha and beta
        m_owed += m_alpha;
        if (const uint32_t window = tcb->GetCwndInSegments(); m_owed >= window)
        {
            m_owed -= window;
            tcb->m_cWnd += tcb->m_segmentSize;
        }
    }

  private:
    double m_owed = 0; // alpha times the segments acknowledged since cwnd last grew
};

// ns3::TcpYeah takes more from the flight than there is when it is one segment, and 32 bits wrap around.
class TcpStrictYeah : public Strict<TcpYeah>
{
  public:
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override
    {
        const uint32_t threshold = Strict<TcpYeah>::GetSsThresh(tcb, bytesInFlight);
        return std::min(threshold, std::max(Flight(tcb), 2 * tcb->m_segmentSize));
    }

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpStrictYeah").SetParent<Strict<TcpYeah>>().AddConstructor<TcpStrictYeah>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictYeah>(this);
    }
};

// ns3::TcpHybla asks how long the path is when a sample is exactly the least so far. That is the SYN's, which no data packet
// equals, being longer on the wire: the path counts as short for ever, and Hybla is Reno.
class TcpStrictHybla : public Strict<TcpHybla>
{
  public:
    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time&) override
    {
        Strict<TcpHybla>::PktsAcked(tcb, segmentsAcked, tcb->m_minRtt);
    }

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpStrictHybla").SetParent<Strict<TcpHybla>>().AddConstructor<TcpStrictHybla>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictHybla>(this);
    }
};

// ns3::TcpBic aims at 0.8 of the window after a loss below the last maximum; the paper and Linux half way between that and
// the window. After a timeout it remembers the maximum, which Linux forgets. It asks for one segment more than its rule
// says, and forgets what it had beyond. And it lingers for four segments above the maximum too, as Linux does; the paper
// goes on from there by one segment a round trip at least.
class TcpStrictBic : public Strict<TcpBic>
{
  public:
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override
    {
        const uint32_t window = tcb->GetCwndInSegments();
        const bool below = window < m_lastMaxCwnd;
        const uint32_t threshold = Strict<TcpBic>::GetSsThresh(tcb, bytesInFlight);
        if (below && m_fastConvergence)
        {
            m_lastMaxCwnd = uint32_t(window * (1 + m_beta) / 2);
        }
        return threshold;
    }

    void CongestionStateSet(Ptr<TcpSocketState> tcb, TcpSocketState::TcpCongState_t state) override
    {
        m_timedOut = m_timedOut || state == TcpSocketState::CA_LOSS;
        Strict<TcpBic>::CongestionStateSet(tcb, state);
    }

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpStrictBic").SetParent<Strict<TcpBic>>().AddConstructor<TcpStrictBic>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictBic>(this);
    }

  protected:
    void Grow(Ptr<TcpSocketState> tcb) override
    {
        if (std::exchange(m_timedOut, false))
        {
            m_lastMaxCwnd = 0;
        }
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            Strict<TcpBic>::Grow(tcb);
            return;
        }
        m_owed += 1.0 / Update(tcb);
        if (m_owed >= 1)
        {
            m_owed -= 1;
            tcb->m_cWnd += tcb->m_segmentSize;
        }
    }

    // Segments to be acknowledged for one segment of growth.
    uint32_t Update(Ptr<TcpSocketState> tcb) override
    {
        const uint32_t window = tcb->GetCwndInSegments();
        const bool justAbove = window >= m_lastMaxCwnd && window < m_lastMaxCwnd + m_b;
        const uint32_t needed = TcpBic::Update(tcb);
        return justAbove ? std::min(needed, window) : needed;
    }

  private:
    bool m_timedOut = false;
    double m_owed = 0; // segments
};

// ns3::TcpScalable is Linux' with one number exchanged: by whole segments, one a round trip at least, and an eighth less after
// a loss of any window. In the paper that is so above the legacy window, 16 segments; up to it the law is Reno's.
class TcpStrictScalable : public Strict<TcpScalable>
{
  public:
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override
    {
        return tcb->GetCwndInSegments() <= LEGACY ? TcpNewReno::GetSsThresh(tcb, Flight(tcb))
                                                  : Strict<TcpScalable>::GetSsThresh(tcb, bytesInFlight);
    }

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("TcpStrictScalable")
                                .SetParent<Strict<TcpScalable>>()
                                .AddConstructor<TcpStrictScalable>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpStrictScalable>(this);
    }

  protected:
    void Grow(Ptr<TcpSocketState> tcb) override
    {
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            Strict<TcpScalable>::Grow(tcb);
            return;
        }
        const uint32_t window = tcb->GetCwndInSegments();
        m_owed += window <= LEGACY ? 1.0 / window : 1.0 / m_aiFactor;
        if (m_owed >= 1)
        {
            m_owed -= 1;
            tcb->m_cWnd += tcb->m_segmentSize;
        }
    }

  private:
    static constexpr uint32_t LEGACY = 16; // segments
    double m_owed = 0;                     // segments
};

// What runs under a name: as the referee has it, and with `-stock` as ns-3 has it.
inline const std::map<std::string, TypeId>&
Laws()
{
    static const std::map<std::string, TypeId> laws = {
        {"newreno", TcpStrictReno::GetTypeId()},
        {"newreno-stock", TcpLinuxReno::GetTypeId()},
        {"cubic", TcpCubic::GetTypeId()},
        {"cubic-stock", TcpCubic::GetTypeId()},
        {"westwood+", TcpStrictWestwood::GetTypeId()},
        {"westwood+-stock", TcpWestwoodPlus::GetTypeId()},
        {"vegas", TcpStrictVegas::GetTypeId()},
        {"vegas-stock", TcpVegas::GetTypeId()},
        {"veno", TcpStrictVeno::GetTypeId()},
        {"veno-stock", TcpVeno::GetTypeId()},
        {"bic", TcpStrictBic::GetTypeId()},
        {"bic-stock", TcpBic::GetTypeId()},
        {"hybla", TcpStrictHybla::GetTypeId()},
        {"hybla-stock", TcpHybla::GetTypeId()},
        {"yeah", TcpStrictYeah::GetTypeId()},
        {"yeah-stock", TcpYeah::GetTypeId()},
        {"highspeed", Strict<TcpHighSpeed>::GetTypeId()},
        {"highspeed-stock", TcpHighSpeed::GetTypeId()},
        {"scalable", TcpStrictScalable::GetTypeId()},
        {"scalable-stock", TcpScalable::GetTypeId()},
        {"illinois", TcpStrictIllinois::GetTypeId()},
        {"illinois-stock", TcpIllinois::GetTypeId()},
        {"bbr", TcpBbr::GetTypeId()},
        {"bbr-stock", TcpBbr::GetTypeId()},
    };
    return laws;
}

} // namespace referee
