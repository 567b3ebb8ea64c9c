#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/dnn/attention_kinds.hpp"
#include "tests/dnn/graph_on_cpu.hpp"
#include "tests/dnn/number_lists.hpp"
#include "trainer/cuda/dnn/attention_graphs.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

/// Attention and its gradients in double, written as the textbook has them.
struct Textbook {
  const AttentionKind& kind;
  std::int64_t keys = kind.before + kind.sequence;
  std::int64_t kv_heads = kind.heads / kind.group;

  std::size_t query(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) const {
    return static_cast<std::size_t>(((b * kind.heads + h) * kind.sequence + i) * kind.head_width + d);
  }
  std::size_t key(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const {
    return static_cast<std::size_t>(((b * kv_heads + h / kind.group) * keys + j) * kind.head_width + d);
  }
  std::size_t row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return static_cast<std::size_t>((b * kind.heads + h) * kind.sequence + i);
  }
  double dot(const Values& a, std::size_t at, const Values& b, std::size_t bt) const {
    double sum = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(kind.head_width); ++d) sum += a[at + d] * b[bt + d];
    return sum;
  }
  bool sees(std::int64_t i, std::int64_t j) const { return !kind.causal || j <= kind.before + i; }
  template <class Visit>
  void each_query(Visit visit) const {
    for (std::int64_t b = 0; b < kind.samples; ++b) {
      for (std::int64_t h = 0; h < kind.heads; ++h) {
        for (std::int64_t i = 0; i < kind.sequence; ++i) visit(b, h, i);
      }
    }
  }

  Values q, k, v, out = {}, sums = {};
  Values weights_of(std::int64_t b, std::int64_t h, std::int64_t i) const {
    Values scores;
    for (std::int64_t j = 0; j < keys && sees(i, j); ++j) {
      scores.push_back(dot(q, query(b, h, i, 0), k, key(b, h, j, 0)) / std::sqrt(static_cast<double>(kind.head_width)));
    }
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    for (double& score : scores) score = std::exp(score) / sum;
    scores.push_back(std::log(sum));
    return scores;
  }
  void forward() {
    out.assign(q.size(), 0);
    sums.assign(q.size() / static_cast<std::size_t>(kind.head_width), 0);
    each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      Values weights = weights_of(b, h, i);
      sums[row(b, h, i)] = weights.back();
      weights.pop_back();
      for (std::size_t j = 0; j < weights.size(); ++j) {
        for (std::int64_t d = 0; d < kind.head_width; ++d) {
          out[query(b, h, i, d)] += weights[j] * v[key(b, h, static_cast<std::int64_t>(j), d)];
        }
      }
    });
  }
  struct Gradients {
    Values q, k, v;
  };
  Gradients backward(const Values& grad) const {
    Gradients of{Values(q.size()), Values(k.size()), Values(v.size())};
    const double scale = 1 / std::sqrt(static_cast<double>(kind.head_width));
    each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      Values weights = weights_of(b, h, i);
      weights.pop_back();
      const std::size_t at = query(b, h, i, 0);
      const double delta = dot(out, at, grad, at);
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const std::size_t to = key(b, h, static_cast<std::int64_t>(j), 0);
        const double score = weights[j] * (dot(grad, at, v, to) - delta) * scale;
        for (std::size_t d = 0; d < static_cast<std::size_t>(kind.head_width); ++d) {
          of.v[to + d] += weights[j] * grad[at + d];
          of.q[at + d] += score * k[to + d];
          of.k[to + d] += score * q[at + d];
        }
      }
    });
    return of;
  }
};

/// Rows of heads side by side, as the layers have them, in `rows` from column `first` on.
struct Rows {
  std::int64_t stride;
  std::int64_t first;
  std::int64_t heads;
  std::int64_t length;  ///< rows of a sample
  std::int64_t head_width;

  template <class Visit>
  void each(std::int64_t samples, Visit visit) const {
    std::size_t next = 0;
    for (std::int64_t b = 0; b < samples; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t i = 0; i < length; ++i) {
          for (std::int64_t d = 0; d < head_width; ++d) {
            visit(next++, static_cast<std::size_t>((b * length + i) * stride + first + h * head_width + d));
          }
        }
      }
    }
  }
  void put(std::int64_t samples, const Values& values, Values& rows) const {
    each(samples, [&](std::size_t from, std::size_t to) { rows[to] = values[from]; });
  }
  Values take(std::int64_t samples, const Values& rows) const {
    Values values(static_cast<std::size_t>(samples * heads * length * head_width));
    each(samples, [&](std::size_t to, std::size_t from) { values[to] = rows[from]; });
    return values;
  }
};

