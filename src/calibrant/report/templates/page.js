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

  // A group of radio buttons shows one of several figures; on paper, the one that was chosen.
  for (const group of all("[data-switch]")) {
    const kind = group.dataset.switch;
    const show = () => {
      const chosen = group.querySelector("input:checked").value;
      for (const panel of all(`[data-${kind}]`)) panel.hidden = panel.dataset[kind] !== chosen;
    };
    group.addEventListener("change", show);
    show();
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
    let wanted = "";
    const cut = () => {
      let shown = 0;
      for (const row of body.rows) {
        const fits = !wanted || row.cells[0].textContent.toLowerCase().includes(wanted);
        row.hidden = !fits || (!everything && !wanted && shown >= limit);
        shown += fits;
      }
    };
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
    if (table.dataset.search) {
      const box = make("input", { type: "search", className: "search", placeholder: table.dataset.search });
      box.setAttribute("aria-label", table.dataset.search);
      box.addEventListener("input", () => {
        wanted = box.value.trim().toLowerCase();
        cut();
      });
      table.parentElement.before(box);
    }
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

  // Data of figures: a path into the data leads to columns (arrays of one length), to records, or to named records.
  const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const flat = (record) => Object.fromEntries(Object.entries(record).flatMap(([key, value]) => {
    if (isRecord(value)) return Object.entries(flat(value)).map(([inner, v]) => [`${key}.${inner}`, v]);
    return Array.isArray(value) ? [] : [[key, value]];
  }));
  const columnar = (record) => {
    const arrays = Object.entries(record).filter(([, value]) => Array.isArray(value));
    const length = Math.max(...arrays.map(([, value]) => value.length));
    const columns = arrays.filter(([, value]) => value.length === length);
    return Array.from({ length }, (_, i) => Object.fromEntries(columns.map(([key, value]) => [key, value[i]])));
  };
  const records = (value) => {
    if (value === null || value === undefined) return [];
    if (Array.isArray(value)) return value.map(flat);
    const parts = Object.entries(value);
    if (parts.every(([, part]) => isRecord(part))) return parts.map(([key, part]) => ({ key, ...flat(part) }));
    return columnar(value);
  };
  const special = {
    null: ({ test }) => [
      { kind: "observed", statistic: test.statistic },
      ...(test.null || []).map((statistic) => ({ kind: "redrawn", statistic })),
    ],
    classwise: ({ classwise }) => classwise === null ? [] : [
      ...columnar(classwise.average).map((row) => ({ class: "(average)", ...row })),
      ...classwise.names.flatMap((name, i) => columnar(classwise.curves[i]).map((row) => ({ class: name, ...row }))),
    ],
  };
  const follow = (root, path) => path.split(".").reduce((value, key) => (value ?? {})[key], root);
  const rowsOf = (path) => {
    if (path.startsWith("/")) return records(follow(data, path.slice(1)));
    return data.assessments.flatMap(({ label, assessment }) => {
      const found = special[path] ? special[path](assessment) : records(follow(assessment, path));
      return found.map((row) => ({ predictions: label, ...row }));
    });
  };
  const formula = /^[\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;
  // As _border/text.py: what a reader would not see, or see in the wrong order.
  const unseen = /(?![ \u200c\u200d\u3000])[\p{C}\p{Z}]/gu;
  const field = (value) => {
    let text = String(value ?? "");
    // A spreadsheet would run a name that starts like a formula; numbers may start with a sign.
    if (formula.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const visible = (text) => text.replace(unseen, (c) => {
    const point = c.codePointAt(0);
    const code = (point >= 0xdc80 && point <= 0xdcff ? point - 0xdc00 : point).toString(16);
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : code.length < 5 ? `\\u${code.padStart(4, "0")}`
      : `\\U${code.padStart(8, "0")}`;
  });
  const written = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4)))
    : visible(String(value ?? "")));
  // Names may be those of the properties that every object inherits.
  const own = (row, name) => (Object.hasOwn(row, name) ? row[name] : undefined);
  const most = 500;
  const fill = (place) => {
    const rows = rowsOf(place.dataset.sheet);
    const names = Array.from(new Set(rows.flatMap(Object.keys)));
    const csv = [names, ...rows.map((row) => names.map((name) => own(row, name)))];
    const text = csv.map((row) => row.map(field).join(",")).join("\r\n");
    const href = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" }));
    const link = make("a", { href, download: `${place.dataset.name}.csv`, textContent: "Download CSV" });
    const kinds = names.map((name) => (rows.some((row) => typeof own(row, name) === "number") ? "num" : ""));
    const cell = (row, name, i) => make("td", { className: kinds[i], textContent: written(own(row, name)) });
    const head = names.map((name, i) => make("th", { scope: "col", className: kinds[i], textContent: visible(name) }));
    const body = rows.slice(0, most).map((row) => make("tr", {}, ...names.map((name, i) => cell(row, name, i))));
    const caption = rows.length > most ? `The first ${most} of ${rows.length} rows` : `${rows.length} rows`;
    const table = make("table", {}, make("caption", { textContent: caption }), make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...body));
    const frame = make("div", { className: "scroll tall", tabIndex: 0 }, table);
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", `Data: ${place.dataset.name}`);
    place.append(make("p", { className: "download" }, link), frame);
  };
  for (const place of all("[data-sheet]")) {
    place.addEventListener("toggle", () => fill(place), { once: true });
  }

  // A frame that scrolls must be reachable by the keyboard.
  const reach = () => all(".scroll:not(.tall)").forEach((frame) => {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  });
  window.addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();
})();
