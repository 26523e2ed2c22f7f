# Sourced by scripts that run programs under another Debian release.

# The exit status if a program or package is not available on this machine.
readonly UNAVAILABLE=77

skip() {
  echo "$(basename "$0"): unavailable, $*" >&2
  exit "$UNAVAILABLE"
}

# Prints the mirror that the machine uses.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    grep -v security | sort -u | head -n 1
}

# debian_root FOLDER RELEASE [OPTION...]: installs a release into FOLDER, unless this was done before with the same
# options. The options are passed to debootstrap, which writes to FOLDER.log. Calls skip() if the installation fails.
# Other scripts that need the same FOLDER wait for this one.
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

# prepare_root FOLDER: lets programs in the folder use the machine's network access, and sets the array `enter` to a
# command that runs another command in the folder. The caller must be in separate namespaces.
prepare_root() {
  local root=$1 name certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
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
  # A copied mirror stays valid after its release file has expired.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90typedcall"
}
