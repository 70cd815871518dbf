# Other releases of Debian below build/roots, and the servers of their packages. For ./dev, which reads
# this file. Everything here needs root.

# make_root <release>: makes build/roots/<release> with debootstrap, unless it is there.
make_root() {
  local root="build/roots/$1"
  [[ -e "$root/complete" ]] && return
  need debootstrap
  if ((EUID != 0)); then
    echo "dev: only root can make $root, a Debian $1" >&2
    exit 1
  fi
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase "$1" "$root"
  touch "$root/complete"
}

# in_root <release> <command>...: runs a command in the root, in this repository at /rushgate. Its
# build folder is build/<release>. The mounts end with the command.
in_root() {
  local root="build/roots/$1" built="build/$1"
  shift
  mkdir -p "$root/rushgate" "$built"
  unshare --mount --fork --kill-child bash -euc '
    root="$1" built="$2"
    shift 2
    mount --bind "$root" "$root"  # a test changes the propagation of mounts, which "/" needs for that
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    mount -t proc proc "$root/proc"
    mount --bind . "$root/rushgate"
    mount --bind "$built" "$root/rushgate/build"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    exec chroot "$root" env -C /rushgate HOME=/root "$@"
  ' - "$root" "$built" "$@"
}

# server_of <release> <package> <program>: prints a folder in which `redis-server` is <program> of the
# package of another release. It runs with the newer C library of both systems, which has all symbols
# of the older one, so libraries of this system can be preloaded into it.
server_of() {
  local root="build/roots/$1" folder="$PWD/build/servers/$3-$1" libraries loader older
  make_root "$1" >&2
  [[ -e "$root/usr/bin/$3" ]] || {
    chroot "$root" apt-get update
    chroot "$root" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "$2"
  } >&2
  root="$PWD/$root"
  libraries="$root/usr/lib/$(gcc -print-multiarch)"
  loader="$(ldd /bin/sh | grep -o '/[^ ]*/ld-linux[^ ]*')"
  rm -rf "$folder"
  mkdir -p "$folder/lib"
  older="$(printf '%s\n' "$(glibc_version)" "$(glibc_version "$root")" | sort -V | head -n 1)"
  if [[ "$older" == "$(glibc_version)" ]]; then
    loader="$root$loader"
  else
    find "$libraries" -maxdepth 1 -name '*.so*' -exec ln -st "$folder/lib" {} +
    rm -f "$folder"/lib/{libc,libm,libdl,librt,libpthread,libresolv,libstdc++,libgcc_s}.so*
    libraries="$folder/lib"
  fi
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
    "$loader" "$libraries" "$root/usr/bin/$3" >"$folder/redis-server"
  chmod +x "$folder/redis-server"
  echo "$folder"
}

# glibc_version [root]: prints the version of the C library.
glibc_version() {
  dpkg-query --admindir="${1:-}/var/lib/dpkg" -W -f '${Version}' \
    "libc6:$(dpkg --print-architecture)"
}
