/* Graphs of time series: drawn by uPlot on a canvas, with a summary in words and a table for who does not see it. */

import { fill, h, setText, table } from "./dom.js";
import { isNumber, moment, NONE } from "./format.js";

const HEIGHT = 190;
const COLOURS = ["--fill", "--other", "--third", "--bad", "--quiet"];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [1, 2]];
const ROWS_MAX = 60;

/** A graph of up to five series with one unit: a figure in the page. */
export class Graph {
  /**
   * `title`; `names`: of its series, with `labels` for each; `format`: of values; `group`: graphs whose cursors move
   * together.
   */
  constructor({ title, names, labels, format, group }) {
    this.names = names;
    this._labels = labels;
    this._format = format;
    this._group = group;
    this._title = title;
    this._data = [[], ...names.map(() => [])];
    this._plot = null;
    this._canvas = h("div", { class: "canvas", role: "img", "aria-label": title });
    this._summary = h("p", { class: "summary" });
    this._values = h("div");
    this._details = h("details", { on: { toggle: () => this._fillTable() } }, h("summary", {}, "as a table"), this._values);
    this._key = h("p", { class: "key" }, labels.length > 1 && labels.map((label, index) => h("span", { class: `s${index}` }, label)));
    this.element = h(
      "figure",
      { class: "graph", "aria-label": title },
      h("figcaption", {}, h("h3", {}, title), this._key),
      this._canvas,
      this._summary,
      this._details,
    );
    this._sized = new ResizeObserver(() => this._resize());
    this._sized.observe(this._canvas);
  }

  /**
   * Draw values at times (epoch seconds), from `start` to `end`; null stands for no value. `marks`: moments with a text
   * (`at`, `kind`, `text`), drawn as lines.
   */
  draw(times, series, start, end, marks = []) {
    this._data = [times, ...this.names.map((name) => series[name] ?? times.map(() => null))];
    this._range = [start, end];
    this._marks = marks.filter((one) => one.at >= start && one.at <= end);
    const known = this._data.slice(1).some((values) => values.some(isNumber));
    this.element.classList.toggle("nothing", !known);
    const summary = known ? this._inWords() : "No values in this time.";
    setText(this._summary, summary);
    this._canvas.setAttribute("aria-label", `${this._title}: ${summary}`);
    if (this._plot) this._plot.setData(this._data);
    else this._make();
    if (this._details.open) this._fillTable();
  }

  /** Draw again with the colours that the page has now. */
  restyle() {
    this._plot?.destroy();
    this._plot = null;
    if (this._range) this._make();
  }

  destroy() {
    this._sized.disconnect();
    this._plot?.destroy();
    this._plot = null;
  }

  _inWords() {
    const [times] = this._data;
    return this.names
      .map((_, index) => {
        const values = this._data[index + 1];
        const known = values.map((value, at) => [value, times[at]]).filter(([value]) => isNumber(value));
        if (!known.length) return "";
        const most = known.reduce((one, other) => (other[0] > one[0] ? other : one));
        const mean = known.reduce((sum, [value]) => sum + value, 0) / known.length;
        const label = this.names.length > 1 ? `${this._labels[index]}: ` : "";
        const words = [`last ${this._format(known.at(-1)[0])}`, `mean ${this._format(mean)}`, `highest ${this._format(most[0])} at ${moment(most[1])}`];
        return `${label}${words.join(", ")}`;
      })
      .filter(Boolean)
      .join("; ");
  }

  _fillTable() {
    if (!this._details.open) return;
    const [times, ...series] = this._data;
    const every = Math.max(1, Math.ceil(times.length / ROWS_MAX));
    const rows = times.map((_, index) => index).filter((index) => index % every === 0 && series.some((values) => isNumber(values[index])));
    const columns = [
      { label: "time, UTC", time: true, cell: (index) => moment(times[index]) },
      ...this._labels.map((label, number) => ({
        label,
        number: true,
        cell: (index) => (isNumber(series[number][index]) ? this._format(series[number][index]) : NONE),
      })),
    ];
    fill(this._values, table(columns, rows, `Values of ${this._title}`));
  }

