# Random losses on the link from one node to another: each packet is lost with this probability.
# Returns the error model. The other scripts of ns-2 share it.

proc random_losses {ns from to rate} {
    set losses [new ErrorModel]
    $losses unit pkt
    $losses set rate_ $rate
    $losses ranvar [new RandomVariable/Uniform]
    $losses drop-target [new Agent/Null]
    $ns lossmodel $losses $from $to
    return $losses
}