/// All that an attention has in memory, and where.
struct Memory {
  const AttentionKind& kind;
  AttentionKey key = key_of(kind, true);
  std::int64_t keys_width = kind.heads / kind.group * kind.head_width;
  bool sliced = kind.before > 0;
  Rows queries{key.query_row, 0, kind.heads, kind.sequence, kind.head_width};
  Rows key_rows{key.key_row, sliced ? 0 : key.attended_row, kind.heads / kind.group, key.keys, kind.head_width};
  Rows value_rows{key.key_row, key_rows.first + keys_width, kind.heads / kind.group, key.keys, kind.head_width};
  Rows attended_rows{key.attended_row, 0, kind.heads, kind.sequence, kind.head_width};
  Rows statistics{kind.heads, 0, kind.heads, kind.sequence, 1};
  Values qkv = Values(static_cast<std::size_t>(kind.samples * kind.sequence * key.query_row), 99);
  Values gathered = Values(static_cast<std::size_t>(kind.samples * key.keys * key.key_row), 99);
  Values attended = Values(static_cast<std::size_t>(kind.samples * kind.sequence * key.attended_row));
  Values attended_grad = attended;
  Values log_sums = Values(static_cast<std::size_t>(kind.samples * kind.sequence * kind.heads));
  Values deltas = log_sums;
  Values qkv_grad = Values(qkv.size(), 99);
  Values gathered_grad = Values(gathered.size(), 99);

  Values& of_keys() { return sliced ? gathered : qkv; }
  Values& of_key_grads() { return sliced ? gathered_grad : qkv_grad; }
};

/// `by_head`: where log sums of one head follow each other.
void check_kind(const AttentionKind& kind, bool by_head = false) {
  CAPTURE(text_of(key_of(kind, false)));
  CAPTURE(by_head);
  Memory at{kind};
  Textbook book{.kind = kind, .q = {}, .k = {}, .v = {}};
  const std::int64_t keys = kind.samples * kind.heads / kind.group * at.key.keys * kind.head_width;
  book.q = numbers(kind.samples * kind.heads * kind.sequence * kind.head_width, 1);
  book.k = numbers(keys, 2);
  book.v = numbers(keys, 3);
  book.forward();
  at.queries.put(kind.samples, book.q, at.qkv);
  at.key_rows.put(kind.samples, book.k, at.of_keys());
  at.value_rows.put(kind.samples, book.v, at.of_keys());
  AttentionKey forward_key = key_of(kind, false);
  forward_key.by_head = at.key.by_head = by_head;
  const DnnOperations forward = attention_graph(forward_key);
  run_on_cpu(forward.graph, {{forward.memory[0], at.qkv.data()},
                             {forward.memory[1], at.of_keys().data() + at.key_rows.first},
                             {forward.memory[2], at.of_keys().data() + at.value_rows.first},
                             {forward.memory[3], at.attended.data()},
                             {forward.memory[4], at.log_sums.data()}});
  constexpr double kBf16 = 5e-3;
  CHECK(apart(at.attended_rows.take(kind.samples, at.attended), book.out) < kBf16);
  CHECK(apart(by_head ? at.log_sums : at.statistics.take(kind.samples, at.log_sums), book.sums) < 1e-6);
  const Values grad = numbers(static_cast<std::int64_t>(book.q.size()), 4);
  at.attended_rows.put(kind.samples, grad, at.attended_grad);
  const DnnOperations back = attention_graph(at.key);
  run_on_cpu(back.graph, {{back.memory[0], at.qkv.data()},
                          {back.memory[1], at.of_keys().data() + at.key_rows.first},
                          {back.memory[2], at.of_keys().data() + at.value_rows.first},
                          {back.memory[3], at.attended.data()},
                          {back.memory[4], at.attended_grad.data()},
                          {back.memory[5], at.log_sums.data()},
                          {back.memory[6], at.deltas.data()},
                          {back.memory[7], at.qkv_grad.data()},
                          {back.memory[8], at.of_key_grads().data() + at.key_rows.first},
                          {back.memory[9], at.of_key_grads().data() + at.value_rows.first}});
  const Textbook::Gradients expected = book.backward(grad);
  CHECK(apart(at.queries.take(kind.samples, at.qkv_grad), expected.q) < 2 * kBf16);
  CHECK(apart(at.key_rows.take(kind.samples, at.of_key_grads()), expected.k) < 2 * kBf16);
  CHECK(apart(at.value_rows.take(kind.samples, at.of_key_grads()), expected.v) < 2 * kBf16);
}

}  // namespace

TEST_CASE("the graphs that cuDNN is given compute attention and its gradients") {
  check_kind({.samples = 2, .sequence = 9, .heads = 3, .head_width = 16});
  check_kind({.samples = 2, .sequence = 9, .heads = 3, .head_width = 16, .causal = false});
  check_kind({.samples = 2, .sequence = 7, .heads = 6, .group = 3, .head_width = 8});
  check_kind({.samples = 2, .sequence = 4, .before = 5, .heads = 4, .group = 2, .head_width = 8});
  check_kind({.samples = 3, .sequence = 1, .before = 6, .heads = 2, .head_width = 8});
  check_kind({.samples = 3, .sequence = 2, .heads = 2, .head_width = 8});
  check_kind({.samples = 2, .sequence = 7, .heads = 6, .group = 3, .head_width = 8}, true);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