  _resize() {
    const width = this._canvas.clientWidth;
    if (this._plot && width && width !== this._plot.width) this._plot.setSize({ width, height: HEIGHT });
    else if (!this._plot && this._range) this._make();
  }

  _make() {
    const width = this._canvas.clientWidth;
    if (!width) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [ink, rule, quiet] = ["--ink", "--rule", "--quiet"].map(colour);
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: quiet, font, ticks: { stroke: rule, width: 1, size: 4 }, grid: { stroke: rule, width: 1 } };
    const options = {
      width,
      height: HEIGHT,
      // The last label of the axis of times is as wide as this on its right half.
      padding: [10, 26, 0, 0],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      cursor: { sync: { key: this._group }, drag: { x: false, y: false }, points: { size: 7 } },
      legend: { show: false },
      scales: { x: { time: true, range: () => this._range }, y: { range: (_, least, most) => [Math.min(least ?? 0, 0), top(most)] } },
      axes: [
        { ...axis, grid: { show: false }, values: ticks, space: 78, size: 34 },
        { ...axis, size: 68, values: (_, values) => values.map((value) => this._format(value).replace(/\.0 /, " ").replace(".0/", "/")) },
      ],
      series: [
        {},
        ...this.names.map((_, index) => ({
          label: this._labels[index],
          stroke: colour(COLOURS[index]),
          dash: DASHES[index],
          width: 2,
          fill: this.names.length === 1 ? `${colour(COLOURS[index])}2e` : undefined,
          points: { show: (plot, at, from, to) => to - from < 3, size: 5, fill: ink },
          spanGaps: false,
        })),
      ],
      hooks: { setCursor: [(plot) => this._pointed(plot)], draw: [(plot) => this._drawMarks(plot, colour("--other"), quiet)] },
    };
    this._plot = new uPlot(options, this._data, this._canvas);
  }

  /** Draw the moments at which something was done: a line each, changes in another colour than runs. */
  _drawMarks(plot, change, run) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    for (const one of this._marks ?? []) {
      const x = Math.round(plot.valToPos(one.at, "x", true));
      ctx.strokeStyle = ctx.fillStyle = one.kind === "change" ? change : run;
      ctx.setLineDash(one.kind === "end" ? [2, 4] : []);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillRect(x - 3 * devicePixelRatio, bbox.top - 6 * devicePixelRatio, 6 * devicePixelRatio, 6 * devicePixelRatio);
    }
    ctx.restore();
  }

  /** Return what was done near the pointer. */
  _marked(plot) {
    const near = (this._marks ?? []).filter((one) => Math.abs(plot.valToPos(one.at, "x") - plot.cursor.left) <= 6);
    return near.slice(0, 3).map((one) => `; ${moment(one.at).slice(11)} ${one.text}`).join("") + (near.length > 3 ? ` and ${near.length - 3} more` : "");
  }

  /** Show the values below the pointer in place of the summary. */
  _pointed(plot) {
    const at = plot.cursor.idx;
    if (at === null || at === undefined || !this._data[0].length) {
      if (this._isPointed) setText(this._summary, this._inWords());
      this._isPointed = false;
      return;
    }
    this._isPointed = true;
    const values = this._labels.map((label, index) => {
      const value = this._data[index + 1][at];
      return `${this._labels.length > 1 ? `${label} ` : ""}${isNumber(value) ? this._format(value) : "no value"}`;
    });
    setText(this._summary, `${moment(this._data[0][at])} UTC: ${values.join(", ")}${this._marked(plot)}`);
  }
}

/** Return the end of the axis of values: some room above the highest one. */
function top(most) {
  return isNumber(most) && most > 0 ? most * 1.08 : 1;
}

/** Return the labels of times, in UTC: as short as their distance allows. */
function ticks(plot, values, index, space, step) {
  let day = "";
  return values.map((at) => {
    const text = moment(at);
    if (step >= 86400) return text.slice(5, 10);
    const time = step >= 60 ? text.slice(11, 16) : text.slice(11);
    const begins = text.slice(0, 10) !== day && (day !== "" || text.slice(11) === "00:00:00");
    day = text.slice(0, 10);
    return begins ? `${time}\n${text.slice(5, 10)}` : time;
  });
}
