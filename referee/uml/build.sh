#!/usr/bin/env bash
# Builds what linux_virtual.py and whimbrel-stacks run: Linux 6.1 as a program (User Mode Linux, with
# virtual time), from Debian's source package, and init.c. Prints the directory that has both, `linux`
# and `init`.
#
# Everything goes to target/referee/uml (or $WHIMBREL_REFEREE_DIR/uml); what is already there is not
# done again. Takes minutes and 1.5 GB, of which 10 MB stay. The source is the first of
# $WHIMBREL_LINUX_SOURCE (a linux-source-6.1.tar.xz), the installed package's, and a download by
# `apt-get download`.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${WHIMBREL_REFEREE_DIR:-$here/../../target/referee}/uml
mkdir -p "$out"
out=$(cd "$out" && pwd)
log=$out/build.log

fail() { echo "referee/uml/build.sh: $*" >&2; exit 1; }
# step COMMAND...: the command, with what it prints in the log.
step() { "$@" >>"$log" 2>&1 || fail "\`$1\` failed; see $log"; }

[[ $(uname -sm) == "Linux x86_64" ]] || fail "User Mode Linux needs Linux on x86-64"
missing=()
for program in gcc make flex bison bc patch xz perl; do
    command -v "$program" >/dev/null || missing+=("$program")
done
[[ ${#missing[@]} == 0 ]] ||
    fail "missing: ${missing[*]} (Debian: apt-get install ${missing[*]/#xz/xz-utils})"

# What the kernel depends on: another configuration or patch is another kernel.
made=$(cat "$here/linux.config" "$here/linux.patch" "$here/link.c" "$here/build.sh" | sha256sum | cut -c 1-16)
if [[ ! -x $out/linux || $(cat "$out/linux.from" 2>/dev/null) != "$made" ]]; then
    scratch=$(mktemp -d "$out/build.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    : >"$log"
    source=${WHIMBREL_LINUX_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
    if [[ ! -e $source ]]; then
        command -v apt-get >/dev/null ||
            fail "set WHIMBREL_LINUX_SOURCE to Debian's linux-source-6.1.tar.xz"
        echo "downloading linux-source-6.1 (140 MB)" >&2
        cd "$scratch"
        # As root apt-get does not download into directories of others: no sandbox.
        step apt-get -q -o APT::Sandbox::User=root download linux-source-6.1
        step dpkg-deb -x "$scratch"/linux-source-6.1_*.deb "$scratch/package"
        source=$scratch/package/usr/src/linux-source-6.1.tar.xz
    fi
    echo "building Linux 6.1, minutes; see $log" >&2
    mkdir "$scratch/source"
    # 1 GB of the source is not needed: the largest drivers, documentation, tests.
    tar -xJf "$source" -C "$scratch/source" --strip-components=1 --exclude='*/Documentation/*/*' \
        --exclude='*/drivers/gpu/drm/amd/include' --exclude='*/tools/testing'
    cd "$scratch/source"
    step patch -p1 -i "$here/linux.patch"
    cp "$here/link.c" arch/um/drivers/link_kern.c
    step make ARCH=um O="$scratch/build" KCONFIG_ALLCONFIG="$here/linux.config" allnoconfig
    while read -r line; do
        [[ $line != CONFIG_* ]] || grep -qx "$line" "$scratch/build/.config" ||
            fail "linux.config: this kernel does not take $line"
    done <"$here/linux.config"
    step make ARCH=um O="$scratch/build" -j"${JOBS:-$(nproc)}" KBUILD_BUILD_TIMESTAMP=0 \
        KBUILD_BUILD_USER=whimbrel KBUILD_BUILD_HOST=referee linux
    strip "$scratch/build/linux" -o "$out/linux.new"
    mv "$out/linux.new" "$out/linux"
    echo "$made" >"$out/linux.from"
fi

if [[ ! -x $out/init || $here/init.c -nt $out/init ]]; then
    gcc -static -O2 -Wall -std=gnu11 "$here/init.c" -o "$out/init.new"
    mv "$out/init.new" "$out/init"
fi
echo "$out"
