# Flows of one algorithm over a shared lossy link, in ns-2.35: the same path as ns2.toml. Prints one
# line for each flow: goodput in bit/s over the time that it was active, and its timeouts.
#
#   ns referee/ns2.tcl AGENT SINK ALGORITHM FLOWS LOSS SEED [DECREASE]
#
# AGENT is the part of Agent/TCP/... (Newreno, Reno, Sack1, Linux), SINK of Agent/TCPSink/...
# ("plain": Agent/TCPSink itself), ALGORITHM what Agent/TCP/Linux runs ("-": another agent),
# DECREASE the part of the window that a loss leaves (ns-2's default: 0.5).

source [file dirname [info script]]/ns2_losses.tcl
lassign $argv agent sink algorithm flows loss seed decrease
set payload 1460
set window 44 ;# packets: 65,535 B
set duration 60

ns-random $seed
set ns [new Simulator]
set near [$ns node]
set far [$ns node]
# One flow has the path of Fig 4.2 of the CERL thesis, ten that of its topology 1.
if {$flows == 1} {
    set rate 15Mb
    set delay 20ms
} else {
    set rate 1Mb
    set delay 10ms
}
$ns duplex-link $near $far 8Mb 50ms DropTail
random_losses $ns $near $far $loss

set draw [new RNG]
$draw seed [expr {$seed * 7 + 13}]
for {set i 0} {$i < $flows} {incr i} {
    set sender [$ns node]
    set receiver [$ns node]
    $ns duplex-link $sender $near $rate $delay DropTail
    $ns duplex-link $far $receiver $rate $delay DropTail
    set tcp($i) [new Agent/TCP/$agent]
    set end [new Agent/TCPSink[expr {$sink eq "plain" ? "" : "/$sink"}]]
    $tcp($i) set packetSize_ $payload
    $tcp($i) set window_ $window
    if {$decrease ne ""} {
        $tcp($i) set decrease_num_ $decrease
    }
    $ns attach-agent $sender $tcp($i)
    $ns attach-agent $receiver $end
    $ns connect $tcp($i) $end
    if {$algorithm ne "-"} {
        $ns at 0 "$tcp($i) select_ca $algorithm"
    }
    set source [new Application/FTP]
    $source attach-agent $tcp($i)
    set start($i) [$draw uniform 0 5]
    $ns at $start($i) "$source start"
}

proc finish {} {
    global tcp start flows payload duration
    for {set i 0} {$i < $flows} {incr i} {
        set bits [expr {([$tcp($i) set ack_] + 1) * $payload * 8.0}]
        puts "flow [expr {$bits / ($duration - $start($i))}] [$tcp($i) set nrexmit_]"
    }
    exit 0
}
$ns at $duration finish
$ns run
