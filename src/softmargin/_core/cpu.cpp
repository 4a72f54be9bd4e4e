// Which build of the core this processor can run.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace {

bool has_avx2_and_fma() {
#if defined(_MSC_VER) && defined(_M_X64)
  int info[4];
  __cpuid(info, 0);
  if (info[0] < 7) return false;
  __cpuid(info, 1);
  constexpr int fma = 1 << 12, osxsave = 1 << 27;
  if ((info[2] & (fma | osxsave)) != (fma | osxsave)) return false;
  if ((_xgetbv(0) & 6) != 6) return false;  // the system saves the wide registers
  __cpuidex(info, 7, 0);
  return info[1] & (1 << 5);
#elif defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

PyObject* build(PyObject*, PyObject*) {
  return PyUnicode_FromString(has_avx2_and_fma() ? "avx2" : "baseline");
}

PyMethodDef methods[] = {{"build", build, METH_NOARGS, "The fastest build this processor can run."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_cpu", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__cpu() { return PyModule_Create(&definition); }
