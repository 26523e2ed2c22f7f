# Builds a wheel for each flavour of Python, and tests it in an environment without a compiler. Used by tools/wheels.
import argparse
import glob
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import interpreters  # noqa: E402

AUDITWHEEL = os.path.join(os.path.dirname(os.environ["TYPEDCALL_DISK_CACHE"]), "auditwheel/bin")
# check.py reports which of these libraries work, because not all have wheels for every Python.
LIBRARIES = ("numpy", "numba", "apsw", "duckdb")
# The wheels are for manylinux 2.27, which libffi needs. The package's own code must not need a later glibc.
NEWEST_GLIBC = 27
SKIPPED = 77


def run(*command, **options):
    subprocess.run(command, check=True, **options)


def chosen(required):
    """Returns an interpreter of each flavour that the package supports, except for debug builds."""
    found = {}
    for each in interpreters.find(required):
        if each.runs_package and not each.debug:
            found.setdefault((each.info["implementation"], each.flavour), each)
    return sorted(found.values(), key=lambda each: (each.info["implementation"], each.flavour))


def compile_environment():
    """Returns the environment for the compiler, which selects the oldest possible glibc."""
    flags = "-include " + os.path.join(HERE, "old_glibc.h")
    # These libraries had the functions in older versions of glibc. auditwheel must also see which libc a module
    # needs, even if the module uses none of its functions.
    libraries = "-Wl,--push-state,--no-as-needed,-l:libdl.so.2,-l:libpthread.so.0,-lc,--pop-state"
    return dict(os.environ, CXXFLAGS=flags, LDFLAGS=libraries)


def build(interpreter, scratch):
    """Builds and repairs a wheel, and returns its path."""
    python = os.path.join(scratch, "build/bin/python")
    run(interpreter.executable, "-m", "venv", os.path.join(scratch, "build"))
    built = os.path.join(scratch, "built")
    run(python, "-m", "pip", "-q", "--disable-pip-version-check", "wheel", "--no-deps", "-w", built,
        ".", env=compile_environment())
    repaired = os.path.join(scratch, "repaired")
    path = AUDITWHEEL + os.pathsep + os.environ["PATH"]
    ended = subprocess.run(
        [os.path.join(AUDITWHEEL, "auditwheel"), "repair", "-w", repaired,
         *glob.glob(built + "/*.whl")], env=dict(os.environ, PATH=path), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    if ended.returncode:
        print(ended.stdout)
        ended.check_returncode()
    (wheel,) = glob.glob(repaired + "/*.whl")
    glibc = re.search(r"manylinux_2_(\d+)_", wheel)
    if int(glibc.group(1)) > NEWEST_GLIBC:
        sys.exit(os.path.basename(wheel) + ": needs a newer system than old_glibc.h supports")
    return wheel


def check(interpreter, wheel, scratch):
    """Installs the wheel alone and runs check.py, then installs the available libraries and runs it again."""
    environment = os.path.join(scratch, "check")
    run(interpreter.executable, "-m", "venv", environment)
    python = os.path.join(environment, "bin/python")
    pip = (python, "-m", "pip", "-q", "--disable-pip-version-check", "install")
    run(*pip, "--no-index", wheel)
    bare = {"PATH": os.path.join(environment, "bin"), "CC": "false", "CXX": "false"}
    run(python, os.path.join(HERE, "check.py"), cwd=scratch, env=bare)
    if interpreter.info["implementation"] != "CPython":
        return  # PyPy has no adapters, which the package's tests cover
    for library in LIBRARIES:
        subprocess.run([*pip, "--only-binary", ":all:", library], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run(python, os.path.join(HERE, "check.py"), *LIBRARIES, cwd=scratch, env=bare)


def libffi():
    """Returns this machine's libffi.so.8 in an archive. The libffi of Debian's unstable release needs a later glibc."""
    name = "libffi.so.8"
    # A bare name means that the compiler did not find it.
    path = subprocess.run(["cc", "-print-file-name=" + name], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        tar.add(path, name)
    return archive.getvalue()


def build_newest(folder):
    """Builds and tests the wheels for the Pythons of tools/newest_pythons, in its root."""
    steps = ("mkdir -p ~/libffi && tar -x -C ~/libffi && "
             "LD_LIBRARY_PATH=~/libffi tools/wheels --only-here --python /usr/bin/python3.15 ~/dist "
             ">&2 && tar -c -C ~/dist .")
    ended = subprocess.run(["tools/newest_pythons", "sh", "-c", steps], input=libffi(),
                           stdout=subprocess.PIPE, check=False)
    if ended.returncode == SKIPPED:
        print("no wheels for the newest CPythons: skipped, see above", flush=True)
        return []
    ended.check_returncode()
    with tarfile.open(fileobj=io.BytesIO(ended.stdout)) as tar:
        wheels = [each for each in tar.getmembers() if each.name.endswith(".whl")]
        for each in wheels:
            each.name = os.path.basename(each.name)
            tar.extract(each, folder)
    return [os.path.join(folder, each.name) for each in wheels]


def main():
    parser = argparse.ArgumentParser(prog="tools/wheels")
    parser.add_argument("--python", action="append", default=[], metavar="BIN",
                        help="build for this interpreter, too (repeatable)")
    parser.add_argument("--only-here", action="store_true",
                        help="not for those of tools/newest_pythons")
    parser.add_argument("folder", nargs="?", default="dist")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for old in glob.glob(os.path.join(glob.escape(options.folder), "typedcall-*.whl")):
        os.unlink(old)
    wheels, failed = [], []
    for interpreter in chosen(options.python):
        print("==", interpreter.label, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                wheel = build(interpreter, scratch)
                print(os.path.basename(wheel), flush=True)
                check(interpreter, wheel, scratch)
                wheels.append(shutil.copy(wheel, options.folder))
            except subprocess.CalledProcessError as error:
                failed.append(f"{interpreter.label}: {error}")
                print(failed[-1], flush=True)
    if not options.only_here:
        try:
            wheels += build_newest(options.folder)
        except subprocess.CalledProcessError as error:
            failed.append(f"the newest CPythons: {error}")
            print(failed[-1], flush=True)
    with open(os.path.join(options.folder, "SHA256SUMS"), "w", encoding="ascii") as file:
        for wheel in sorted(wheels):
            with open(wheel, "rb") as content:
                digest = hashlib.sha256(content.read()).hexdigest()
            file.write(f"{digest}  {os.path.basename(wheel)}\n")
    shutil.copy("CHANGELOG.md", options.folder)
    print(f"{len(wheels)} wheels in {options.folder}, {len(failed)} failures")
    return 1 if failed or not wheels else 0


if __name__ == "__main__":
    sys.exit(main())
