#!/usr/bin/env bash
# Builds the referees: ns-3 from its Python wheel in a private environment, and dumbbell.cc and wifi.cc linked against it.
# Everything goes to target/referee (or $WHIMBREL_REFEREE_DIR); what is already there is not done again.
set -euo pipefail

version=3.44.post0
here=$(cd "$(dirname "$0")" && pwd)
out=${WHIMBREL_REFEREE_DIR:-$here/../target/referee}
mkdir -p "$out"
out=$(cd "$out" && pwd)
venv=$out/venv

fail() { echo "referee/build.sh: $*" >&2; exit 1; }

command -v python3 >/dev/null || fail "python3 is missing"
command -v g++ >/dev/null || fail "g++ is missing (Debian: apt install g++)"

installed() { compgen -G "$venv/lib/python3*/site-packages/ns3-$version.dist-info" >/dev/null; }
if ! installed; then
    python3 -m venv "$venv" >/dev/null 2>&1 || fail "python3-venv is missing (Debian: apt install python3-venv)"
    # --no-deps: its Python bindings' dependencies are not needed for C++.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "ns3==$version" ||
        fail "could not install ns3==$version"
    installed || fail "ns3==$version was installed but is not where it is expected"
fi

# The wheel's .pc files name its builder's directories, so the paths are found here.
ns3=$(echo "$venv"/lib/python3*/site-packages/ns3)
libs=$ns3/lib64

# compile PROGRAM MODULE...: the program, linked against these modules and those that they need.
compile() {
    local program=$1 link=() module
    shift
    if [[ ! -x $out/$program || $here/$program.cc -nt $out/$program || $here/laws.h -nt $out/$program ||
        $here/build.sh -nt $out/$program ]]; then
        for module in "$@"; do
            link+=("-lns${version%.post*}-$module")
        done
        # laws.h needs the private members of ns-3's laws to put right what they do with them.
        g++ -std=c++20 -O2 -Wall -fno-access-control -I"$ns3/include" "$here/$program.cc" -o "$out/$program.new" \
            -L"$libs" -Wl,-rpath,"$libs" -Wl,-rpath-link,"$libs" -Wl,--no-as-needed "${link[@]}"
        mv "$out/$program.new" "$out/$program"
    fi
    echo "$out/$program"
}

compile dumbbell core network internet point-to-point applications stats bridge traffic-control nix-vector-routing
compile wifi core network mobility wifi propagation spectrum antenna energy stats bridge internet traffic-control
