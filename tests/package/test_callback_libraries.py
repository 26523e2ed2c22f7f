"""Tests typedcall.callback() with NLopt, GSL, CVODE, cubature, SciPy and numbalsoda."""

import ctypes.util
import unittest

import adapter_support
import support
import typedcall

support.module_only_if(not support.IS_PYPY, "typedcall.callback is CPython's")

functions = support.build("callback_functions")
FOLDER = adapter_support.EXAMPLES / "callback"

FROM_CPP = """
import functions, gsl_from_cpp
print("%.9f" % gsl_from_cpp.integral(functions.bell))
for f in functions.wave, functions.ball:
    try:
        print(gsl_from_cpp.integral(f))
    except Exception as error:
        print(type(error).__name__, error, sep=": ")
"""


class Examples(support.InAFolder):
    """Each example is short and prints the right result."""

    def check(self, name, expected, library=None, debian=None):
        path = FOLDER / (name + ".py")
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 21, path)  # 20 lines of code and the docstring
        if library is not None and ctypes.util.find_library(library) is None:
            self.skipTest("lib%s is missing (Debian: %s)" % (library, debian))
        support.compile_module(FOLDER / "functions.cc", self.folder)
        self.assertEqual(support.printed(path, paths=[self.folder]), expected)

    def test_nlopt(self):
        self.check("nlopt_minimum", "NLopt: least at 1.00000, 1.00000", "nlopt", "libnlopt0")

    def test_gsl(self):
        for name, expected in [("gsl_root", "GSL: root at 2.467401100"),
                               ("gsl_integral", "GSL: integral 1.772453851"),
                               ("gsl_ode", "GSL: state -0.839072, 0.544021")]:
            with self.subTest(name):
                self.check(name, expected, "gsl", "libgsl27")

    def test_gsl_from_cpp(self):
        source = FOLDER / "gsl_from_cpp.cc"
        code = [line for line in source.read_text(encoding="utf-8").splitlines()
                if line.strip() and not line.startswith(("#", "//"))]
        self.assertLessEqual(len(code), 20)
        if not support.has_header("c++", "gsl/gsl_integration.h"):
            self.skipTest("GSL's headers are missing (Debian: libgsl-dev)")
        support.compile_module(FOLDER / "functions.cc", self.folder)
        support.compile_module(source, self.folder, flags=["-lgsl", "-lgslcblas", "-lm"])
        self.assertEqual(support.printed("-c", FROM_CPP, paths=[self.folder]).splitlines(), [
            "1.772453851", "ValueError: wave: x is below 0",
            "TypeError: ball does not offer 'd->d'; it offers '*kd->d'"])

    def test_cvode(self):
        self.check("cvode_ode", "CVODE: state -0.839071, 0.544021", "sundials_cvode", "libsundials-cvode6")

    def test_cubature(self):
        self.check("cubature_integral", "cubature: integral 0.5236", "cubature", "libcubature0")

    def test_scipy(self):
        adapter_support.library("scipy.optimize.cython_optimize")
        self.check("scipy_root", "SciPy: root at 2.467401100")

    def test_numbalsoda(self):
        adapter_support.library("numbalsoda")
        self.check("numbalsoda_ode", "numbalsoda: states -0.839072, 0.544021 and -0.839072, 0.544021")


class SciPy(unittest.TestCase):
    def test_all_root_finders_for_c_callers(self):
        zeros = adapter_support.library("scipy.optimize.cython_optimize._zeros")
        name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
        address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi))
        double, pointer = ctypes.c_double, ctypes.c_void_p
        prototype = ctypes.CFUNCTYPE(double, pointer, double, double, pointer, double, double, ctypes.c_int, pointer)
        for name in ("bisect", "ridder", "brenth", "brentq"):
            capsule = zeros.__pyx_capi__[name]
            find = prototype(address_of(capsule, name_of(capsule)))
            with self.subTest(name):
                with typedcall.callback(functions.half, "double (*)(double x, void *params)") as f:
                    root = find(f.address, -4, 9, f.data, 1e-12, 1e-12, 100, None)
                self.assertAlmostEqual(root, 0, 9)
                with self.assertRaisesRegex(ValueError, "no root"):
                    with typedcall.callback(functions.root, "double (*)(double x, void *params)") as f:
                        find(f.address, -4, 9, f.data, 1e-12, 1e-12, 100, None)


