// Matrix products by the BLAS that SciPy carries: function pointers filled in when the module
// loads, so there is nothing to link against.
#pragma once

namespace softmargin {

template <class Real>
using Gemm = void (*)(const char* trans_a, const char* trans_b, const int* m, const int* n,
                      const int* k, const Real* alpha, const Real* a, const int* lda, const Real* b,
                      const int* ldb, const Real* beta, Real* c, const int* ldc);

inline Gemm<float> sgemm = nullptr;
inline Gemm<double> dgemm = nullptr;

template <class Real>
Gemm<Real> gemm();
template <>
inline Gemm<float> gemm<float>() {
  return sgemm;
}
template <>
inline Gemm<double> gemm<double>() {
  return dgemm;
}

// c (rows_a x rows_b, row stride ldc) = scale_c * c + a b', with the rows of a and b contiguous.
template <class Real>
void multiply_transposed(int rows_a, int rows_b, int inner, const Real* a, int lda, const Real* b,
                         int ldb, Real scale_c, Real* c, int ldc) {
  const Real one = 1;
  gemm<Real>()("T", "N", &rows_b, &rows_a, &inner, &one, b, &ldb, a, &lda, &scale_c, c, &ldc);
}

}  // namespace softmargin
