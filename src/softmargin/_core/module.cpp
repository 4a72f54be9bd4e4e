// The Python binding: everything twice, for rows in float32 and in float64. No algorithm here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "decision.hpp"
#include "decomposition.hpp"
#include "linear/linear_module.hpp"
#include "selection/maximum_gain.hpp"
#include "text_module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace softmargin {
namespace {

template <class T, std::size_t dims>
using Input = nb::ndarray<const T, nb::ndim<dims>, nb::device::cpu>;
template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> to_vector(const Column<T>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

KernelFunction kernel_function(const std::string& name) {
  if (name == "linear") return KernelFunction::linear;
  if (name == "poly") return KernelFunction::polynomial;
  if (name == "rbf") return KernelFunction::rbf;
  if (name == "sigmoid") return KernelFunction::sigmoid;
  throw std::invalid_argument("unknown kernel " + name);
}

template <class Rows>
std::unique_ptr<Rule<Rows>> make_rule(const std::string& name, const std::string& gain_rows,
                                      double eta) {
  if (name == "most-violating-pair") return std::make_unique<MostViolatingPair<Rows>>();
  if (name == "second-order") return std::make_unique<SecondOrder<Rows>>();
  const GainRows rows = gain_rows == "one"   ? GainRows::one
                        : gain_rows == "two" ? GainRows::two
                                             : GainRows::cached;
  if (name == "maximum-gain") return std::make_unique<MaximumGain<Rows>>(false, rows, eta);
  if (name == "hybrid-maximum-gain") return std::make_unique<MaximumGain<Rows>>(true, rows, eta);
  return nullptr;
}

// Rows asked of a Python function: values(rows) returns a C-ordered float64 array of full rows.
template <class Real>
class FunctionRows final : public RowSource<Real> {
 public:
  FunctionRows(nb::callable values, std::vector<double> diagonal)
      : values_(std::move(values)), diagonal_(std::move(diagonal)) {}

  void load(const Index* rows, Index size) override {
    nb::gil_scoped_acquire gil;
    const auto answer = nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig>>(
        values_(to_numpy(std::vector<Index>(rows, rows + size), {static_cast<std::size_t>(size)})));
    size_ = size;
    loaded_.assign(answer.data(), answer.data() + answer.size());
  }

  void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
            Workspace<Real>&) const override {
    for (Index r = 0; r < size_; ++r)
      for (Index c = 0; c < size; ++c)
        out[r * stride + c] = static_cast<Real>(loaded_[r * diagonal_.size() + columns[c]]);
  }

  double diagonal(Index row) const override { return diagonal_[row]; }

  double cost() const override { return 1; }

  double rounding(const Index*, Index) const override {
    return std::numeric_limits<Real>::epsilon() / 2 *
           *std::max_element(diagonal_.begin(), diagonal_.end());
  }

 private:
  nb::callable values_;
  std::vector<double> diagonal_, loaded_;
  Index size_ = 0;
};

template <class Real>
Part make_part(const std::tuple<Column<double>, Column<double>, Column<double>, double>& given) {
  Part part;
  part.beta = to_vector(std::get<0>(given));
  part.lower = to_vector(std::get<1>(given));
  part.upper = to_vector(std::get<2>(given));
  part.offset = std::get<3>(given);
  part.rise_gate.resize(part.beta.size());
  part.fall_gate.resize(part.beta.size());
  for (Index k = 0; k < static_cast<Index>(part.beta.size()); ++k) part.set(k, part.beta[k]);
  return part;
}

// Lets Python handle Ctrl-C in the middle of a long call. Signals are for the main thread: in
// others this does nothing.
void handle_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class Real>
class Solver {
 public:
  using PartArrays = std::tuple<Column<double>, Column<double>, Column<double>, double>;

  Solver(RowSource<Real>& rows, Column<Index> ids, Column<double> p,
         const std::vector<PartArrays>& parts, bool separate, const std::string& rule,
         const std::string& gain_rows, double eta, Index block_size, double tolerance,
         bool shrinking, std::size_t cache_bytes, int threads)
      : decomposition_(
            make_dual(p, parts, separate),
            KernelMatrix<Real>(rows, to_vector(ids), cache_bytes, threads, handle_signals),
            make_rule<KernelMatrix<Real>>(rule, gain_rows, eta),
            rule == "block" ? std::make_unique<Block<Real>>(block_size) : nullptr, tolerance,
            shrinking) {}

  Status run(std::int64_t max_iterations, double max_seconds) {
    return decomposition_.run(max_iterations, max_seconds);
  }
  Status finish() { return decomposition_.finish(); }
  void stop() { decomposition_.stop(); }

