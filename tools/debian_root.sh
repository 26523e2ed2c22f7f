# Sourced by the scripts that run something under another release of Debian: where the machine's apt
# gets its packages, and a folder with that release in it, which debootstrap fills once.

# Exit status of what cannot be had on this machine: callers count it as unavailable.
readonly UNAVAILABLE=77

skip() {
  echo "$(basename "$0"): unavailable, $*" >&2
  exit "$UNAVAILABLE"
}

# The mirror that the machine uses.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    grep -v security | sort -u | head -n 1
}

# debian_root FOLDER RELEASE [OPTION...]: fills FOLDER unless it is complete, made with the same
# options; ends the script by skip() where it cannot. The options are debootstrap's. What debootstrap
# says goes to FOLDER.log. Who else wants the same FOLDER waits.
debian_root() {
  local folder=$1 release=$2 mirror
  shift 2
  if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    skip "it needs root and the package debootstrap"
  fi
  mkdir -p "$(dirname "$folder")"
  exec 8>"$folder.lock"
  flock 8
  if [ -e "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$*" ]; then
    exec 8>&-
    return 0
  fi
  mirror=$(debian_mirror) || true
  [ -n "$mirror" ] || skip "apt knows no mirror of Debian's (apt-get update?)"
  echo "Installing Debian $release into $folder" >&2
  rm -rf --one-file-system "$folder"
  if ! debootstrap --variant=minbase "$@" "$release" "$folder" "$mirror" >"$folder.log" 2>&1 8>&-; then
    tail -n 20 "$folder.log" >&2
    skip "Debian $release could not be installed; its log is above"
  fi
  echo "$*" >"$folder/complete"
  exec 8>&-
}

# prepare_root FOLDER: what is in the folder reaches the network as the machine does, and `enter` is
# the command, as an array, that runs another in it. Called in namespaces of its own.
prepare_root() {
  local root=$1 name certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  # The way to the network, certificates of its proxy included, is the machine's.
  [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  enter=(chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    HOME=/root LC_ALL=C.UTF-8 "TERM=${TERM:-dumb}")
  for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || enter+=("$name=${!name}")
  done
  if [ -e "$certificates" ]; then
    cp -L "$certificates" "$root/etc/machine-certificates.crt"
    enter+=({SSL_CERT_FILE,PIP_CERT}=/etc/machine-certificates.crt)
  fi
  # A mirror that was copied once stays what it is after its release file has expired.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90typedcall"
}
