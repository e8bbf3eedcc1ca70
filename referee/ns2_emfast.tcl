# The path of Fig 5 of the EMFAST paper in ns-2.35, with NewReno or ns-2's SCTP as the flow that is
# measured: the same path as experiments/emfast/fig-5.toml. Prints what leaves n1, n3 for each other
# flow, and R1, in kbit/s over 100 s.
#
#   ns referee/ns2_emfast.tcl newreno|sctp OTHERS QUEUE SEED [RWND [DELAYED]]
#
# OTHERS flows of NewReno share the link R1-R2. QUEUE is the buffer of n3 and n4 in packets. RWND is
# SCTP's initialRwnd_ in bytes, DELAYED its useDelayedSacks_; ns-2's defaults are 65536 and 1.

source [file dirname [info script]]/ns2_losses.tcl
lassign $argv kind others queue seed rwnd delayed
ns-random $seed
set ns [new Simulator]
foreach n {n1 n3 r1 r2 n4 n2} {
    set $n [$ns node]
}
foreach {a b rate delay limit} [list \
    $n1 $r1 2Mb 10ms 10 $n3 $r1 1Mb 10ms $queue $r1 $r2 1.5Mb 100ms 10 \
    $r2 $n4 1Mb 10ms $queue $r2 $n2 2Mb 10ms 10] {
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a $limit
}
# One packet is lost: they are 5.5 ms apart on R1-R2.
set losses [random_losses $ns $n1 $r1 0]
$ns at 38 "$losses set rate_ 1"
$ns at 38.0055 "$losses set rate_ 0"
set own [$ns monitor-queue $n1 $r1 "" 1]
set shared [$ns monitor-queue $n3 $r1 "" 1]
set all [$ns monitor-queue $r1 $r2 "" 1]

set draw [new RNG]
$draw seed [expr {$seed * 7 + 13}]
proc begin {tcp end from to} {
    global ns draw
    $ns attach-agent $from $tcp
    $ns attach-agent $to $end
    $ns connect $tcp $end
    set source [new Application/FTP]
    $source attach-agent $tcp
    $ns at [$draw uniform 0 0.5] "$source start"
}
if {$kind eq "sctp"} {
    set tcp [new Agent/SCTP]
    set end [new Agent/SCTP]
    foreach agent [list $tcp $end] {
        $agent set mtu_ 1040
        $agent set dataChunkSize_ 992
        if {$rwnd ne ""} {
            $agent set initialRwnd_ $rwnd
        }
        if {$delayed ne ""} {
            $agent set useDelayedSacks_ $delayed
        }
    }
} else {
    set tcp [new Agent/TCP/Newreno]
    set end [new Agent/TCPSink]
    $tcp set window_ 1000
}
begin $tcp $end $n1 $n2
for {set i 0} {$i < $others} {incr i} {
    set other [new Agent/TCP/Newreno]
    $other set window_ 1000
    begin $other [new Agent/TCPSink] $n3 $n4
}

proc finish {} {
    global own shared all others
    set each [expr {$others ? [$shared set bdepartures_] * 8e-5 / $others : 0}]
    puts [format "one %.0f, each other %.0f, all %.0f" \
        [expr {[$own set bdepartures_] * 8e-5}] $each [expr {[$all set bdepartures_] * 8e-5}]]
    exit 0
}
$ns at 100 finish
$ns run
