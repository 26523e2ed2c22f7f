"""Compares typed functions as callbacks with callbacks written by hand in C and in Python. They are
called in a loop and by GSL, NLopt, cubature, CVODE and numbalsoda. Usage: python bench/callbacks.py
[--rounds N]"""

import ctypes
import ctypes.util
import importlib
import math
import sys

import build_module
import interleaved
import typedcall

double, pointer = ctypes.c_double, ctypes.c_void_p
doubles, unsigned = ctypes.POINTER(double), ctypes.c_uint
OF_NUMBER = "double (*)(double x, void *params)"
OBJECTIVE = "double (*)(unsigned n, const double *x, double *gradient, void *data)"
INTEGRAND = "int (*)(unsigned ndim, const double *x, void *fdata, unsigned fdim, double *fval)"
RATE = "int (*)(double t, const double y[2], double dydt[2], void *params)"
RATE_WITHOUT_STATUS = "void (*)(double t, double y[2], double dydt[2], void *data)"
RATE_OF_VECTORS = "int (*)(double t, N_Vector y, N_Vector ydot, void *user_data)"
PYTHONS_SHARE = 50  # Python callbacks do 1/50 of the work


def library(name):
    found = ctypes.util.find_library(name)
    return None if found is None else ctypes.CDLL(found, mode=ctypes.RTLD_GLOBAL)


def valley(n, x, gradient, _):
    step, across = 1 - x[0], x[1] - x[0] * x[0]
    if gradient:
        gradient[0] = -2 * step - 400 * x[0] * across
        gradient[1] = 200 * across
    return step * step + 100 * across * across


def ball(n, x, _, m, value):
    square = sum(x[i] * x[i] for i in range(n))
    value[0] = math.sqrt(1 - square) if square < 1 else 0.0
    return 0


def spring(t, y, rate, _):
    rate[0], rate[1] = y[1], -y[0]
    return 0


