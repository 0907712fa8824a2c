"use strict";
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const data = JSON.parse(document.getElementById("data").textContent);

  // Tips: the first line of data-tip is a heading, "key<tab>value" lines follow.
  const tip = make("div", { className: "tip", id: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  let tipped = null;

  const hideTip = () => {
    tip.hidden = true;
    if (tipped) tipped.removeAttribute("aria-describedby");
    tipped = null;
  };
  const placeTip = (target) => {
    const box = target.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const left = Math.max(8, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, room));
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${(above > 0 ? above : box.bottom + 8) + window.scrollY}px`;
  };
  const showTip = (target) => {
    hideTip();
    const [head, ...lines] = target.dataset.tip.split("\n");
    const pairs = lines.flatMap((line) => {
      const [key, value] = line.split("\t");
      return [make("dt", { textContent: key }), make("dd", { textContent: value })];
    });
    tip.replaceChildren(pairs.length ? make("strong", { textContent: head }) : head);
    if (pairs.length) tip.append(make("dl", {}, ...pairs));
    tip.hidden = false;
    placeTip(target.querySelector(".target") || target);
    tipped = target;
    if (!target.hasAttribute("aria-label")) target.setAttribute("aria-describedby", "tip");
  };
  for (const node of all("abbr[title]")) {
    node.dataset.tip = node.title;
    node.removeAttribute("title");
  }
  for (const node of all("[data-tip]")) {
    node.addEventListener("pointerenter", () => showTip(node));
    node.addEventListener("pointerleave", hideTip);
    node.addEventListener("focus", () => showTip(node));
    node.addEventListener("blur", hideTip);
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });

  // Arrow keys walk along a curve, which is one stop of the Tab key.
  for (const curve of all("[data-series]")) {
    const points = all(".point", curve);
    curve.addEventListener("keydown", (event) => {
      const here = points.indexOf(event.target);
      const last = points.length - 1;
      const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: last }[event.key];
      if (here < 0 || next === undefined) return;
      event.preventDefault();
      const target = points[Math.max(0, Math.min(next, last))];
      points[here].setAttribute("tabindex", "-1");
      target.setAttribute("tabindex", "0");
      target.focus();
    });
  }

  for (const box of all("[data-toggle]")) {
    box.addEventListener("change", () => {
      for (const layer of all(`[data-series="${box.dataset.toggle}"]`)) layer.toggleAttribute("hidden", !box.checked);
    });
  }

  // Tables: sort by a click on a heading, and show the first rows of long ones.
  const compare = (kind, column) => {
    const cell = (row) => row.cells[column];
    if (kind === "text") {
      return (a, b) => cell(a).textContent.trim().localeCompare(cell(b).textContent.trim(), "en", { numeric: true });
    }
    const value = (row) => Number(cell(row).dataset.value);
    return (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
  };
  const enhance = (table) => {
    const body = table.tBodies[0];
    const limit = Number(table.dataset.limit);
    const headings = all("thead th[data-sort]", table);
    let everything = body.rows.length <= limit;
    const cut = () => Array.from(body.rows).forEach((row, i) => { row.hidden = !everything && i >= limit; });
    headings.forEach((heading, column) => {
      const button = make("button", { type: "button" }, ...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const numeric = heading.dataset.sort === "number";
        const now = heading.getAttribute("aria-sort");
        const order = now ? (now === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
        const rows = Array.from(body.rows).sort(compare(heading.dataset.sort, column));
        body.append(...(order === "ascending" ? rows : rows.reverse()));
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", order);
        cut();
      });
    });
    cut();
    if (everything) return;
    const words = () => (everything ? `Show the first ${limit}` : `Show all ${body.rows.length}`);
    const more = make("button", { type: "button", className: "more", textContent: words() });
    more.addEventListener("click", () => {
      everything = !everything;
      more.textContent = words();
      cut();
    });
    table.parentElement.after(more);
  };
  all("table.sortable").forEach(enhance);

  // Downloads: each figure's numbers as CSV, from the embedded data.
  const entries = data.assessments;
  const curveFields = ["lower", "upper", "count", "weight", "predicted", "observed", "low", "high"];
  const classFields = ["name", "n_observed", "predicted", "observed", "error"];
  const verdictFields = ["code", "error", "expected", "detectable", "gap", "pvalue"];
  const pick = (record, fields) => fields.map((field) => record[field]);
  const sheets = {
    curves: () => [
      ["predictions", ...curveFields],
      ...entries.flatMap(({ label, assessment: { curve } }) =>
        curve.predicted.map((_, i) => [label, ...curveFields.map((field) => curve[field][i])])),
    ],
    metrics: () => [
      ["predictions", "metric", "value", "settings"],
      ...entries.flatMap(({ label, assessment }) =>
        Object.entries(assessment.metrics).map(([key, metric]) => [label, key, metric.value, metric.name])),
    ],
    null: () => [
      ["predictions", "kind", "statistic"],
      ...entries.flatMap(({ label, assessment: { test } }) => [
        [label, "observed", test.statistic],
        ...(test.null || []).map((value) => [label, "redrawn", value]),
      ]),
    ],
    classes: () => [
      ["predictions", "class", ...classFields.slice(1)],
      ...entries.flatMap(({ label, assessment }) => assessment.classes.map((c) => [label, ...pick(c, classFields)])),
    ],
    groups: () => [
      ["predictions", "group", "rows", ...verdictFields],
      ...entries.flatMap(({ label, assessment }) =>
        Object.entries(assessment.groups).map(([key, group]) =>
          [label, key, group.n_samples, ...pick(group.verdict, verdictFields)])),
    ],
  };
  const field = (value) => {
    let text = String(value ?? "");
    // A spreadsheet would run a name that starts like a formula; numbers may start with a sign.
    if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  for (const place of all("[data-csv]")) {
    const kind = place.dataset.csv;
    const csv = sheets[kind]().map((row) => row.map(field).join(",")).join("\r\n");
    const href = URL.createObjectURL(new Blob([`${csv}\r\n`], { type: "text/csv" }));
    place.append(make("a", { href, download: `${kind}.csv`, textContent: "Download CSV" }));
  }

  // A frame that scrolls must be reachable by the keyboard.
  const reach = () => all(".scroll").forEach((frame) => {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  });
  window.addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();
})();
