# A short path in ns-2.35: 20 Mbit/s, a round trip of 46 ms, a buffer of 61 packets, flows of
# Agent/TCP/Linux (the modules of Linux 2.6.22) with an ACK for every second packet, 60 s. Prints
# the goodput of all flows in Mbit/s, and the timeouts of each.
#
#   ns referee/ns2_short.tcl ALGORITHM FLOWS LOSS SEED
#
# ALGORITHM is reno, cubic, veno, yeah, illinois, westwood or hybla.

source [file dirname [info script]]/ns2_losses.tcl
lassign $argv algorithm flows loss seed
ns-random $seed
set ns [new Simulator]
set near [$ns node]
set far [$ns node]
$ns duplex-link $near $far 20Mb 23ms DropTail
$ns queue-limit $near $far 61
$ns queue-limit $far $near 1000
random_losses $ns $near $far $loss
set draw [new RNG]
$draw seed [expr {$seed * 7 + 13}]
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new Agent/TCP/Linux]
    set end [new Agent/TCPSink/Sack1/DelAck]
    $end set interval_ 40ms
    $tcp($i) set packetSize_ 1448
    $tcp($i) set tcpip_base_hdr_size_ 40
    $tcp($i) set window_ 5000
    $tcp($i) set windowInit_ 10
    $tcp($i) set timestamps_ true
    $ns attach-agent $near $tcp($i)
    $ns attach-agent $far $end
    $ns connect $tcp($i) $end
    $ns at 0 "$tcp($i) select_ca $algorithm"
    set source [new Application/FTP]
    $source attach-agent $tcp($i)
    $ns at [$draw uniform 0 1] "$source start"
}
proc finish {} {
    global tcp flows
    set sum 0
    for {set i 0} {$i < $flows} {incr i} {
        set sum [expr {$sum + ([$tcp($i) set ack_] + 1) * 1448 * 8e-6 / 60}]
        append timeouts " [$tcp($i) set nrexmit_]"
    }
    puts [format "%.2f%s" $sum $timeouts]
    exit 0
}
$ns at 60 finish
$ns run
