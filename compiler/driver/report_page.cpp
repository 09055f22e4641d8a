// Implements the page's layout and its two drawings, the roofline and the tuning curve: see report_page.h.
#include "driver/report_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "driver/execution.h"
#include "support/text.h"

namespace loopsmith::driver {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --line: #8886; --plain: #888; --good: #2a7; --roof: #36c; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
pre { font: 13px/1.4 ui-monospace, monospace; overflow-x: auto; border: 1px solid var(--line); border-radius: 4px; padding: .6rem .8rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .15rem 1.2rem .15rem 0; border-bottom: 1px solid var(--line); }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .problem { color: #c33; } .quiet { opacity: .7; }
svg { max-width: 100%; } svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
svg .axis { stroke: currentColor; opacity: .5; fill: none; } svg .roof { stroke: var(--roof); fill: none; stroke-width: 2; }
svg .one { stroke-dasharray: 5 4; } svg .best { stroke: var(--good); fill: none; stroke-width: 2; } svg .trial { fill: var(--plain); opacity: .6; }
svg .version { fill: var(--roof); } svg .measured { fill: var(--good); }
)";

auto escaped(std::string_view text) -> std::string {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') { out += c; }
    }
  }
  return out;
}

auto amount(double value, const char* unit) -> std::string {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t i = 0;
  while (value >= 1000 && i + 1 < std::size(prefixes)) { value /= 1000; ++i; }
  return fmt::format("{:.3g} {}{}", value, prefixes[i], unit);
}

/// A drawing with logarithmic axes, or with a linear horizontal axis.
struct Axes {
  double left, right, bottom, top;      // values at the edges
  bool is_log_x = true;
  static constexpr double width = 640, height = 300, margin = 56, below = 36;

  [[nodiscard]] auto x(double value) const -> double {
    double at = is_log_x ? std::log(value / left) / std::log(right / left) : (value - left) / (right - left);
    return margin + std::clamp(at, 0.0, 1.0) * (width - margin - 12);
  }
  [[nodiscard]] auto y(double value) const -> double {
    double at = std::log(value / bottom) / std::log(top / bottom);
    return height - below - std::clamp(at, 0.0, 1.0) * (height - below - 12);
  }
  /// The powers of ten between two numbers; none if one of the numbers is infinite or not positive.
  [[nodiscard]] static auto marks(double from, double to) -> std::vector<double> {
    std::vector<double> out;
    if (!(from > 0) || !std::isfinite(to)) { return out; }
    for (double mark = std::pow(10, std::ceil(std::log10(from))); mark <= to * 1.0001 && std::isfinite(mark); mark *= 10) { out.push_back(mark); }
    return out;
  }
  /// The frame with a mark at every power of ten.
  [[nodiscard]] auto frame(const std::string& x_name, const std::string& y_name, double y_scale, const char* y_unit) const -> std::string {
    std::string out = fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2} over {3}\">\n", width, height, escaped(y_name), escaped(x_name));
    out += fmt::format("<path class=\"axis\" d=\"M{:.1f} 12V{:.1f}H{:.1f}\"/>\n", margin, height - below, width - 12);
    for (double mark : marks(bottom, top)) {
      out += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}h-5\"/><text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", margin, y(mark), margin - 8, y(mark) + 4,
                         escaped(fmt::format("{:.3g}{}", mark * y_scale, y_unit)));
    }
    if (is_log_x) {
      for (double mark : marks(left, right)) {
        out += fmt::format("<path class=\"axis\" d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3:.3g}</text>\n", x(mark), height - below, height - below + 18, mark);
      }
    } else {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>\n", x(right), height - below + 18, right);
    }
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", (width + margin) / 2, height - 4, escaped(x_name));
    return out;
  }
};

struct Point { std::string name; double seconds; bool is_measured; };

auto roofline(const ReportProgram& program, const ReportRoof& roof) -> std::string {
  std::vector<Point> points;
  for (const ReportVersion& v : program.versions) {
    if (v.seconds && *v.seconds > 0) { points.push_back({v.name, *v.seconds, false}); }
  }
  for (const ReportTuning& t : program.tuning) {
    if (t.is_here && t.best_seconds > 0) { points.push_back({"tuned", t.best_seconds, true}); }
  }
  if (program.flops <= 0 || program.bytes <= 0 || roof.gflops_all <= 0 || roof.gbytes_all <= 0 || points.empty()) { return {}; }
  double intensity = program.flops / program.bytes;
  double least = roof.gflops_one;
  for (const Point& p : points) { least = std::min(least, program.flops / p.seconds * 1e-9); }
  Axes axes{.left = std::min(0.1, intensity / 4), .right = std::max(1000.0, intensity * 4), .bottom = std::max(1e-6, least / 3), .top = roof.gflops_all * 2};
  std::string out = axes.frame("operations per byte", "GFLOP/s", 1, "");
  for (auto [gflops, gbytes, one] : {std::tuple{roof.gflops_all, roof.gbytes_all, false}, {roof.gflops_one, roof.gbytes_one, true}}) {
    double knee = gflops / gbytes;
    // The slope begins at an edge of the drawing.
    double begin = std::max(axes.left, axes.bottom / gbytes);
    out += fmt::format("<path class=\"roof{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}\"/>\n", one ? " one" : "", axes.x(begin), axes.y(begin * gbytes), axes.x(knee), axes.y(gflops), axes.x(axes.right));
  }
  double last = -100;
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.seconds < b.seconds; });
  for (const Point& p : points) {
    double y = axes.y(program.flops / p.seconds * 1e-9);
    double label = std::max(y + 4, last + 13);
    last = label;
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", p.is_measured ? "measured" : "version", axes.x(intensity), y,
                       axes.x(intensity) + 9, label, escaped(p.name));
  }
  return out + "</svg>\n";
}