  // By example, in the order of `ids`.
  auto gradient() const { return by_example(decomposition_.dual().gradient); }
  auto beta(int part) const { return by_example(decomposition_.dual().parts.at(part).beta); }

 private:
  static Dual make_dual(Column<double> p, const std::vector<PartArrays>& parts, bool separate) {
    Dual dual;
    dual.p = dual.gradient = to_vector(p);
    for (const PartArrays& part : parts) dual.parts.push_back(make_part<Real>(part));
    dual.separate = separate;
    dual.active = dual.size();
    return dual;
  }

  nb::ndarray<nb::numpy, double> by_example(const std::vector<double>& by_position) const {
    std::vector<double> values(by_position.size());
    const Order& order = decomposition_.order();
    for (std::size_t k = 0; k < values.size(); ++k) values[order.example_at[k]] = by_position[k];
    return to_numpy(std::move(values), {by_position.size()});
  }

  Decomposition<Real> decomposition_;
};

template <class Value>
void check_rows_contiguous(const Input<Value, 2>& X) {
  if (X.shape(0) > 0 && X.shape(1) > 1 && X.stride(1) != 1)
    throw std::invalid_argument("the values of a row of X must be contiguous");
}

template <class Value>
auto means_of(Input<Value, 2> X) {
  check_rows_contiguous(X);
  return to_numpy(
      means(X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1)), X.stride(0)),
      {X.shape(1)});
}

template <class Value, class Real>
void bind_dense(nb::class_<Examples<Real>>& examples, nb::class_<RowSource<Real>>& rows) {
  // X has contiguous rows; centre is empty or has one value a feature.
  examples.def_static(
      "dense",
      [](Input<Value, 2> X, Column<double> centre) -> Examples<Real>* {
        check_rows_contiguous(X);
        return new DenseExamples<Value, Real>(X.data(), static_cast<Index>(X.shape(0)),
                                              static_cast<Index>(X.shape(1)), X.stride(0),
                                              centre.size() ? centre.data() : nullptr);
      },
      "X"_a.noconvert(), "centre"_a, nb::keep_alive<0, 1>());
  rows.def_static(
      "precomputed",
      [](Input<Value, 2> matrix) -> RowSource<Real>* {
        return new PrecomputedRows<Value, Real>(matrix.data(), matrix.stride(0), matrix.stride(1));
      },
      "matrix"_a.noconvert(), nb::keep_alive<0, 1>());
}