def numbers(callees, loop, calls):
    """Returns the arguments of compare()."""
    made = {
        "typed": typedcall.callback(callees.identity, OF_NUMBER),
        "typed, falls back": typedcall.callback(callees.checked_identity, OF_NUMBER),
        "typed, for which the GIL is taken": typedcall.callback(callees.identity_with_gil, OF_NUMBER),
        "typed, by libffi": typedcall.callback(callees.identity, "double (*)(double x)"),
    }
    python = ctypes.CFUNCTYPE(double, double, pointer)(lambda x, _: x)
    by_hand = callees.identity_address()
    return calls, by_hand, lambda at, data, share: loop(at, data, calls // share), made, python


def gsl_integral(callees, gsl):
    gsl.gsl_integration_workspace_alloc.restype = pointer
    space = pointer(gsl.gsl_integration_workspace_alloc(ctypes.c_size_t(100)))
    result, error = double(), double()
    references = ctypes.byref(result), ctypes.byref(error)

    def run(at, data, share):
        f = (pointer * 2)(at, data)
        for _ in range(2500 // share):  # each integration evaluates 21 points
            gsl.gsl_integration_qags(f, double(0), double(1), double(0), double(1e-6), ctypes.c_size_t(100),
                                     space, *references)

    python = ctypes.CFUNCTYPE(double, double, pointer)(lambda x, _: math.exp(-x * x))
    made = {"typed": typedcall.callback(callees.bell, OF_NUMBER)}
    return 2500 * 21, callees.bell_address(), run, made, python


def gsl_ode(callees, gsl):
    gsl.gsl_odeiv2_driver_alloc_y_new.restype = pointer
    method = pointer.in_dll(gsl, "gsl_odeiv2_step_rkf45")

    def run(at, data, share):
        system = (pointer * 4)(at, None, 2, data)
        driver = pointer(gsl.gsl_odeiv2_driver_alloc_y_new(system, method, double(1e-3), double(1e-9), double(0)))
        t, y = double(0), (double * 2)(1, 0)
        gsl.gsl_odeiv2_driver_apply(driver, ctypes.byref(t), double(1000 / share), y)
        gsl.gsl_odeiv2_driver_free(driver)

    python = ctypes.CFUNCTYPE(ctypes.c_int, double, doubles, doubles, pointer)(spring)
    made = {"typed": typedcall.callback(callees.spring, RATE)}
    return None, callees.spring_address(), run, made, python


def nlopt_minimum(callees, nlopt):
    nlopt.nlopt_create.restype = pointer
    algorithm = nlopt.nlopt_algorithm_from_string(b"LN_NELDERMEAD")

    def run(at, data, share):
        optimizer = pointer(nlopt.nlopt_create(algorithm, 2))
        nlopt.nlopt_set_min_objective(optimizer, pointer(at), pointer(data))
        nlopt.nlopt_set_maxeval(optimizer, 120)
        least = double()
        for _ in range(200 // share):
            nlopt.nlopt_optimize(optimizer, (double * 2)(-1.2, 1), ctypes.byref(least))
        nlopt.nlopt_destroy(optimizer)

    python = ctypes.CFUNCTYPE(double, unsigned, doubles, doubles, pointer)(valley)
    made = {"typed": typedcall.callback(callees.valley, OBJECTIVE)}
    return 200 * 120, callees.valley_address(), run, made, python


def cubature_integral(callees, cubature):
    low, high, result, error = (double * 2)(0, 0), (double * 2)(1, 1), double(), double()

    def run(at, data, share):
        cubature.hcubature(1, pointer(at), pointer(data), 2, low, high, ctypes.c_size_t(100_000 // share),
                           double(0), double(0), 1, ctypes.byref(result), ctypes.byref(error))

    python = ctypes.CFUNCTYPE(ctypes.c_int, unsigned, doubles, pointer, unsigned, doubles)(ball)
    made = {"typed": typedcall.callback(callees.ball, INTEGRAND)}
    return 100_000, callees.ball_address(), run, made, python


def cvode(callees, cv):
    for each in (cv.N_VMake_Serial, cv.CVodeCreate, cv.SUNNonlinSol_FixedPoint):
        each.restype = pointer
    cv.N_VGetArrayPointer.restype, cv.N_VGetArrayPointer.argtypes = doubles, [pointer]
    context, values = pointer(), (double * 2)()
    cv.SUNContext_Create(None, ctypes.byref(context))
    y = pointer(cv.N_VMake_Serial(ctypes.c_int64(2), values, context))
    fixed_point = pointer(cv.SUNNonlinSol_FixedPoint(y, 0, context))

    def run(at, data, share):
        values[0], values[1], t = 1, 0, double(0)
        solver = pointer(cv.CVodeCreate(1, context))
        cv.CVodeInit(solver, pointer(at), t, y)
        cv.CVodeSetUserData(solver, pointer(data))
        cv.CVodeSetMaxNumSteps(solver, ctypes.c_long(10**6))
        cv.CVodeSStolerances(solver, double(1e-9), double(1e-9))
        cv.CVodeSetNonlinearSolver(solver, fixed_point)
        cv.CVode(solver, double(500 / share), y, ctypes.byref(t), 1)
        cv.CVodeFree(ctypes.byref(solver))

    def python(t, y, rate, _):
        return spring(t, cv.N_VGetArrayPointer(y), cv.N_VGetArrayPointer(rate), _)

    arrays = {"N_Vector": (cv.N_VGetArrayPointer, cv.N_VGetLength)}
    made = {"typed": typedcall.callback(callees.spring, RATE_OF_VECTORS, arrays=arrays)}
    python = ctypes.CFUNCTYPE(ctypes.c_int, double, pointer, pointer, pointer)(python)
    return None, callees.vectors_address(), run, made, python


def numbalsoda_dop853(callees, numbalsoda):
    numpy, scipy = importlib.import_module("numpy"), importlib.import_module("scipy.integrate")
    tolerances = {"rtol": 1e-9, "atol": 1e-9}

    def way(share):
        return numpy.array([0, 10_000 / share])

    def run(at, data, share):
        numbalsoda.solve_ivp(at, way(share), numpy.array([1.0, 0]), way(share)[1:], data=data, **tolerances)

    def solve_ivp(share):
        scipy.solve_ivp(lambda t, y: (y[1], -y[0]), way(share), (1, 0), "DOP853", way(share)[1:], **tolerances)

    python = ctypes.CFUNCTYPE(None, double, doubles, doubles, pointer)(spring)
    made = {"typed": typedcall.callback(callees.spring, RATE_WITHOUT_STATUS)}
    # The solver ignores the callback's status.
    return None, callees.spring_address(), run, made, python, {"SciPy's solve_ivp, Python function": solve_ivp}


def compare(title, rounds, calls, by_hand, run, made, python, others=None):
    """Compares the contestants of one group. `others` maps names to functions that run other Python
    callbacks."""
    print("\n" + title)
    contestants = {"by hand in C": lambda: run(by_hand, 0, 1)}
    for name, each in made.items():
        contestants[name] = lambda each=each: run(each.address, each.data or 0, 1)
    at = ctypes.cast(python, pointer).value
    slow = {"Python function": lambda share: run(at, 0, share), **(others or {})}
    for name, each in slow.items():
        contestants[name] = lambda each=each: each(PYTHONS_SHARE)
    taken = interleaved.measure(contestants, rounds)
    for name in slow:
        taken[name] = [PYTHONS_SHARE * each for each in taken[name]]
    for each in made.values():
        each.check()
    held = interleaved.report(taken, calls or 1000, [("typed", "by hand in C", 1.05, "most")], title)
    for name in taken:
        if name != "by hand in C" and name != "typed":
            print("%s / typed: %.2f (quartiles %.2f to %.2f)" % (name, *interleaved.ratio(taken, name, "typed")))
    return held


def main():
    rounds = interleaved.rounds(__doc__, 21)
    gsl, nlopt, cubature, cv = map(library, ("gsl", "nlopt", "cubature", "sundials_cvode"))
    try:
        importlib.import_module("scipy.integrate")
        numbalsoda = importlib.import_module("numbalsoda")
    except ImportError:
        numbalsoda = None
    callees = build_module.load("callback_callees.cc")
    held = [
        compare("A loop, each call waits for the one before", rounds, *numbers(callees, callees.sum, 200_000)),
        compare("A loop, no call waits", rounds, *numbers(callees, callees.sum_of_many, 200_000)),
    ]
    for title, of, make in [
        ("GSL, qags of exp(-x * x)", gsl, gsl_integral),
        ("GSL, rkf45 (per 1/1000 of the way)", gsl, gsl_ode),
        ("NLopt, Nelder-Mead, two variables", nlopt, nlopt_minimum),
        ("cubature, hcubature over a square", cubature, cubature_integral),
        ("CVODE, Adams (per 1/1000 of the way)", cv, cvode),
        ("numbalsoda, DOP853 (per 1/1000 of the way)", numbalsoda, numbalsoda_dop853),
    ]:
        if of is None:
            interleaved.skip(title, "the library is not installed")
        else:
            held.append(compare(title, rounds, *make(callees, of)))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