auto curve(const ReportTuning& tuning) -> std::string {
  double least = 0, most = 0;
  for (double t : tuning.trials) {
    if (t <= 0) { continue; }
    least = least > 0 ? std::min(least, t) : t;
    most = std::max(most, t);
  }
  if (least <= 0) { return {}; }
  Axes axes{.left = 0, .right = static_cast<double>(std::max<size_t>(1, tuning.trials.size())), .bottom = least / 1.5, .top = std::max(most * 1.2, least * 2), .is_log_x = false};
  std::string out = axes.frame("trials", "seconds of a call", 1, " s");
  std::string path;
  double best = 0;
  for (size_t i = 0; i < tuning.trials.size(); ++i) {
    double t = tuning.trials[i];
    double x = axes.x(static_cast<double>(i + 1));
    if (t > 0) { out += fmt::format("<circle class=\"trial\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n", x, axes.y(t)); }
    if (t > 0 && (best <= 0 || t < best)) {
      path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, axes.y(t)) : fmt::format("H{:.1f}V{:.1f}", x, axes.y(t));
      best = t;
    }
  }
  out += fmt::format("<path class=\"best\" d=\"{}H{:.1f}\"/>\n", path, axes.x(axes.right));
  return out + "</svg>\n";
}

void add_program(std::string& out, const ReportProgram& program, const ReportRoof& roof) {
  out += fmt::format("<h2 id=\"{0}\">{0}</h2>\n", escaped(program.name));
  if (program.flops > 0 && program.bytes > 0) {
    out += fmt::format("<p>{} a call on {} of buffers: {:.3g} operations per byte.</p>\n", amount(program.flops, "flop"), amount(program.bytes, "B"), program.flops / program.bytes);
  }
  if (std::string drawn = roofline(program, roof); !drawn.empty()) {
    out += fmt::format("<h3>Roofline</h3>\n{}<p class=\"quiet\">Roofs {}: {:.4g} GFLOP/s and {:.3g} GB/s on {}{}. Blue points are estimates, which may be wrong by a factor; green ones were measured.</p>\n", drawn,
                       roof.is_measured ? "as measured on this machine" : "by the processor's name", roof.gflops_all, roof.gbytes_all, count_text(roof.threads, "thread"),
                       roof.threads > 1 ? fmt::format(", dashed: {:.4g} and {:.3g} on one", roof.gflops_one, roof.gbytes_one) : "");
  }
  out += "<h3>Schedules</h3>\n<table>\n<tr><th>schedule</th><th>by estimate</th><th>against as written</th></tr>\n";
  for (const ReportVersion& v : program.versions) {
    out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n", escaped(v.name), v.seconds ? escaped(duration_text(*v.seconds)) : "", escaped(v.problem.empty() ? v.gain : "it does not apply"));
  }
  out += "</table>\n";
  for (const ReportVersion& v : program.versions) {
    out += fmt::format("<details{}><summary>Loops of {}</summary>\n", &v == &program.versions.back() ? " open=\"open\"" : "", escaped(v.name));
    if (!v.problem.empty()) { out += fmt::format("<pre class=\"problem\">{}</pre>\n", escaped(v.problem)); }
    if (!v.tree.empty()) { out += fmt::format("<pre>{}</pre>\n", escaped(v.tree)); }
    out += "</details>\n";
  }
  for (const ReportTuning& t : program.tuning) {
    out += fmt::format("<h3>Tuning for {}</h3>\n<p>{} trials{}{}.</p>\n", escaped(t.target), t.trials.size(), t.best_seconds > 0 ? fmt::format(", the best takes {}", escaped(duration_text(t.best_seconds))) : "",
                       t.is_here ? "" : fmt::format(", on {}", escaped(t.machine)));
    out += curve(t);
  }
  out += fmt::format("<details><summary>The program</summary>\n<pre>{}</pre>\n</details>\n", escaped(program.text));
}

}  // namespace

auto report_page(const Report& report) -> std::string {
  std::string out = fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
                                escaped(report.file), style, escaped(report.roof.machine));
  if (!report.problems.empty()) {
    out += "<h2>Diagnostics</h2>\n";
    for (const std::string& problem : report.problems) { out += fmt::format("<pre class=\"problem\">{}</pre>\n", escaped(problem)); }
  }
  if (report.programs.size() > 1) {
    out += "<ul>\n";
    for (const ReportProgram& p : report.programs) { out += fmt::format("<li><a href=\"#{0}\">{0}</a></li>\n", escaped(p.name)); }
    out += "</ul>\n";
  }
  for (const ReportProgram& p : report.programs) { add_program(out, p, report.roof); }
  return out + "</body>\n</html>\n";
}

}  // namespace loopsmith::driver