template <class Value, class Offset, class Real>
void bind_csr(nb::class_<Examples<Real>>& examples) {
  examples.def_static(
      "csr",
      [](Column<Value> data, Column<Offset> indices, Column<Offset> starts,
         Index features) -> Examples<Real>* {
        return new SparseExamples<Value, Offset, Real>(data.data(), indices.data(), starts.data(),
                                                       static_cast<Index>(starts.size() - 1),
                                                       features);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "features"_a,
      nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
}

template <class Real>
nb::ndarray<nb::numpy, double> expansion(
    const Examples<Real>& points, const Examples<Real>& vectors, const std::string& function,
    double gamma, double coef0, int degree,
    nb::ndarray<const double, nb::ndim<2>, nb::c_contig> coefficients,
    const std::vector<Index>& group_starts, int threads) {
  const std::size_t groups = group_starts.size() - 1, outputs = coefficients.shape(0);
  if (coefficients.shape(1) != static_cast<std::size_t>(vectors.count) ||
      group_starts.front() != 0 || group_starts.back() != vectors.count ||
      !std::is_sorted(group_starts.begin(), group_starts.end()) ||
      points.features != vectors.features)
    throw std::invalid_argument("points, vectors, coefficients and groups do not fit together");
  std::vector<double> sums(points.count * groups * outputs, 0.0);
  {
    nb::gil_scoped_release release;
    Expansion<Real>(vectors, {kernel_function(function), gamma, coef0, degree}, group_starts,
                    coefficients.data(), static_cast<Index>(outputs))
        .evaluate(points, threads, sums.data());
  }
  return to_numpy(std::move(sums), {static_cast<std::size_t>(points.count), groups, outputs});
}

// Products of rows and columns become kernel values, in place.
template <class Real>
void apply_kernel(nb::ndarray<Real, nb::ndim<2>, nb::c_contig> products,
                  nb::ndarray<const double, nb::ndim<1>, nb::c_contig> row_norms,
                  nb::ndarray<const Real, nb::ndim<1>, nb::c_contig> column_norms,
                  const std::string& function, double gamma, double coef0, int degree,
                  int threads) {
  if (products.shape(0) != row_norms.size() || products.shape(1) != column_norms.size())
    throw std::invalid_argument("products and norms do not fit together");
  const Kernel kernel{kernel_function(function), gamma, coef0, degree};
  const std::size_t columns = products.shape(1);
  nb::gil_scoped_release release;
  parallel_ranges(static_cast<std::int64_t>(products.shape(0)), 1, threads,
                  [&](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t r = begin; r < end; ++r)
                      kernel.apply(products.data() + r * columns, static_cast<Index>(columns),
                                   row_norms.data()[r], column_norms.data());
                  });
}

template <class Real>
void bind(nb::module_ m) {
  nb::class_<Examples<Real>> examples(m, "Examples");
  nb::class_<RowSource<Real>> rows(m, "Rows");
  rows.def(
      "rounding",
      [](const RowSource<Real>& source, Column<Index> ids) {
        return source.rounding(ids.data(), static_cast<Index>(ids.size()));
      },
      "ids"_a);
  bind_dense<float, Real>(examples, rows);
  bind_dense<double, Real>(examples, rows);
  bind_csr<float, std::int32_t, Real>(examples);
  bind_csr<float, std::int64_t, Real>(examples);
  bind_csr<double, std::int32_t, Real>(examples);
  bind_csr<double, std::int64_t, Real>(examples);
  rows.def_static(
      "examples",
      [](const Examples<Real>& examples, const std::string& function, double gamma, double coef0,
         int degree) -> RowSource<Real>* {
        return new ExampleRows<Real>(examples, {kernel_function(function), gamma, coef0, degree});
      },
      "examples"_a, "function"_a, "gamma"_a, "coef0"_a, "degree"_a, nb::keep_alive<0, 1>());
  rows.def_static(
      "function",
      [](nb::callable values, Column<double> diagonal) -> RowSource<Real>* {
        return new FunctionRows<Real>(std::move(values), to_vector(diagonal));
      },
      "values"_a, "diagonal"_a);

  nb::class_<Solver<Real>>(m, "Solver")
      .def(nb::init<RowSource<Real>&, Column<Index>, Column<double>,
                    const std::vector<typename Solver<Real>::PartArrays>&, bool, const std::string&,
                    const std::string&, double, Index, double, bool, std::size_t, int>(),
           "rows"_a, "ids"_a, "p"_a, "parts"_a, "separate"_a, "rule"_a, "gain_rows"_a, "eta"_a,
           "block_size"_a, "tolerance"_a, "shrinking"_a, "cache_bytes"_a, "threads"_a,
           nb::keep_alive<1, 2>())
      .def("run", &Solver<Real>::run, "max_iterations"_a, "max_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Solver<Real>::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Solver<Real>::stop)
      .def("gradient", &Solver<Real>::gradient)
      .def("beta", &Solver<Real>::beta, "part"_a);

  m.def("expansion", &expansion<Real>, "points"_a, "vectors"_a, "function"_a, "gamma"_a, "coef0"_a,
        "degree"_a, "coefficients"_a, "group_starts"_a, "threads"_a);
  m.def("apply_kernel", &apply_kernel<Real>, "products"_a, "row_norms"_a, "column_norms"_a,
        "function"_a, "gamma"_a, "coef0"_a, "degree"_a, "threads"_a);
}

}  // namespace
}  // namespace softmargin

#define SOFTMARGIN_MODULE(name, variable) NB_MODULE(name, variable)
SOFTMARGIN_MODULE(SOFTMARGIN_CORE, m) {
  using namespace softmargin;
  nb::enum_<Outcome>(m, "Outcome")
      .value("running", Outcome::running)
      .value("optimal", Outcome::optimal)
      .value("no_progress", Outcome::no_progress)
      .value("stuck", Outcome::stuck)
      .value("unbounded", Outcome::unbounded);
  nb::exception<KernelNotFinite>(m, "KernelNotFinite", PyExc_ValueError);
  m.def("means", &means_of<float>, "X"_a.noconvert());
  m.def("means", &means_of<double>, "X"_a.noconvert());
  nb::class_<Status>(m, "Status")
      .def_ro("outcome", &Status::outcome)
      .def_ro("violation", &Status::violation)
      .def_ro("objective", &Status::objective)
      .def_ro("iterations", &Status::iterations)
      .def_ro("kernel_rows", &Status::kernel_rows)
      .def_ro("kernel_evaluations", &Status::kernel_evaluations)
      .def_ro("cache_hits", &Status::cache_hits)
      .def_ro("rule_stop", &Status::rule_stop)
      .def_ro("active", &Status::active);
  bind<float>(m.def_submodule("float32"));
  bind<double>(m.def_submodule("float64"));
  text::bind_text(m.def_submodule("text"));
  linear::bind_linear(m.def_submodule("linear"));
}
