# Topology 2 of the CERL thesis in ns-2.35: a hundred flows each way, the same path as
# experiments/cerl/topology-2-bandwidth.toml. Prints a flow's mean goodput in Mbit/s over the time
# that it was active, and its timeouts. ns-2 may print lines of its own before.
#
#   ns referee/ns2_cerl.tcl newreno|keep|linux-ALGORITHM LOSS1 LOSS2 RATE1 SEED
#
# `keep` is a NewReno that never reduces its window for duplicates, linux-ALGORITHM is
# Agent/TCP/Linux with cubic, yeah, westwood or another of its algorithms. RATE1 is in Mbit/s.

source [file dirname [info script]]/ns2_losses.tcl
lassign $argv kind l1 l2 rate seed
ns-random $seed
set dur 30 ;# s
set pkt 1024 ;# B
set window 64 ;# packets: 65,535 B
set ns [new Simulator]
set g1 [$ns node]; set g2 [$ns node]; set g3 [$ns node]
$ns duplex-link $g1 $g2 ${rate}Mb 60ms DropTail
$ns duplex-link $g2 $g3 85Mb 60ms DropTail
foreach {a b l} "$g1 $g2 $l1 $g2 $g1 $l1 $g2 $g3 $l2 $g3 $g2 $l2" {
 if {$l > 0} {
  random_losses $ns $a $b $l
 }
}
set rng [new RNG]; $rng seed [expr $seed*7+13]
set n 0
proc flow {s r} {
  global ns kind pkt window rng n T K t0
  set ca ""
  switch -glob $kind {
    newreno {set tcp [new Agent/TCP/Newreno]; set snk [new Agent/TCPSink]}
    keep {set tcp [new Agent/TCP/Newreno]; set snk [new Agent/TCPSink]; $tcp set decrease_num_ 1.0}
    linux-* {set tcp [new Agent/TCP/Linux]; set snk [new Agent/TCPSink/Sack1]
      set ca [string range $kind 6 end]}
  }
  $tcp set packetSize_ $pkt; $tcp set window_ $window
  $ns attach-agent $s $tcp; $ns attach-agent $r $snk; $ns connect $tcp $snk
  if {$ca ne ""} {$ns at 0 "$tcp select_ca $ca"}
  set ftp [new Application/FTP]; $ftp attach-agent $tcp
  set t0($n) [$rng uniform 0 5]; $ns at $t0($n) "$ftp start"
  set T($n) $tcp; set K($n) $snk; incr n
}
for {set i 0} {$i < 100} {incr i} {
  set s [$ns node]; set r [$ns node]
  $ns duplex-link $s $g1 1Mb 20ms DropTail
  $ns duplex-link $g3 $r 1Mb 20ms DropTail
  flow $s $r; flow $r $s
}
proc fin {} {
  global T n dur pkt t0
  set g 0; set o 0
  for {set i 0} {$i < $n} {incr i} {
    set g [expr $g+([$T($i) set ack_]+1)*$pkt*8/1e6/($dur-$t0($i))/$n]; incr o [$T($i) set nrexmit_]
  }
  puts [format "%.4f rto %.2f" $g [expr 1.0*$o/$n]]
  exit 0
}
$ns at $dur fin
$ns run