class Failures(unittest.TestCase):
    """Tests how libraries handle the error value that a callback returns after an exception."""

    def library(self, name):
        found = ctypes.util.find_library(name)
        if found is None:
            self.skipTest("there is no lib%s" % name)
        return ctypes.CDLL(found)

    def test_gsl_stops_an_integration(self):
        gsl = self.library("gsl")
        gsl.gsl_set_error_handler_off()
        gsl.gsl_integration_workspace_alloc.restype = ctypes.c_void_p
        space = ctypes.c_void_p(gsl.gsl_integration_workspace_alloc(ctypes.c_size_t(100)))
        self.addCleanup(gsl.gsl_integration_workspace_free, space)
        result, error, zero = ctypes.c_double(), ctypes.c_double(), ctypes.c_double(0)
        with self.assertRaisesRegex(ValueError, "no root"):
            with typedcall.callback(functions.root, "double (*)(double x, void *params)") as f:
                status = gsl.gsl_integration_qags(
                    (ctypes.c_void_p * 2)(f.address, f.data), ctypes.c_double(-1), ctypes.c_double(1), zero,
                    ctypes.c_double(1e-9), ctypes.c_size_t(100), space, ctypes.byref(result),
                    ctypes.byref(error))
                self.assertNotEqual(status, 0)

    def test_gsl_stops_a_differential_equation(self):
        gsl = self.library("gsl")
        gsl.gsl_set_error_handler_off()
        gsl.gsl_odeiv2_driver_alloc_y_new.restype = ctypes.c_void_p
        method = ctypes.c_void_p.in_dll(gsl, "gsl_odeiv2_step_rkf45")
        for error in (-1, 9):
            with self.assertRaisesRegex(ValueError, "t < 0"):
                with typedcall.callback(functions.checked_decay, "int(double t, const double y[1], double d[1],"
                                        " void *params)", error=error) as f:
                    system = (ctypes.c_void_p * 4)(f.address, None, 1, f.data)
                    driver = ctypes.c_void_p(gsl.gsl_odeiv2_driver_alloc_y_new(
                        system, method, ctypes.c_double(1e-3), ctypes.c_double(1e-6), ctypes.c_double(0)))
                    t, y = ctypes.c_double(-1), (ctypes.c_double * 1)(1)
                    status = gsl.gsl_odeiv2_driver_apply(driver, ctypes.byref(t), ctypes.c_double(1), y)
                    gsl.gsl_odeiv2_driver_free(driver)
                    self.assertEqual((status, t.value), (error, -1))

    def test_cubature_stops(self):
        cubature = self.library("cubature")
        with self.assertRaisesRegex(ValueError, "negative"):
            with typedcall.callback(functions.checked_total, "int(unsigned ndim, const double *x, void *fdata,"
                                    " unsigned fdim, double *fval)") as f:
                low, high, values = (ctypes.c_double * 2)(-1, -1), (ctypes.c_double * 2)(1, 1), ctypes.c_double()
                self.assertNotEqual(cubature.hcubature(
                    1, ctypes.c_void_p(f.address), ctypes.c_void_p(f.data), 2, low, high, ctypes.c_size_t(100),
                    ctypes.c_double(0), ctypes.c_double(1e-9), 1, ctypes.byref(values), ctypes.byref(values)), 0)

    def test_nlopt_goes_on_to_its_limit(self):
        nlopt = self.library("nlopt")
        nlopt.nlopt_create.restype = ctypes.c_void_p
        with self.assertRaisesRegex(ValueError, "x.0. < 0"):
            with typedcall.callback(functions.checked_squares, "double(unsigned n, const double *x,"
                                    " double *gradient, void *data)") as f:
                optimizer = ctypes.c_void_p(nlopt.nlopt_create(nlopt.nlopt_algorithm_from_string(b"LN_NELDERMEAD"), 1))
                self.addCleanup(nlopt.nlopt_destroy, optimizer)
                nlopt.nlopt_set_min_objective(optimizer, ctypes.c_void_p(f.address), ctypes.c_void_p(f.data))
                nlopt.nlopt_set_maxeval(optimizer, 100)
                nlopt.nlopt_optimize(optimizer, (ctypes.c_double * 1)(1), ctypes.byref(ctypes.c_double()))
                self.assertLessEqual(nlopt.nlopt_get_numevals(optimizer), 100)


class Numbalsoda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.numbalsoda = adapter_support.library("numbalsoda")

    def test_lsoda_takes_the_address(self):
        """lsoda() takes the data as an array, and passes a pointer to it. The array is made from the callback's data
        pointer."""
        numpy, numbalsoda = adapter_support.library("numpy"), self.numbalsoda
        with typedcall.callback(functions.decay, "void(double t, double u[2], double du[2], void *data)") as f:
            self.assertTrue(f.is_compiled)
            data = numpy.ctypeslib.as_array((ctypes.c_double * 1).from_address(f.data))
            times = numpy.linspace(0, 2, 5)
            states, is_right = numbalsoda.lsoda(f.address, numpy.array([1.0, 3.0]), times, data, rtol=1e-9, atol=1e-9)
        self.assertTrue(is_right)
        numpy.testing.assert_allclose(states[:, 1], 3 * numpy.exp(-times**2 / 2), rtol=1e-6)

    def test_an_exception_waits_for_its_end(self):
        numpy = adapter_support.library("numpy")
        way, y = numpy.array([-1.0, 1]), numpy.array([1.0])
        with self.assertRaisesRegex(ValueError, "t < 0"):
            with typedcall.callback(functions.checked_decay, "void(double t, double y[1], double d[1], void *data)") as f:
                # The callback returns nothing, so it cannot stop the solver.
                self.assertTrue(self.numbalsoda.solve_ivp(f.address, way, y, data=f.data).success)
